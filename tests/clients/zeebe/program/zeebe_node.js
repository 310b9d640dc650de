// Scenarios with zeebe-node: ADDRESS of the gateway, URL of the server.
'use strict'

const { ZBClient } = require('zeebe-node')
const harness = require('./harness')

const { scenario, unique, expect, refused, promised, post } = harness
const [address, url] = process.argv.slice(2)
const options = { loglevel: 'NONE', retry: false, longPoll: 10_000, pollInterval: 50 }
let client

async function connect() {
  client = new ZBClient(address, { ...options, ...(await harness.oAuth()) })
}

const NOT_FOUND = 5
const INVALID_ARGUMENT = 3
const FAILED_PRECONDITION = 9
const UNIMPLEMENTED = 12
const RESOURCE_EXHAUSTED = 8

// A process of a type of its own.
async function start(variables = {}, type = unique()) {
  const made = await client.createProcessInstance({ bpmnProcessId: type, variables })
  return { type, key: made.processInstanceKey }
}

function activate(type, more = {}) {
  return client.activateJobs({
    type,
    worker: 'by hand',
    timeout: 60_000,
    maxJobsToActivate: 32,
    requestTimeout: 5_000,
    ...more,
  })
}

// A worker that ends each job by `handle`; answers what came of the jobs, by `count`.
async function worked(type, count, handle, more = {}) {
  const jobs = []
  const done = promised()
  const worker = client.createWorker({
    taskType: type,
    loglevel: 'NONE',
    taskHandler: async (job) => {
      const ended = await handle(job)
      jobs.push(job)
      if (jobs.length === count) done.settle()
      return ended
    },
    ...more,
  })
  await done.promise
  await closed(worker)
  return jobs
}

