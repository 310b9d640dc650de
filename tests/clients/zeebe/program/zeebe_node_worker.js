// A worker that ends jobs until it is told to stop: ADDRESS, TYPE. Each completion is a line.
'use strict'

const { ZBClient } = require('zeebe-node')
const harness = require('./harness')

const [address, taskType] = process.argv.slice(2)
const options = { loglevel: 'NONE', longPoll: 2_000, pollInterval: 50 }

async function work() {
  const client = new ZBClient(address, { ...options, ...(await harness.oAuth()) })
  client.createWorker({
    taskType,
    loglevel: 'NONE',
    maxJobsToActivate: 4,
    timeout: 2_000,
    taskHandler: async (job) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      const ended = await job.complete({ by: process.pid })
      console.log(job.variables.n)
      return ended
    },
  })
}

work()
process.stdin.on('end', () => process.exit(0)).resume()
