// Scenarios with @camunda8/sdk, over REST and over gRPC: ADDRESS of the gateway, URL of the server.
'use strict'

const { Camunda8 } = require('@camunda8/sdk')
const { scenario, unique, expect, refused, promised, play } = require('./harness')

const [address, url] = process.argv.slice(2)
const camunda = new Camunda8({
  ZEEBE_REST_ADDRESS: url,
  ZEEBE_GRPC_ADDRESS: `grpc://${address}`,
  CAMUNDA_AUTH_STRATEGY: 'NONE',
  CAMUNDA_OAUTH_DISABLED: true,
  CAMUNDA_LOG_LEVEL: 'none',
  zeebeGrpcSettings: { ZEEBE_CLIENT_LOG_LEVEL: 'NONE', ZEEBE_GRPC_CLIENT_RETRY: false },
})
const rest = camunda.getCamundaRestClient()
const grpc = camunda.getZeebeGrpcApiClient()

async function start(variables = {}, type = unique()) {
  const made = await rest.createProcessInstance({ processDefinitionId: type, variables })
  return { type, key: made.processInstanceKey }
}

function activate(type, more = {}) {
  return rest.activateJobs({
    type,
    worker: 'by hand',
    timeout: 60_000,
    maxJobsToActivate: 32,
    requestTimeout: 5_000,
    ...more,
  })
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

scenario('topology', async () => {
  const topology = await rest.getTopology()
  expect([topology.brokers.length, topology.gatewayVersion.startsWith('8.')], [1, true])
})

scenario('a job is activated and completed', async () => {
  const { type, key } = await start({ a: 1 })
  const [job] = await activate(type)
  expect([job.jobKey, job.type, job.variables.a, job.retries], [key, type, 1, 3])
  await job.complete({ b: 2 })
  const error = await refused(rest.completeJob({ jobKey: key, variables: {} }))
  expect(error.statusCode, 404)
})

scenario('a worker does its jobs', async () => {
  const type = unique()
  const done = promised()
  const seen = []
  const worker = rest.createJobWorker({
    type,
    worker: 'worker',
    timeout: 60_000,
    maxJobsToActivate: 4,
    pollIntervalMs: 50,
    jobHandler: async (job) => {
      seen.push(job.variables.n)
      const ended = await job.complete()
      if (seen.length === 10) done.settle()
      return ended
    },
  })
  for (let n = 0; n < 10; n += 1) await start({ n }, type)
  await done.promise
  await Promise.race([worker.stop(), pause(2_000)])
  expect(seen.sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

scenario('a process is waited for', async () => {
  const type = unique()
  const creating = rest.createProcessInstanceWithResult({
    processDefinitionId: type,
    variables: { a: 1 },
  })
  const [job] = await activate(type)
  await job.complete({ b: 2 })
  expect((await creating).variables, { a: 1, b: 2 })
})

scenario('a failure sets the retries and leaves variables', async () => {
  const { type, key } = await start({ a: 1 })
  await activate(type)
  const failing = { jobKey: key, retries: 7, errorMessage: 'no', retryBackOff: 0 }
  await rest.failJob({ ...failing, variables: { b: 2 } })
  const [job] = await activate(type)
  expect([job.jobKey, job.retries, job.variables], [key, 7, { a: 1, b: 2 }])
})

scenario('an error is an incident, which is resolved', async () => {
  const { type, key } = await start()
  const [job] = await activate(type)
  await job.error({ errorCode: 'NO_MONEY', errorMessage: 'broke', variables: {} })
  expect((await refused(rest.completeJob({ jobKey: key, variables: {} }))).statusCode, 409)
  await rest.updateJob({ jobKey: key, retries: 2 })
  await rest.resolveIncident(key)
  const [again] = await activate(type)
  expect([again.jobKey, again.retries], [key, 2])
})

scenario('a timeout is changed', async () => {
  const { type, key } = await start()
  await activate(type, { timeout: 600_000 })
  await rest.updateJob({ jobKey: key, timeout: 100 })
  expect((await activate(type))[0].jobKey, key)
})

scenario('an instance is cancelled', async () => {
  const { type, key } = await start()
  await rest.cancelProcessInstance({ processInstanceKey: key })
  expect(await activate(type, { requestTimeout: -1 }), [])
})

scenario('variables are set', async () => {
  const { type, key } = await start({ a: 1 })
  await rest.updateElementInstanceVariables({ elementInstanceKey: key, variables: { b: 2 } })
  expect((await activate(type))[0].variables, { a: 1, b: 2 })
})

scenario('a wrong request is a problem', async () => {
  const error = await refused(activate(''))
  expect([error.statusCode, /type/.test(error.detail)], [400, true])
})

scenario('a job of REST is done over gRPC', async () => {
  const { type, key } = await start({ a: 1 })
  const done = promised()
  const worker = grpc.createWorker({
    taskType: type,
    timeout: 60_000,
    taskHandler: (job) => {
      done.settle([job.key, job.variables])
      return job.complete({ b: 2 })
    },
  })
  expect(await done.promise, [key, { a: 1 }])
  await pause(100)
  await Promise.race([worker.close(), pause(2_000)])
})

scenario('a stream of gRPC is pushed its jobs', async () => {
  const type = unique()
  const done = promised()
  const seen = []
  const stream = await grpc.streamJobs({
    type,
    worker: 'stream',
    timeout: 60_000,
    taskHandler: (job) => {
      seen.push(job.variables.n)
      if (seen.length === 3) done.settle()
      return job.complete({})
    },
  })
  for (let n = 0; n < 3; n += 1) await start({ n }, type)
  await done.promise
  await pause(100)
  stream.close()
  expect(seen.sort(), [0, 1, 2])
})

play()
