// One job: its members, its attempts, and its progress, live.

import { ApiError, get, getText, segment } from "./api.js";
import { claims } from "./claims.js";
import { serverNow } from "./clock.js";
import { button, toast } from "./dialogs.js";
import { copy, facts, h, panel, put } from "./dom.js";
import { ago, duration, exact, shortId, since } from "./format.js";
import { prioritize, verbs } from "./jobs-actions.js";
import { countedAttempts, queueLink } from "./job-table.js";
import { go, to } from "./router.js";
import { follow } from "./sse.js";
import { badge, ENDED, look } from "./states.js";
import { parse, viewer } from "./viewer.js";

const NOT_STARTED = ["scheduled", "available", "pending", "retryable"];
// Interval of reading while there is no stream.
const AGAIN_MS = 2000;
const POLL_MS = 5000;

export function page(view) {
  const id = view.query.get("id") ?? "";
  const actions = h("span", { class: "tools" });
  view.head("Job", actions);
  const sub = h("p", { class: "sub" }, h("code", null, id), " ", button("Copy id", async () => { await copy(id); toast("Id copied."); }, "quiet"));
  const live = h("div");
  const about = h("div");
  const attempts = h("div");
  const error = h("div");
  const data = h("div", { class: "stack" });
  const stack = h("div", { class: "stack" }, live, about, h("div", { class: "grid" }, h("div", { class: "half stack" }, attempts, error), h("div", { class: "half" }, data)));
  view.add(sub, stack);
  let job = null;
  let following = false;
  let shown = "";

  const draw = ({ text, history, progress, checkpoint }) => {
    const content = JSON.stringify([text, history, progress, checkpoint]);
    if (content === shown) return;
    shown = content;
    const found = parse(text);
    job = found.job ?? found;
    put(view.heading, job.type, " ", badge(job.state));
    document.title = `${job.type} · ${job.state} · Jobs`;
    actions.replaceChildren(...verbs(job, refresh, ""), ...(NOT_STARTED.includes(job.state) && claims("admin_api") ? [button("Priority", () => prioritize(job, refresh), "", "operate")] : []), h("button", { type: "button", needs: "enqueue", onclick: () => again(job) }, "Enqueue a copy"));
    put(live, job.state === "active" && progressPanel(job, progress));
    put(about, panel(null, facts([
      ["Queue", queueLink(job.queue)], ["Attempt", job.max_attempts ? `${countedAttempts(job)} of ${job.max_attempts}` : job.attempt], ["Given back", job.releases], ["Priority", job.priority || null],
      ["Created", ago(job.created_at)], ["Scheduled", job.state === "scheduled" ? ago(job.scheduled_at) : null], ["Next attempt", job.state === "retryable" ? ago(job.next_attempt_at) : null],
      ["Started", job.started_at ? ago(job.started_at) : null], ["Runs for", job.state === "active" ? since(job.started_at) : null],
      ["Ended", ENDED.includes(job.state) ? ago(job.completed_at ?? job.cancelled_at ?? job.discarded_at) : null],
      ["Ran", ENDED.includes(job.state) && job.started_at && job.completed_at ? duration(Date.parse(job.completed_at) - Date.parse(job.started_at)) : null],
      ["Worker", job.worker_id ? h("a", { href: to("worker", { id: job.worker_id }), class: "mono" }, job.worker_id) : null],
      ["Lease until", job.lease_expires_at ? ago(job.lease_expires_at) : null], ["Expires", job.expires_at ? ago(job.expires_at) : null],
      ["Workflow", job.workflow_id ? h("a", { href: to("workflow", { id: job.workflow_id }), class: "mono", title: job.workflow_id }, shortId(job.workflow_id)) : null],
      ["Tags", job.tags?.length ? job.tags.map((tag) => [h("span", { class: "chip" }, tag), " "]) : null], ["Tenant", job.tenant_id ?? null],
    ])));
    put(attempts, panel("Timeline", strip(history, job), steps(history)));
    put(error, job.error && panel("Last error", failure(job.error)));
    data.replaceChildren(...[["Arguments", job.args], ["Result", job.result], ["Meta", job.meta], ["Checkpoint", checkpoint?.state], ["Progress data", progress?.data]]
      .filter(([, value]) => value !== undefined && value !== null && !(typeof value === "object" && Object.keys(value).length === 0))
      .map(([title, value]) => panel(title, viewer(value, title))), h("details", { class: "panel" }, h("summary", null, "Whole envelope"), viewer(job, "Envelope")));
    stream();
  };
  const optional = (path, signal) => get(path, {}, signal).catch((failed) => { if (failed instanceof ApiError) return null; throw failed; });
  const at = `v1/jobs/${segment(id)}`;
  const refresh = view.panel(stack, async (signal) => {
    const [text, history, progress] = await Promise.all([getText(at, signal), optional(`${at}/history`, signal), optional(`${at}/progress`, signal)]);
    return { text, history, progress };
  }, draw);

  // The stream of one job ends with it; a retried job gets another one.
  async function stream() {
    if (following || ENDED.includes(job.state)) return;
    following = true;
    let timer = null;
    const soon = () => { timer ??= setTimeout(() => { timer = null; refresh(); }, 250); };
    // Events before the stream was open are read once it is.
    const again = await follow(`${at}/events`, { signal: view.signal, opened: soon, each: (event) => event && soon() }).then(() => AGAIN_MS, () => POLL_MS);
    if (view.signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, again));
    following = false;
    if (view.signal.aborted) return;
    await refresh();
    // The stream starts again even if nothing has changed.
    stream();
  }

  refresh();
}

