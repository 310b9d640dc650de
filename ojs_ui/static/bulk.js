// Actions on many jobs: the count before, the confirmation, the progress, and the result.

import { send } from "./api.js";
import { claims, detail } from "./claims.js";
import { act, confirm, dialog, toast } from "./dialogs.js";
import { facts, h } from "./dom.js";
import { number } from "./format.js";
import { look } from "./search.js";
import { ENDED } from "./states.js";
import { readerName } from "./who.js";

const ACTIONS = {
  retry: { label: "Retry", states: ["discarded"], path: "v1/jobs/bulk/retry", done: "retried", danger: false, text: "They get fresh attempts." },
  cancel: { label: "Cancel", states: ["scheduled", "available", "pending", "active", "retryable"], path: "v1/jobs/bulk/cancel", done: "cancelled", danger: true, text: "Jobs that run are stopped." },
  delete: { label: "Delete", states: ENDED, path: "v1/jobs/bulk/delete", done: "deleted", danger: true, text: "This cannot be undone." },
};
const CHUNK = 1000;

/** Return the names of the bulk actions that fit a state, or any state if it is null. */
export function bulkFor(state) {
  return Object.keys(ACTIONS).filter((name) => claims("bulk_operations") && (state === null || ACTIONS[name].states.includes(state)));
}

/** Return true if a bulk action can do something with one of these jobs at least. */
export const fitsSome = (name, chosen) => chosen.some((job) => ACTIONS[name].states.includes(job.state));

/** Return the label of a bulk action. */
export const bulkLabel = (name) => ACTIONS[name].label;

const jobs = (count) => `${number(count)} ${count === 1 ? "job" : "jobs"}`;

/** Carry out a bulk action on the jobs of these ids, after a confirmation. */
export async function bulkIds(name, ids, changed) {
  const action = ACTIONS[name];
  const verb = `${action.label} ${jobs(ids.length)}`;
  const sure = name === "retry" || await confirm({ title: `${verb}?`, text: h("p", null, action.text), verb, danger: action.danger, number: name === "delete" ? ids.length : 0 });
  if (!sure) return;
  const sum = await run(action, ids.length, async (add, stopped) => {
    for (let at = 0; at < ids.length && !stopped(); at += CHUNK) add(await send("POST", action.path, { job_ids: ids.slice(at, at + CHUNK) }));
  });
  changed();
  if (!sum) return;
  if (sum.reasons.size) await showResult(action, sum, null);
  else toast(`${number(sum.succeeded)} ${action.done}.`);
}

/** Carry out a bulk action on all jobs that a filter matches, after a confirmation with their number, and show the result. */
export async function bulkFilter(name, filter, changed) {
  const action = ACTIONS[name];
  const found = await act(() => count(action, filter));
  if (!found) return;
  if (!found.number) {
    toast(found.reasons.size ? `None of these jobs can be ${action.done}.` : "No job matches.");
    return;
  }
  const many = found.exact ? jobs(found.number) : `more than ${jobs(found.number)}`;
  const verb = `${action.label} ${many}`;
  const sure = await confirm({
    title: `${verb}?`, verb, danger: action.danger, number: found.number, word: found.exact ? null : name,
    text: h("div", null, h("p", null, inWords(filter, action), "."), refused(found.reasons, `Not to be ${action.done}`, found.failed), h("p", null, action.text, " Jobs that match by then are taken too.")),
  });
  if (!sure) return;
  const sum = await run(action, found.number, async (add, stopped) => {
    for (;;) {
      const answer = await send("POST", action.path, { filter, confirm: true });
      add(answer);
      if (!answer.has_more || answer.succeeded === 0 || stopped()) return;
    }
  });
  changed();
  if (sum) await showResult(action, sum, await count(action, filter).catch(() => null));
}

/** Count the jobs that an action would change, by a dry run where the server has them. */
async function count(action, filter) {
  if (detail("urn:ojs:ext:bulk-operations")?.dry_run) {
    const answer = await send("POST", action.path, { filter, dry_run: true });
    // Of those that it refuses, the answer has a sample.
    return { number: answer.succeeded, exact: !answer.has_more, reasons: reasonsOf(answer), failed: answer.failed };
  }
  const { pagination } = await look({ state: action.states.join(","), ...filter, limit: 5 });
  return { number: pagination.total, exact: pagination.total_is_exact !== false, reasons: new Map() };
}

/** Count the jobs that an answer refuses by the reason, without their ids. */
function reasonsOf(answer, reasons = new Map()) {
  for (const item of answer.items ?? []) {
    if (!item.reason) continue;
    const reason = item.reason.replaceAll(item.job_id, "").replace(/^job\s+/, "");
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return reasons;
}

/** Return the list of reasons; `all` is the number of refused jobs, where the reasons are those of some. */
function refused(reasons, title, all = 0) {
  const rest = all - [...reasons.values()].reduce((sum, times) => sum + times, 0);
  return reasons.size > 0 && [h("h3", null, title), h("ul", null, [...reasons].map(([reason, times]) => h("li", null, h("span", { class: "num" }, number(times)), ` × ${reason}`)), rest > 0 && h("li", null, `and ${jobs(rest)} more`))];
}

/** Return what a filter means, as a sentence without its end. */
function inWords({ state, type, queue, tag, error_type: error, text, id_prefix: prefix, worker_id: worker, since, until }, action) {
  const code = (value) => h("code", null, value);
  return [
    "All ", state ?? action.states.join(" or "), " jobs",
    type && (type.endsWith("*") ? [" whose type begins with ", code(type.slice(0, -1))] : [" of the type ", code(type)]),
    queue && [" in the queue ", code(queue)], tag && [" with the tag ", code(tag)], error && [" that failed with ", code(error)],
    text && [" with ", code(text), " in their arguments or meta"], prefix && [" whose id begins with ", code(prefix)], worker && [" held by ", code(worker)],
    since && [" since ", code(since)], until && [" until ", code(until)],
  ];
}

/** Do the work of an action with its progress; returns the sums of its answers, or null after a refusal. */
async function run(action, most, work) {
  let stop = false;
  const sum = { succeeded: 0, reasons: new Map(), stopped: false };
  const bar = h("progress", { max: most, value: 0, "aria-label": "Progress" });
  const word = h("span", { class: "num" }, `0 of ${number(most)}`);
  const panel = h("div", { class: "bulk", role: "status" }, h("b", null, `${action.label} ${jobs(most)}`), bar, word, h("span", { class: "grow" }), h("button", { type: "button", class: "small", onclick: () => { stop = true; } }, "Stop"));
  document.getElementById("main").append(panel);
  const add = (answer) => {
    sum.succeeded += answer.succeeded ?? 0;
    reasonsOf(answer, sum.reasons);
    bar.value = sum.succeeded;
    word.textContent = `${number(sum.succeeded)} of ${number(most)}`;
  };
  const done = await act(() => work(add, () => stop));
  panel.remove();
  sum.stopped = stop;
  return done && sum;
}

/** Show what a bulk action has done, what it has not, and what is left. */
async function showResult(action, sum, left) {
  await dialog(`${jobs(sum.succeeded)} ${action.done}`, (close) => h("div", null,
    facts([
      [action.done, number(sum.succeeded)],
      ["left", left && `${left.exact ? "" : "more than "}${number(left.number)}`],
      ["stopped", sum.stopped ? "before the end, as you asked" : null],
      ["by", readerName()],
    ]),
    refused(sum.reasons, "Refused"),
    h("div", { class: "actions" }, h("button", { type: "button", class: "primary", dataset: { first: "" }, onclick: () => close(null) }, "Close"))));
}
