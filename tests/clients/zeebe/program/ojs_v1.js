// Every call of ojs.v1, by a client that is made of the .proto file: ADDRESS, and the file. The key, if the
// server needs one, is in OJS_AUTH_TOKEN.
'use strict'

const grpc = require('@grpc/grpc-js')
const loader = require('@grpc/proto-loader')
const { scenario, unique, expect, refused, promised, play } = require('./harness')

const [address, proto] = process.argv.slice(2)
const definition = loader.loadSync(proto, {
  enums: String,
  longs: String,
  defaults: true,
})
const { OJSService } = grpc.loadPackageDefinition(definition).ojs.v1
const client = new OJSService(address, grpc.credentials.createInsecure())
const key = process.env.OJS_AUTH_TOKEN || ''

function shown(name = 'x-ojs-api-key', value = key) {
  const metadata = new grpc.Metadata()
  if (key) metadata.set(name, value)
  return metadata
}

function ask(call, message = {}, metadata = shown(), hear = () => {}, of = client) {
  return new Promise((resolve, reject) => {
    const done = (error, answer) => (error ? reject(error) : resolve(answer))
    of[call](message, metadata, done).on('status', (status) => hear(status.metadata))
  })
}

const number = (value) => ({ numberValue: value })
const text = (value) => ({ stringValue: value })
const struct = (fields) => ({ fields })
const seconds = (value) => ({ seconds: value })

async function enqueue(queue, more = {}) {
  const answer = await ask('Enqueue', { type: 'email.send', options: { queue, ...more } })
  return answer.job
}

async function held(more = {}) {
  const queue = unique()
  const job = await enqueue(queue, more)
  const { jobs } = await ask('Fetch', { queues: [queue], workerId: unique('worker') })
  expect(jobs.map((one) => one.id), [job.id])
  return { queue, job }
}

scenario('Manifest', async () => {
  const manifest = await ask('Manifest')
  expect([manifest.protocols, manifest.conformanceLevel], [['http', 'grpc'], 4])
})

scenario('Health', async () => {
  expect((await ask('Health')).status, 'HEALTH_STATUS_OK')
})

scenario('Enqueue and GetJob', async () => {
  const { job } = await ask('Enqueue', {
    type: 'email.send',
    args: [number(7), text('a'), { structValue: struct({ deep: { boolValue: true } }) }],
    options: { queue: unique(), tags: ['x'], timeout: seconds(90), meta: struct({ m: text('n') }) },
  })
  const found = (await ask('GetJob', { jobId: job.id })).job
  expect(found.args.length, 3)
  expect([found.state, found.tags, found.timeout.seconds], ['JOB_STATE_AVAILABLE', ['x'], '90'])
  expect(found.meta.fields.m.stringValue, 'n')
})

scenario('EnqueueBatch', async () => {
  const answer = await ask('EnqueueBatch', {
    jobs: [{ type: 'email.send' }, { type: 'No Type' }],
    defaultOptions: { queue: unique() },
  })
  expect([answer.count, Object.keys(answer.errors)], [1, ['1']])
})

scenario('CancelJob', async () => {
  const job = await enqueue(unique())
  const cancelled = (await ask('CancelJob', { jobId: job.id, reason: 'no need' })).job
  expect(cancelled.state, 'JOB_STATE_CANCELLED')
})

scenario('Fetch and Ack', async () => {
  const { job } = await held()
  const result = struct({ sent: number(1) })
  expect((await ask('Ack', { jobId: job.id, result })).acknowledged, true)
  const done = (await ask('GetJob', { jobId: job.id })).job
  expect([done.state, done.result.fields.sent.numberValue], ['JOB_STATE_COMPLETED', 1])
})

scenario('Nack', async () => {
  const { job } = await held()
  const error = { code: 'smtp', message: 'no route', retryable: true }
  const answer = await ask('Nack', { jobId: job.id, error })
  expect([answer.state, Number(answer.nextAttemptAt.seconds) > 0], ['JOB_STATE_RETRYABLE', true])
})

scenario('Heartbeat', async () => {
  const queue = unique()
  const job = await enqueue(queue)
  const workerId = unique('worker')
  await ask('Fetch', { queues: [queue], workerId })
  const answer = await ask('Heartbeat', { id: job.id, workerId, extendBy: seconds(7200) })
  expect(answer.directedState, 'WORKER_STATE_RUNNING')
  expect(Number(answer.newDeadline.seconds) > Date.now() / 1000 + 7000, true)
})

scenario('StreamJobs', async () => {
  const queue = unique()
  const stream = client.StreamJobs({ queues: [queue], maxConcurrent: 1 }, shown())
  stream.on('error', () => {})
  const seen = []
  const done = promised()
  stream.on('data', async (job) => {
    seen.push(job.id)
    await ask('Ack', { jobId: job.id })
    if (seen.length === 3) done.settle()
  })
  const ids = []
  for (let one = 0; one < 3; one += 1) ids.push((await enqueue(queue)).id)
  await done.promise
  await new Promise(setImmediate)
  stream.cancel()
  expect(seen, ids)
})

