// The columns of a list of jobs, which several pages show.

import { offers } from "./claims.js";
import { h, put } from "./dom.js";
import { ago, preview, shortId, since } from "./format.js";
import { to } from "./router.js";
import { badge } from "./states.js";

/** Return a link to a job. */
export function jobLink(id, label = shortId(id)) {
  return h("a", { href: to("job", { id }), class: "mono", title: id }, label);
}

/** Return a link to a queue, or its name if the server has no pages of queues. */
export function queueLink(name) {
  if (!offers("queue")) return h("span", { class: "chip" }, name);
  return h("a", { href: to("queue", { name }), class: "chip" }, name);
}

/** Return the time of a job that matters for its state. */
export function moment(job) {
  switch (job.state) {
    case "scheduled": return ago(job.scheduled_at);
    case "retryable": return ago(job.next_attempt_at);
    case "active": return h("span", null, "for ", since(job.started_at));
    case "available": return ago(job.enqueued_at);
    default: return ago(job.completed_at ?? job.discarded_at ?? job.cancelled_at ?? job.created_at);
  }
}

function about(job) {
  if (job.state === "active" && job.worker_id) return h("a", { href: to("worker", { id: job.worker_id }), class: "mono" }, job.worker_id);
  const error = job.error ?? job.errors?.at(-1);
  return error && job.state !== "completed" ? h("span", { class: "mono", title: error.message }, error.type ?? error.code) : "";
}

/** Return the attempts of a job that count: all deliveries but those that were given back, as by a snooze. */
export const countedAttempts = (job) => job.attempt - (job.releases ?? 0);

/** Return the columns of jobs; `actions(job)` makes the last one. */
export function jobColumns({ state = true, actions = null } = {}) {
  return [
    state && { label: "State", cell: (job) => badge(job.state), kind: "nowrap" },
    { label: "Type", cell: (job) => h("a", { href: to("job", { id: job.id }) }, h("b", null, job.type)), kind: "nowrap" },
    { label: "Arguments", cell: (job) => h("span", { class: "mono muted" }, preview(job.args)), kind: "clip p2" },
    { label: "Queue", cell: (job) => queueLink(job.queue), kind: "p2" },
    { label: "Attempt", cell: (job) => h("span", { class: "num" }, `${countedAttempts(job)}/${job.max_attempts}`), kind: "p3 r" },
    { label: "Worker or error", cell: about, kind: "p3" },
    { label: "When", cell: moment, kind: "nowrap r" },
    actions && { label: "", cell: (job) => put(h("div", { class: "actions" }), actions(job)), kind: "p2" },
  ].filter(Boolean);
}
