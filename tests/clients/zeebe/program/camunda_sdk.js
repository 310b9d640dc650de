// Scenarios with @camunda8/sdk, over REST and over gRPC: ADDRESS of the gateway, URL of the server.
'use strict'

const { Camunda8 } = require('@camunda8/sdk')
const harness = require('./harness')

const { scenario, unique, expect, refused, promised, post } = harness

const [address, url] = process.argv.slice(2)
let rest
let grpc
// The client of Camunda 8.8, which checks each answer against Camunda's own description.
let cluster
process.env.CAMUNDA_SDK_VALIDATION = 'req:strict,res:strict'

async function connect() {
  const open = { CAMUNDA_AUTH_STRATEGY: 'NONE', CAMUNDA_OAUTH_DISABLED: true }
  const camunda = new Camunda8({
    ...(harness.KEY ? { CAMUNDA_AUTH_STRATEGY: 'BEARER', CAMUNDA_OAUTH_TOKEN: harness.KEY } : open),
    ZEEBE_REST_ADDRESS: url,
    ZEEBE_GRPC_ADDRESS: `grpc://${address}`,
    CAMUNDA_LOG_LEVEL: 'none',
    zeebeGrpcSettings: { ZEEBE_CLIENT_LOG_LEVEL: 'NONE', ZEEBE_GRPC_CLIENT_RETRY: false },
  })
  rest = camunda.getCamundaRestClient()
  grpc = camunda.getZeebeGrpcApiClient()
  const byToken = harness.KEY && {
    CAMUNDA_AUTH_STRATEGY: 'OAUTH',
    CAMUNDA_OAUTH_URL: await harness.tokens(),
    ZEEBE_CLIENT_ID: 'client',
    ZEEBE_CLIENT_SECRET: 'secret',
  }
  cluster = new Camunda8({
    ...(byToken || open),
    ZEEBE_REST_ADDRESS: url,
  }).getOrchestrationClusterApiClient()
}

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
  expect(topology.brokers[0].version, topology.gatewayVersion)
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

scenario('jobs, incidents and instances are searched', async () => {
  const type = unique('Send Email ')
  const keys = []
  for (let n = 0; n < 3; n += 1) keys.push((await start({ n }, type)).key)
  await activate(type, { maxJobsToActivate: 1 })
  await rest.failJob({ jobKey: keys[0], retries: 0, errorMessage: 'no', variables: {} })
  const filter = { processDefinitionId: type }
  const found = await rest.searchProcessInstances({ filter })
  expect(found.items.map((one) => one.processInstanceKey), keys.toReversed())
  expect([found.page.totalItems, found.items[2].hasIncident], [3, true])
  const { items } = await rest.searchIncidents({ filter })
  expect(items.map((one) => [one.jobKey, one.errorType]), [[keys[0], 'JOB_NO_RETRIES']])
})

scenario('answers are as the client of 8.8 has them', async () => {
  const type = unique('getCustomer')
  const made = await cluster.createProcessInstance({ processDefinitionId: type, variables: {} })
  const { jobs } = await cluster.activateJobs({
    type,
    timeout: 60_000,
    maxJobsToActivate: 1,
    requestTimeout: 5_000,
  })
  expect([jobs[0].kind, jobs[0].listenerEventType], ['BPMN_ELEMENT', 'UNSPECIFIED'])
  const now = { consistency: { waitUpToMs: 0 } }
  const searching = { filter: { type }, sort: [{ field: 'jobKey', order: 'ASC' }], page: { limit: 5 } }
  const found = await cluster.searchJobs(searching, now)
  expect(found.items.map((one) => [one.jobKey, one.state]), [[made.processInstanceKey, 'CREATED']])
  await cluster.throwJobError({ jobKey: jobs[0].jobKey, errorCode: 'NO' })
  const incidents = await cluster.searchIncidents({ filter: { jobKey: jobs[0].jobKey } }, now)
  expect(incidents.items.map((one) => one.errorType), ['UNHANDLED_ERROR_EVENT'])
  const instances = await cluster.searchProcessInstances({ filter: { processDefinitionId: type } }, now)
  expect(instances.items.map((one) => one.state), ['ACTIVE'])
  await cluster.getTopology()
})

scenario('what is not served says what to use instead', async () => {
  const calls = [
    () => rest.deployResources([{ name: 'a.bpmn', content: '<a/>' }]),
    () => rest.publishMessage({ name: 'm', correlationKey: 'k', variables: {}, timeToLive: 1 }),
    () => rest.broadcastSignal({ signalName: 's', variables: {} }),
    () => rest.searchUserTasks({}),
    () => rest.searchVariables({ filter: {} }),
    () => rest.getLicenseStatus(),
    () => rest.evaluateDecision({ decisionDefinitionId: 'd', variables: {} }),
  ]
  for (const call of calls) {
    const error = await refused(call())
    expect([error.statusCode, error.title, error.detail.split(' ').length > 3], [501, 'UNIMPLEMENTED', true])
  }
})

scenario('a job that was enqueued over HTTP is done', async () => {
  const type = unique('getCustomer')
  await post(url, '/ojs/v1/jobs', { type, args: [{ id: 7 }] })
  const [job] = await activate(type)
  expect([job.type, job.variables], [type, { id: 7 }])
  await job.complete({})
})

scenario('a completion that is too large is an incident', async () => {
  const { type, key } = await start({ a: 'x'.repeat(900_000) })
  await activate(type)
  const many = { b: 'y'.repeat(1_100_000) }
  const error = await refused(rest.completeJob({ jobKey: key, variables: many }))
  expect([error.statusCode, /is an incident/.test(error.detail)], [413, true])
  expect(await activate(type, { requestTimeout: -1 }), [])
  await rest.resolveIncident(key)
  const [again] = await activate(type)
  await again.complete({ b: 'y'.repeat(300_000) })
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

connect().then(harness.play)