// The first event that passes a filter, of those that something causes again and again.
async function heard(filter, cause) {
  const stream = client.StreamEvents(filter, shown())
  stream.on('error', () => {})
  const told = promised()
  stream.on('data', told.settle)
  // Nothing says that the stream follows by now.
  const timer = setInterval(cause, 100)
  const event = await told.promise
  clearInterval(timer)
  await new Promise(setImmediate)
  stream.cancel()
  return event
}

scenario('StreamEvents', async () => {
  const queue = unique()
  const filter = { queues: [queue], eventTypes: ['job.enqueued'] }
  const event = await heard(filter, () => enqueue(queue))
  expect([event.type, event.queue, event.jobType], ['job.enqueued', queue, 'email.send'])
})

function nack(jobId, retryable) {
  return ask('Nack', { jobId, error: { code: 'x', message: 'no', retryable } })
}

// A job is handed out, and something is done to it.
async function run(queue, end = async () => {}) {
  await enqueue(queue)
  const { jobs } = await ask('Fetch', { queues: [queue] })
  for (const job of jobs) await end(job.id)
}

// An event has the name of the .proto file, by which it is asked for.
async function hears(type, cause) {
  const queue = unique()
  const event = await heard({ queues: [queue], eventTypes: [type] }, () => cause(queue))
  expect([event.type, event.queue], [type, queue])
}

scenario('the event job.started', () => hears('job.started', run))

scenario('the event job.completed', () =>
  hears('job.completed', (queue) => run(queue, (jobId) => ask('Ack', { jobId }))))

scenario('the event job.failed', () =>
  hears('job.failed', (queue) => run(queue, (jobId) => nack(jobId, true))))

scenario('the event job.retrying', () =>
  hears('job.retrying', (queue) => run(queue, (jobId) => nack(jobId, true))))

scenario('the event job.dead', () =>
  hears('job.dead', (queue) => run(queue, (jobId) => nack(jobId, false))))

scenario('the event job.heartbeat', () =>
  hears('job.heartbeat', (queue) =>
    run(queue, (id) => ask('Heartbeat', { id, extendBy: seconds(7200) }))))

scenario('the event job.cancelled', () =>
  hears('job.cancelled', async (queue) => ask('CancelJob', { jobId: (await enqueue(queue)).id })))

scenario('the event workflow.step_completed', async () => {
  const kinds = ['workflow.step_completed', 'workflow.completed']
  for (const eventTypes of kinds.map((kind) => [kind])) {
    const event = await heard({ eventTypes }, async () => {
      const options = { queue: unique() }
      const { workflow } = await ask('CreateWorkflow', { steps: [{ id: 'a', type: 'a', options }] })
      const { jobs } = await ask('Fetch', { queues: [options.queue] })
      for (const job of jobs) await ask('Ack', { jobId: job.id })
      return workflow
    })
    expect([event.type, event.workflowId.length], [eventTypes[0], 36])
  }
})

scenario('CancelJob of a cancelled job', async () => {
  const job = await enqueue(unique())
  const first = (await ask('CancelJob', { jobId: job.id })).job
  expect((await ask('CancelJob', { jobId: job.id })).job, first)
})

scenario('Heartbeat of a cancelled job', async () => {
  const queue = unique()
  const [kept, gone] = [await enqueue(queue), await enqueue(queue)]
  const workerId = unique('worker')
  await ask('Fetch', { queues: [queue], workerId, count: 2 })
  await ask('CancelJob', { jobId: gone.id })
  for (const [job, named] of [[kept, []], [gone, [gone.id]]]) {
    let metadata
    const answer = await ask('Heartbeat', { id: job.id, workerId }, shown(), (told) => {
      metadata = told
    })
    expect(answer.newDeadline === null, job === gone)
    await new Promise(setImmediate)
    expect(metadata.get('x-ojs-cancelled-jobs'), named)
  }
})

scenario('Heartbeat without a worker', async () => {
  const { job } = await held()
  const answer = await ask('Heartbeat', { id: job.id, extendBy: seconds(7200) })
  expect(Number(answer.newDeadline.seconds) > Date.now() / 1000 + 7000, true)
})

// The parts of a message of protobuf with one number, all of them with lengths.
function parts(message, number) {
  const found = []
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]
      value += (byte & 127) * 2 ** shift
      if (byte < 128) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const length = varint()
    if (tag === number * 8 + 2) found.push(message.subarray(at, at + length))
    at += length
  }
  return found
}

