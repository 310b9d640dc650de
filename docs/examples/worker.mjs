// A whole worker for Node 18 or newer, without dependencies. Judge it with
//   ojs-conformance worker --time-scale 0.1 -- node docs/examples/worker.mjs
import { setTimeout as sleep } from "node:timers/promises";

const env = process.env;
const base = `${env.OJS_URL ?? "http://127.0.0.1:8080"}/ojs/v1/workers`;
const queues = (env.OJS_QUEUES ?? "default").split(",");
const places = Number(env.OJS_CONCURRENCY ?? 10);
const beatMs = 1000 * Number(env.OJS_HEARTBEAT_INTERVAL ?? 5);
const graceMs = 1000 * Number(env.OJS_GRACE_PERIOD ?? 25);
const pollMs = 1000 * Number(env.OJS_POLL_INTERVAL ?? 1);
const worker_id = crypto.randomUUID();

const handlers = {
  "test.echo": async (job) => job.args,
  "test.noop": async () => null,
  "test.slow": async (job, signal) => sleep(job.args[0].duration_ms, null, { signal }),
  "test.timeout": async (job, signal) => sleep(3_600_000, null, { signal }),
  "test.fail_once": async (job) => failUntil(job, 2),
  "test.fail_twice": async (job) => failUntil(job, 3),
  "test.fail_always": async (job) => failUntil(job, Infinity),
  "test.panic": async () => { throw undefined; },
};
function failUntil(job, attempt) {
  if (job.attempt < attempt) throw new Error(`fails until attempt ${attempt}`);
  return "done";
}

let state = "running", ownQuiet = false, toldQuiet = false, endBy = 0, abandoned = false;
let fetching = false, wakeBeat = () => {}, deadMs = 30_000, leaseMs = 1_800_000;
const held = new Map();

async function call(path, body) {
  try {
    const answer = await fetch(`${base}/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ worker_id, ...body }),
      signal: AbortSignal.timeout(10_000),
    });
    return { status: answer.status, wait: 1000 * (answer.headers.get("retry-after") ?? 0), ...await answer.json() };
  } catch {
    return { status: 0, wait: 0 }; // no answer, or none that can be read
  }
}
const again = ({ status }) => status === 0 || status === 429 || status >= 500;
const pause = (failures, wait = 0) =>
  sleep(Math.max(wait, Math.min(100 * 2 ** failures, 10_000) * (0.5 + Math.random() / 2)));
async function insist(path, body) {
  for (let failures = 1; ; failures++) {
    const answer = await call(path, body);
    if (!again(answer)) return answer;
    await pause(failures, answer.wait);
  }
}

async function beat() {
  const reported = state;
  const told = await call("heartbeat", { state, active_job_ids: [...held.keys()] });
  if (told.status !== 200) return false; // what refuses a BEAT says nothing else
  for (const id of [...(told.jobs_lost ?? []), ...(told.cancelled_jobs ?? [])]) {
    held.get(id)?.abort("gone");
    held.delete(id);
  }
  if (told.state === "terminate") end();
  if (told.state === "quiet" && reported === "running") toldQuiet = true;
  if (told.state === "running" && reported === "quiet") toldQuiet = false;
  settle();
  return true;
}
function settle() {
  const wanted = ownQuiet || toldQuiet ? "quiet" : "running";
  if (!endBy && wanted !== state) { state = wanted; wakeBeat(); }
}
function end() {
  if (!endBy) { endBy = Date.now() + graceMs; state = "quiet"; wakeBeat(); }
}

function hold(job) {
  const control = new AbortController();
  held.set(job.id, control);
  return control;
}
async function run(job, control) {
  const told = { job_id: job.id, attempt: job.attempt };
  const timer = job.timeout_ms && setTimeout(() => control.abort("timeout"), job.timeout_ms);
  let path = "ack", body;
  try {
    if (!handlers[job.type]) throw new Error(`no handler for ${job.type}`);
    body = { result: await handlers[job.type](job, control.signal) };
  } catch (error) {
    const why = control.signal.aborted ? control.signal.reason : undefined;
    if (why === "gone") return;
    path = "nack";
    body = { error: { type: why ?? error?.name ?? "Panic", message: why ?? error?.message ?? "no words" } };
  } finally {
    clearTimeout(timer);
  }
  await insist(path, { ...told, ...body });
  if (held.get(job.id) === control) held.delete(job.id);
}

const leaseOf = (job) => Date.parse(job.lease_expires_at) - Date.parse(job.started_at) || leaseMs;
async function fetchJobs() {
  let fetch_id, sent;
  for (let failures = 0; !endBy; ) {
    const count = places - held.size;
    if (state !== "running" || count <= 0) { await sleep(10); continue; }
    fetching = true;
    fetch_id ??= crypto.randomUUID();
    sent ??= performance.now();
    const answer = await call("fetch", { queues, count, fetch_id });
    if (answer.status !== 200) {
      fetching = false;
      if (answer.status === 409) await register(); // the server takes this worker for gone
      await pause(++failures, answer.wait);
      continue;
    }
    failures = 0;
    const jobs = answer.jobs ?? [];
    const back = jobs.splice(state === "running" ? count : 0); // no place for these
    const controls = jobs.map(hold);
    // After a sleep past a lease, ask first which of them are still held.
    const trustMs = Math.min(deadMs, ...jobs.map(leaseOf));
    while (performance.now() - sent > trustMs) {
      const asked = performance.now();
      if (await beat()) sent = asked;
      else await sleep(beatMs);
    }
    jobs.forEach((job, n) => controls[n].signal.aborted || run(job, controls[n]));
    await Promise.all(back.map((job) => insist("nack", { job_id: job.id, attempt: job.attempt, requeue: true })));
    fetching = false;
    fetch_id = sent = undefined;
    if (!jobs.length) await sleep(pollMs);
  }
}

async function register() {
  for (let failures = 1; !endBy; failures++) {
    const told = await call("register", { queues, concurrency: places });
    deadMs = 1000 * told.heartbeat_timeout || deadMs;
    leaseMs = 1000 * told.visibility_timeout_default || leaseMs;
    if (!again(told)) return;
    await pause(failures, told.wait);
  }
}

let endings = 0;
for (const [name, code] of [["SIGTERM", 143], ["SIGINT", 130]])
  process.on(name, () => (++endings > 1 ? process.exit(code) : end()));
process.on("SIGTSTP", () => { ownQuiet = true; settle(); });
process.on("SIGCONT", () => { ownQuiet = toldQuiet = false; settle(); });

await register();
await beat();
fetchJobs();
while (!endBy) {
  await Promise.race([sleep(beatMs), new Promise((wake) => (wakeBeat = wake))]);
  await beat();
}
for (let next = Date.now() + beatMs; (held.size || fetching) && Date.now() < endBy; await sleep(10))
  if (Date.now() >= next) { next += beatMs; await beat(); }
state = "terminate";
abandoned = held.size > 0;
for (const control of held.values()) control.abort("shutdown");
for (const until = Date.now() + 2000; held.size && Date.now() < until; ) await sleep(10);
await beat();
await call("deregister", {});
process.exit(abandoned ? 1 : 0);