// Not in the callback that ended the last job: Node.js ends with an assertion where a stream is
// cancelled while its data are read. Some jobs the client never counts as ended, and waits for.
async function closed(worker) {
  await new Promise(setImmediate)
  await Promise.race([worker.close(1_000), pause(2_000)])
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

// No job of a type is to be had; of an empty stream the client makes no answer.
async function nothing(type) {
  const activated = activate(type, { requestTimeout: -1 })
  expect(await Promise.race([activated, pause(500)]), undefined)
}

scenario('topology', async () => {
  const topology = await client.topology()
  expect(topology.brokers.length, 1)
  expect(topology.brokers[0].partitions.length, 1)
  expect(topology.gatewayVersion.startsWith('8.'), true)
})

scenario('a worker completes a job', async () => {
  const { type, key } = await start({ a: 1 })
  const [job] = await worked(type, 1, (one) => one.complete({ b: 2 }))
  expect([job.key, job.type, job.variables], [key, type, { a: 1 }])
  expect((await refused(client.completeJob({ jobKey: key, variables: {} }))).code, NOT_FOUND)
})

scenario('a result has the variables of both', async () => {
  const type = unique()
  const [answer] = await Promise.all([
    client.createProcessInstanceWithResult({ bpmnProcessId: type, variables: { a: 1, b: 1 } }),
    worked(type, 1, (job) => job.complete({ b: 2, c: { deep: [3] } })),
  ])
  expect(answer.variables, { a: 1, b: 2, c: { deep: [3] } })
})

scenario('a result has the variables that are named', async () => {
  const type = unique()
  const [answer] = await Promise.all([
    client.createProcessInstanceWithResult({
      bpmnProcessId: type,
      variables: { a: 1, b: 2 },
      fetchVariables: ['b'],
    }),
    worked(type, 1, (job) => job.complete()),
  ])
  expect(answer.variables, { b: 2 })
})

scenario('a worker is given the variables that it names', async () => {
  const { type } = await start({ a: 1, b: 2 })
  const [job] = await worked(type, 1, (one) => one.complete(), { fetchVariable: ['b'] })
  expect(job.variables, { b: 2 })
})

scenario('a failure costs a retry', async () => {
  const { type } = await start()
  const jobs = await worked(type, 2, (job) =>
    job.retries === 3 ? job.fail('not yet') : job.complete()
  )
  expect(jobs.map((job) => job.retries), [3, 2])
})

scenario('a failure sets the retries', async () => {
  const { type } = await start()
  const jobs = await worked(type, 2, (job) =>
    job.retries === 9 ? job.complete() : job.fail('more of them', 9)
  )
  expect(jobs.map((job) => job.retries), [3, 9])
})

scenario('a failure backs off', async () => {
  const { type } = await start()
  const times = []
  await worked(type, 2, (job) => {
    times.push(Date.now())
    if (times.length === 2) return job.complete()
    return job.fail({ errorMessage: 'later', retries: 2, retryBackOff: 700 })
  })
  expect(times[1] - times[0] >= 700, true)
})

scenario('a failure without retries is an incident', async () => {
  const { type, key } = await start()
  await worked(type, 1, (job) => job.fail('no more', 0))
  await nothing(type)
  const error = await refused(client.completeJob({ jobKey: key, variables: {} }))
  expect(error.code, FAILED_PRECONDITION)
})

scenario('an incident is resolved', async () => {
  const { type, key } = await start()
  await worked(type, 1, (job) => job.fail('no more', 0))
  await client.updateJobRetries({ jobKey: key, retries: 2 })
  await client.resolveIncident({ incidentKey: key })
  const [job] = await worked(type, 1, (one) => one.complete())
  expect([job.key, job.retries], [key, 2])
})

scenario('a worker throws an error of the business', async () => {
  const { type, key } = await start()
  await worked(type, 1, (job) => job.error('NO_MONEY', 'broke'))
  const again = await refused(client.throwError({ jobKey: key, errorCode: 'X', errorMessage: '' }))
  expect(again.code, FAILED_PRECONDITION)
})

scenario('an error is thrown by hand', async () => {
  const { type, key } = await start()
  await activate(type)
  await client.throwError({ jobKey: key, errorCode: 'NO_MONEY', errorMessage: 'broke' })
  await client.resolveIncident({ incidentKey: key })
  const [job] = await activate(type)
  expect(job.key, key)
})

scenario('a handler that throws fails its job', async () => {
  const { type } = await start()
  let tries = 0
  const jobs = await worked(type, 1, (job) => {
    tries += 1
    if (tries === 1) throw new Error('by mistake')
    return job.complete()
  })
  expect(jobs[0].retries, 2)
})

scenario('jobs are activated by hand, so many at most', async () => {
  const type = unique()
  for (let one = 0; one < 3; one += 1) await start({ one }, type)
  const first = await activate(type, { maxJobsToActivate: 2 })
  const rest = await activate(type)
  expect([first, rest].map((jobs) => jobs.map((job) => job.variables.one)), [[0, 1], [2]])
  for (const job of [...first, ...rest]) {
    await client.completeJob({ jobKey: job.key, variables: {} })
  }
})

scenario('a job is failed by hand', async () => {
  const { type, key } = await start()
  await activate(type)
  const given = { retries: 5, errorMessage: 'no', retryBackOff: 0 }
  await client.failJob({ jobKey: key, ...given })
  const [job] = await activate(type)
  expect([job.key, job.retries], [key, 5])
})

scenario('an unknown key is not found', async () => {
  const calls = [
    () => client.completeJob({ jobKey: '77', variables: {} }),
    () => client.failJob({ jobKey: '77', retries: 1, errorMessage: '', retryBackOff: 0 }),
    () => client.updateJobRetries({ jobKey: '77', retries: 1 }),
    () => client.resolveIncident({ incidentKey: '77' }),
    () => client.cancelProcessInstance('77'),
  ]
  for (const call of calls) expect((await refused(call())).code, NOT_FOUND)
})

scenario('a job comes again after its timeout', async () => {
  const { type, key } = await start()
  await activate(type, { timeout: 300 })
  const [job] = await activate(type)
  // The end of a timeout costs no retry.
  expect([job.key, job.retries], [key, 3])
})

scenario('a late completion is accepted', async () => {
  const { type, key } = await start()
  await activate(type, { timeout: 300 })
  await activate(type)
  await client.completeJob({ jobKey: key, variables: { late: true } })
  expect((await refused(client.completeJob({ jobKey: key, variables: {} }))).code, NOT_FOUND)
})

scenario('a late failure is refused', async () => {
  const { type, key } = await start()
  await activate(type, { timeout: 300 })
  await pause(800)
  const failing = { jobKey: key, retries: 1, errorMessage: '', retryBackOff: 0 }
  expect((await refused(client.failJob(failing))).code, FAILED_PRECONDITION)
})

scenario('task types have any letters', async () => {
  for (const type of [`Charge card ${unique()}`, `zahlung-ÄÖ/${unique()}`, `X.${unique()}`]) {
    const { key } = await start({}, type)
    const [job] = await worked(type, 1, (one) => one.complete())
    expect([job.key, job.type, job.bpmnProcessId], [key, type, type])
  }
})

scenario('a hundred jobs are done once each', async () => {
  const type = unique()
  const keys = []
  for (let one = 0; one < 100; one += 1) keys.push((await start({ one }, type)).key)
  const jobs = await worked(type, 100, (job) => job.complete())
  expect(jobs.map((job) => job.key).sort(), keys.sort())
})

scenario('two workers of one client do their own types', async () => {
  const [first, second] = [await start(), await start()]
  const done = await Promise.all(
    [first, second].map((one) => worked(one.type, 1, (job) => job.complete()))
  )
  expect(done.map(([job]) => job.key), [first.key, second.key])
})

scenario('two workers share the jobs of a type', async () => {
  const type = unique()
  const keys = []
  for (let one = 0; one < 20; one += 1) keys.push((await start({ one }, type)).key)
  const done = promised()
  const seen = []
  const workers = [1, 2].map(() =>
    client.createWorker({
      taskType: type,
      loglevel: 'NONE',
      maxJobsToActivate: 3,
      taskHandler: (job) => {
        seen.push(job.key)
        if (seen.length === 20) done.settle()
        return job.complete()
      },
    })
  )
  await done.promise
  await Promise.all(workers.map(closed))
  expect(seen.sort(), keys.sort())
})

scenario('a batch worker does many at once', async () => {
  const type = unique()
  for (let one = 0; one < 6; one += 1) await start({ one }, type)
  const done = promised()
  const worker = client.createBatchWorker({
    taskType: type,
    loglevel: 'NONE',
    jobBatchMinSize: 6,
    jobBatchMaxTime: 10,
    timeout: 60_000,
    taskHandler: (jobs) => {
      const ended = jobs.map((job) => job.complete())
      done.settle(jobs.length)
      return ended
    },
  })
  expect(await done.promise, 6)
  await closed(worker)
})

scenario('a waiting worker is given a job as soon as there is one', async () => {
  const type = unique()
  const working = worked(type, 1, (job) => job.complete())
  await pause(300)
  const { key } = await start({}, type)
  expect((await working)[0].key, key)
})

scenario('a worker that was closed takes no job', async () => {
  const type = unique()
  const worker = client.createWorker({
    taskType: type,
    loglevel: 'NONE',
    taskHandler: (job) => job.complete(),
  })
  await pause(300)
  await closed(worker)
  const { key } = await start({}, type)
  expect((await activate(type)).map((job) => job.key), [key])
})

scenario('an instance is cancelled', async () => {
  const { type, key } = await start()
  await client.cancelProcessInstance(key)
  await nothing(type)
})

scenario('a worker cancels its instance', async () => {
  const { type, key } = await start()
  await worked(type, 1, (job) => job.cancelWorkflow())
  expect((await refused(client.cancelProcessInstance(key))).code, NOT_FOUND)
})

scenario('a forwarded job is ended elsewhere', async () => {
  const { type, key } = await start()
  await worked(type, 1, (job) => job.forward())
  await client.completeJob({ jobKey: key, variables: {} })
})

scenario('steps of a workflow are done one after the other', async () => {
  const [first, second] = [unique(), unique()]
  await post(url, '/ojs/v1/workflows', {
    type: 'chain',
    steps: [first, second].map((type) => ({ type, args: [{ order: 7 }] })),
  })
  await worked(first, 1, (job) => job.complete({ paid: true }))
  const [job] = await worked(second, 1, (one) => one.complete())
  expect(job.variables, { order: 7, paid: true })
})

scenario('a worker holds 32 jobs unless it says otherwise', async () => {
  const type = unique()
  for (let one = 0; one < 33; one += 1) await start({ one }, type)
  const [full, free, done] = [promised(), promised(), promised()]
  let [held, completed] = [0, 0]
  const worker = client.createWorker({
    taskType: type,
    loglevel: 'NONE',
    taskHandler: async (job) => {
      held += 1
      if (held === 32) full.settle()
      await free.promise
      completed += 1
      if (completed === 33) done.settle()
      return job.complete()
    },
  })
  await full.promise
  await pause(300)
  expect(held, 32)
  free.settle()
  await done.promise
  await closed(worker)
})

scenario('a slow worker finishes after many timeouts', async () => {
  const { type, key } = await start()
  for (let given = 0; given < 4; given += 1) {
    const [job] = await activate(type, { timeout: 300 })
    expect([job.key, job.retries], [key, 3])
  }
  await client.completeJob({ jobKey: key, variables: {} })
})

scenario('variables are set', async () => {
  const { type, key } = await start({ a: 1, b: 1 })
  await client.setVariables({ elementInstanceKey: key, variables: { b: 2 }, local: false })
  const [job] = await activate(type)
  expect(job.variables, { a: 1, b: 2 })
})

scenario('retries are set', async () => {
  const { type, key } = await start()
  await client.updateJobRetries({ jobKey: key, retries: 8 })
  expect((await activate(type))[0].retries, 8)
})

scenario('retries below one are refused', async () => {
  const { key } = await start()
  const error = await refused(client.updateJobRetries({ jobKey: key, retries: 0 }))
  expect(error.code, INVALID_ARGUMENT)
})

scenario('what needs an engine is refused with a sentence', async () => {
  const calls = [
    () => client.publishMessage({ name: 'm', correlationKey: 'k', variables: {}, timeToLive: 1 }),
    () => client.broadcastSignal({ signalName: 's', variables: {} }),
    () => client.deployProcess({ definition: Buffer.from('<a/>'), name: 'a.bpmn' }),
    () => client.deployResource({ process: Buffer.from('<a/>'), name: 'a.bpmn' }),
    () => client.modifyProcessInstance({ processInstanceKey: '1', activateInstructions: [] }),
    () => client.evaluateDecision({ decisionId: 'd', variables: {} }),
  ]
  for (const call of calls) {
    const error = await refused(call())
    expect([error.code, /BPMN engine/.test(error.details)], [UNIMPLEMENTED, true])
  }
})

scenario('a job that was enqueued over HTTP is done', async () => {
  const type = unique('mail')
  await post(url, '/ojs/v1/jobs', {
    type,
    args: [{ to: 'a@example.org' }],
    queue: 'letters',
    meta: { custom_headers: { template: 'hello' } },
  })
  const [job] = await worked(type, 1, (one) => one.complete({ sent: true }))
  expect([job.variables, job.customHeaders], [{ to: 'a@example.org' }, { template: 'hello' }])
})

scenario('arguments that are no object are one variable', async () => {
  const type = unique('sum')
  await post(url, '/ojs/v1/jobs', { type, args: [1, 2] })
  const [job] = await worked(type, 1, (one) => one.complete())
  expect(job.variables, { args: [1, 2] })
})

scenario('types are spelled as users of Zeebe do', async () => {
  for (const type of [unique('getCustomer'), unique('Send Email ')]) {
    await post(url, '/ojs/v1/jobs', { type, args: [{ a: 1 }] })
    await post(url, '/ojs/v1/workflows', { type: 'chain', steps: [{ type, args: [{ a: 1 }] }] })
    const jobs = await worked(type, 2, (one) => one.complete())
    expect(jobs.map((job) => [job.type, job.variables.a]), [[type, 1], [type, 1]])
    await start({}, type)
    const fetched = await post(url, '/ojs/v1/workers/fetch', { job_types: [type] })
    expect(fetched.jobs.map((job) => job.type), [type])
  }
})

scenario('a completion counts by its own variables', async () => {
  const type = unique()
  const creating = client.createProcessInstanceWithResult({
    bpmnProcessId: type,
    variables: { a: 'x'.repeat(900_000) },
    requestTimeout: 20_000,
  })
  await worked(type, 1, (job) => job.complete({ b: 'y'.repeat(300_000) }))
  const { variables } = await creating
  expect([variables.a.length, variables.b.length], [900_000, 300_000])
})

scenario('a completion that is too large is an incident', async () => {
  const { type, key } = await start()
  await activate(type, { timeout: 200 })
  const many = { b: 'y'.repeat(1_100_000) }
  const error = await refused(client.completeJob({ jobKey: key, variables: many }))
  expect([error.code, /is an incident/.test(error.details)], [RESOURCE_EXHAUSTED, true])
  await pause(500)
  await nothing(type)
  const again = await refused(client.completeJob({ jobKey: key, variables: {} }))
  expect(again.code, FAILED_PRECONDITION)
  await client.resolveIncident({ incidentKey: key })
  expect((await activate(type)).map((job) => job.key), [key])
})

scenario('keys beyond what doubles hold stay exact', async () => {
  const { type, key } = await start()
  const [job] = await activate(type)
  expect([typeof key, job.key], ['string', key])
})

connect().then(harness.play)