function again(job) {
  sessionStorage.setItem("ojs-copy", JSON.stringify({ type: job.type, queue: job.queue, args: job.args, meta: job.meta, priority: job.priority, tags: job.tags }));
  go(to("enqueue", { copy: "1" }));
}

function progressPanel(job, progress) {
  if (!progress || progress.updated_at === null) return null;
  const share = Math.max(0, Math.min(1, progress.progress ?? 0));
  const fill = h("i");
  fill.style.width = `${100 * share}%`;
  return panel(null, h("div", { class: "progress s-active" },
    h("div", { class: "panel-head" }, h("b", null, progress.message ?? "Running"), h("b", { class: "num" }, `${Math.round(100 * share)} %`)),
    h("span", { class: "meter", role: "progressbar", "aria-label": "Progress", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(Math.round(100 * share)) }, fill),
    h("span", { class: "muted" }, "last report ", ago(progress.updated_at))));
}

const ENDS = { "job.completed": "completed", "job.failed": "retryable", "job.retrying": "retryable", "job.discarded": "discarded", "job.cancelled": "cancelled", "job.timeout": "retryable", "job.stalled": "retryable", "job.released": "retryable" };

/** Return the attempts of a history, each with the times at which its wait began, it began and
 * ended; `start` is null if the server does not know it. */
export function attemptsOf(events) {
  const made = [];
  let free = null;
  for (const event of events) {
    const at = Date.parse(event.time);
    if (event.type === "job.started") made.push({ number: event.attempt, from: free ?? at, start: at, end: null, outcome: "active" });
    const open = made.at(-1);
    const outcome = ENDS[event.type];
    if (outcome && open && (open.end === null || open.end === at)) Object.assign(open, { end: at, outcome });
    else if (outcome && event.attempt && open?.number !== event.attempt) made.push({ number: event.attempt, from: free ?? at, start: null, end: at, outcome });
    if (event.type !== "job.started") free = at;
  }
  return made;
}

function strip(history, job) {
  const made = attemptsOf(history?.events ?? []);
  if (!made.length) return null;
  const first = made[0].from;
  const last = Math.max(...made.map((attempt) => attempt.end ?? serverNow()));
  const span = Math.max(last - first, 1);
  const bar = (from, to_, kind, title) => {
    const part = h("i", { class: kind, title });
    part.style.left = `${(100 * (from - first)) / span}%`;
    part.style.width = `${(100 * (to_ - from)) / span}%`;
    return part;
  };
  return h("div", { class: "strip", role: "img", "aria-label": `${made.length} attempts, the last ${job.state}` }, made.slice(-20).map((attempt) => {
    const end = attempt.end ?? serverNow();
    const start = attempt.start ?? end;
    const ran = duration(attempt.start && end - attempt.start);
    return h("div", { class: "attempt" }, h("span", { class: "muted" }, `Attempt ${attempt.number}`),
      h("div", { class: "lane" }, bar(attempt.from, start, "wait", `waited ${duration(start - attempt.from)}`), bar(start, end, `s-${attempt.outcome}`, `ran ${ran}`)),
      h("span", { class: "right num" }, ran));
  }));
}

const STEP_STATES = { "job.created": "pending", "job.scheduled": "scheduled", "job.enqueued": "available", "job.started": "active", "job.completed": "completed", "job.failed": "retryable", "job.retrying": "retryable", "job.discarded": "discarded", "job.cancelled": "cancelled" };

function steps(history) {
  if (!history) return null;
  let begun = null;
  return [h("h3", null, "Events"), h("ol", { class: "steps" }, history.events.map((event) => {
    const at = Date.parse(event.time);
    const details = event.attempt ? [`attempt ${event.attempt}`] : [];
    const same = begun?.attempt === event.attempt;
    if (event.worker_id && (event.type === "job.started" || !same)) details.push([" on ", h("a", { href: to("worker", { id: event.worker_id }), class: "mono" }, event.worker_id)]);
    if (event.type === "job.started") begun = event;
    else if (event.attempt && ENDS[event.type]) details.push([", ran ", h("span", { class: "num" }, duration(same ? at - Date.parse(begun.time) : null))]);
    if (event.error) details.push([details.length ? ": " : "", h("span", { class: "mono" }, event.error.type ?? event.error.code), ` ${event.error.message ?? ""}`]);
    return h("li", { class: `s-${look(STEP_STATES[event.type] ?? "pending")}` },
      h("b", null, event.type.replace(/^job\./, "")), h("span", { class: "muted" }, details),
      h("time", { class: "muted num", datetime: event.time, title: exact(at) }, exact(at).slice(11, 23)));
  })), history.complete === false && h("p", { class: "muted" }, "When and where some attempts began is not known, or some were given back.")];
}

/** Shorten the path of a frame to its last folder and file. */
function near(frame) {
  return frame.replace(/(?:[^\s"':]*\/)([^\s"':/]+\/[^\s"':/]+)(?=[:"'])/, "…/$1");
}

function failure(error) {
  const frames = Array.isArray(error.backtrace) ? error.backtrace.map(String) : typeof error.backtrace === "string" ? error.backtrace.split("\n") : [];
  const library = (frame) => /site-packages|node_modules|ojs_worker|\/lib\/python/.test(frame);
  return h("div", null, h("p", null, h("b", { class: "mono" }, error.type ?? error.code), " ", error.message),
    h("p", { class: "muted" }, error.retryable === false ? "Not tried again." : "", " ", error.occurred_at && ago(error.occurred_at)),
    frames.length > 0 && h("pre", { class: "trace", tabindex: "0", "aria-label": "Backtrace" }, frames.slice(0, 400).map((frame) => h("span", { class: library(frame) ? "lib" : "own", title: frame }, `${near(frame)}\n`))));
}
