// A worker over REST that ends jobs until it is told to stop: URL, TYPE. Each completion is a line.
'use strict'

const { Camunda8 } = require('@camunda8/sdk')

const [url, type] = process.argv.slice(2)
const rest = new Camunda8({
  ZEEBE_REST_ADDRESS: url,
  CAMUNDA_AUTH_STRATEGY: 'NONE',
  CAMUNDA_OAUTH_DISABLED: true,
  CAMUNDA_LOG_LEVEL: 'none',
  CAMUNDA_JOB_WORKER_MAX_BACKOFF_MS: 500,
}).getCamundaRestClient()
const worker = rest.createJobWorker({
  type,
  worker: 'worker',
  timeout: 2_000,
  maxJobsToActivate: 4,
  pollIntervalMs: 50,
  jobHandler: async (job) => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const ended = await job.complete({ done: true })
    console.log(job.jobKey)
    return ended
  },
})
worker.on('error', () => {})
worker.on('pollError', () => {})
// A completion whose answer is lost is left to the timeout of the job.
process.on('unhandledRejection', () => {})
process.stdin.on('end', () => process.exit(0)).resume()
