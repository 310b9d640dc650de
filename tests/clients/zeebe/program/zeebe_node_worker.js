// A worker that ends jobs until it is told to stop: ADDRESS, TYPE. Each completion is a line.
'use strict'

const { ZBClient } = require('zeebe-node')

const [address, taskType] = process.argv.slice(2)
const client = new ZBClient(address, { loglevel: 'NONE', longPoll: 2_000, pollInterval: 50 })
client.createWorker({
  taskType,
  loglevel: 'NONE',
  maxJobsToActivate: 4,
  timeout: 2_000,
  taskHandler: async (job) => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const ended = await job.complete({ done: true })
    console.log(job.key)
    return ended
  },
})
process.stdin.on('end', () => process.exit(0)).resume()