function reflected(version, request) {
  const same = (value) => value
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`
  return new Promise((resolve, reject) => {
    const stream = client.makeBidiStreamRequest(path, same, same, shown())
    stream.on('error', reject)
    stream.on('data', resolve)
    stream.write(request)
    stream.end()
  })
}

// A client that is made of what the server reflects.
async function reflects(version) {
  const listed = await reflected(version, Buffer.from([0x3a, 0]))
  const names = parts(parts(listed, 6)[0], 1).map((one) => parts(one, 1)[0].toString())
  expect(names.includes('ojs.v1.OJSService'), true)
  const name = Buffer.from('ojs.v1.OJSService')
  const described = await reflected(version, Buffer.from([0x22, name.length, ...name]))
  // A list of files is a FileDescriptorSet.
  const files = loader.loadFileDescriptorSetFromBuffer(parts(described, 4)[0])
  const Made = grpc.loadPackageDefinition(files).ojs.v1.OJSService
  const made = new Made(address, grpc.credentials.createInsecure())
  const answer = await ask('Manifest', {}, shown(), () => {}, made)
  // Described members keep their names.
  expect(answer.conformance_level, 4)
  made.close()
}

scenario('reflection v1', () => reflects('v1'))

scenario('reflection v1alpha', () => reflects('v1alpha'))

scenario('ListQueues', async () => {
  const queue = unique()
  await enqueue(queue)
  const { queues } = await ask('ListQueues', { limit: 1000 })
  expect(queues.filter((one) => one.name === queue).map((one) => one.availableCount), ['1'])
})

scenario('QueueStats', async () => {
  const { queue } = await held()
  const answer = await ask('QueueStats', { queue })
  expect([answer.queue, answer.stats.active, answer.stats.available], [queue, '1', '0'])
})

scenario('PauseQueue and ResumeQueue', async () => {
  const queue = unique()
  await enqueue(queue)
  await ask('PauseQueue', { queue })
  expect((await ask('Fetch', { queues: [queue] })).jobs, [])
  await ask('ResumeQueue', { queue })
  expect((await ask('Fetch', { queues: [queue] })).jobs.length, 1)
})

async function dead() {
  const { queue, job } = await held()
  await ask('Nack', { jobId: job.id, error: { code: 'x', retryable: false } })
  return { queue, job }
}

scenario('ListDeadLetter', async () => {
  const { queue, job } = await dead()
  const page = await ask('ListDeadLetter', { queue })
  expect([page.jobs.map((one) => one.id), page.totalCount], [[job.id], '1'])
})

scenario('RetryDeadLetter', async () => {
  const { job } = await dead()
  expect((await ask('RetryDeadLetter', { jobId: job.id })).job.state, 'JOB_STATE_AVAILABLE')
})

scenario('DeleteDeadLetter', async () => {
  const { job } = await dead()
  await ask('DeleteDeadLetter', { jobId: job.id })
  expect((await refused(ask('GetJob', { jobId: job.id }))).code, grpc.status.NOT_FOUND)
})

scenario('RegisterCron, ListCron and UnregisterCron', async () => {
  const name = unique('cron')
  const made = await ask('RegisterCron', { name, cron: '0 9 * * *', type: 'report.make' })
  expect(Number(made.nextRunAt.seconds) > Date.now() / 1000, true)
  const listed = (await ask('ListCron')).entries.filter((one) => one.name === name)
  expect(listed.map((one) => one.cron), ['0 9 * * *'])
  await ask('UnregisterCron', { name })
  expect((await refused(ask('UnregisterCron', { name }))).code, grpc.status.NOT_FOUND)
})

const STEPS = [
  { id: 'pay', type: 'card.charge' },
  { id: 'send', type: 'parcel.send', dependsOn: ['pay'] },
]

scenario('CreateWorkflow and GetWorkflow', async () => {
  const { workflow } = await ask('CreateWorkflow', { name: 'order', steps: STEPS })
  const found = (await ask('GetWorkflow', { workflowId: workflow.id })).workflow
  expect([found.name, found.state], ['order', 'WORKFLOW_STATE_RUNNING'])
  expect(found.steps.map((step) => step.dependsOn), [[], ['pay']])
})

scenario('CancelWorkflow', async () => {
  const { workflow } = await ask('CreateWorkflow', { steps: STEPS })
  const ended = (await ask('CancelWorkflow', { workflowId: workflow.id })).workflow
  expect(ended.state, 'WORKFLOW_STATE_CANCELLED')
})

scenario('a refusal', async () => {
  const error = await refused(ask('Enqueue', { type: 'No Type' }))
  expect(error.code, grpc.status.INVALID_ARGUMENT)
  expect(error.metadata.get('grpc-status-details-bin').length, 1)
})

scenario('a key that is repeated', async () => {
  const metadata = shown()
  metadata.set('x-ojs-idempotency-key', unique('key'))
  const message = { type: 'email.send', options: { queue: unique() } }
  const [first, second] = [
    await ask('Enqueue', message, metadata),
    await ask('Enqueue', message, metadata),
  ]
  expect(first.job.id, second.job.id)
})

scenario('a key', async () => {
  const bearer = shown('authorization', `Bearer ${key}`)
  expect((await ask('Enqueue', { type: 'email.send' }, bearer)).job.type, 'email.send')
  if (!key) return
  for (const metadata of [new grpc.Metadata(), shown('x-ojs-api-key', 'guessed')]) {
    const error = await refused(ask('Enqueue', { type: 'email.send' }, metadata))
    expect(error.code, grpc.status.UNAUTHENTICATED)
  }
})

play()
