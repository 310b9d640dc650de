// The actions on jobs in each state, for one or many at a time.

import { segment, send } from "./api.js";
import { claims } from "./claims.js";
import { act, button, confirm, dialog, toast } from "./dialogs.js";
import { facts, h } from "./dom.js";
import { number } from "./format.js";
import { look } from "./search.js";

const ENDED = ["completed", "cancelled", "discarded"];
const cancel = { needs: "enqueue", label: "Cancel", run: (id) => send("DELETE", `v1/jobs/${segment(id)}`), done: "cancelled", fits: (state) => !ENDED.includes(state) };
const rerun = (id) => send("POST", `v1/${claims("admin_api") ? "admin/jobs" : "dead-letter"}/${segment(id)}/retry`, {});
const retry = { needs: "operate", label: "Retry", run: rerun, done: "retried", fits: (state) => state === "discarded" && (claims("admin_api") || claims("dead_letter")) };
const now = { needs: "operate", label: "Run now", run: rerun, done: "made available", fits: (state) => state === "retryable" && claims("admin_api") };
const activate = { needs: "enqueue", label: "Run now", run: (id) => send("POST", `v1/jobs/${segment(id)}/activate`, {}), done: "made available", fits: (state) => state === "pending" };

/** Return the buttons that fit a job; `changed` is called after each action. */
export function verbs(job, changed, kind = "small") {
  return [now, activate, retry, cancel].filter((verb) => verb.fits(job.state)).map((verb) => button(verb.label, async () => {
    await act(() => verb.run(job.id), `Job ${verb.done}.`);
    changed();
  }, kind, verb.needs));
}

const BULK = {
  retry: { label: "Retry", states: ["discarded"], path: "v1/jobs/bulk/retry", done: "retried", danger: false, text: "They get fresh attempts." },
  cancel: { label: "Cancel", states: ["scheduled", "available", "pending", "active", "retryable"], path: "v1/jobs/bulk/cancel", done: "cancelled", danger: true, text: "Jobs that run are stopped." },
  delete: { label: "Delete", states: ENDED, path: "v1/jobs/bulk/delete", done: "deleted", danger: true, text: "This cannot be undone." },
};

/** Return the names of the bulk actions that fit a state, or any state if it is null. */
export function bulkFor(state) {
  return Object.keys(BULK).filter((name) => claims("bulk_operations") && (state === null || BULK[name].states.includes(state)));
}

/** Return the label of a bulk action. */
export const bulkLabel = (name) => BULK[name].label;

/** Carry out a bulk action on the jobs of these ids, after a confirmation. */
export async function bulkIds(name, ids, changed) {
  const verb = BULK[name];
  const sure = name === "retry" || await confirm({ title: `${verb.label} ${number(ids.length)} jobs?`, text: h("p", null, verb.text), verb: `${verb.label} ${number(ids.length)} jobs`, danger: verb.danger, number: name === "delete" ? ids.length : 0 });
  if (!sure) return;
  await run(verb, ids.length, async (stopped) => {
    const total = { succeeded: 0, skipped: 0, failed: 0 };
    for (let at = 0; at < ids.length && !stopped(); at += 1000) add(total, await send("POST", verb.path, { job_ids: ids.slice(at, at + 1000) }));
    return total;
  });
  changed();
}

/** Carry out a bulk action on all jobs that a filter matches, after a confirmation with their number. */
export async function bulkFilter(name, filter, changed) {
  const verb = BULK[name];
  const found = await act(() => look({ ...filter, limit: 5 }));
  if (!found) return;
  const { total, total_is_exact: exact } = found.pagination;
  if (!total) {
    toast("No job matches.");
    return;
  }
  if (!found.items.length) {
    toast("No job matches among those looked through. Go on with the search first.");
    return;
  }
  const words = Object.entries(filter).filter(([, value]) => value).map(([key, value]) => [key, h("code", null, value)]);
  const sample = h("ul", null, found.items.map((job) => h("li", null, h("code", null, job.id), ` ${job.type}`)));
  const many = `${exact === false ? "at least " : ""}${number(total)}`;
  const sure = await confirm({ title: `${verb.label} ${many} jobs?`, text: h("div", null, facts(words), h("h3", null, "Among them"), sample, h("p", null, verb.text, " Jobs that match by then are taken too.")), verb: `${verb.label} ${many} jobs`, danger: verb.danger, number: total });
  if (!sure) return;
  await run(verb, total, async (stopped, progress) => {
    const sum = { succeeded: 0, skipped: 0, failed: 0 };
    for (;;) {
      const answer = await send("POST", verb.path, { filter, confirm: true });
      add(sum, answer);
      progress(sum.succeeded);
      if (!answer.has_more || answer.succeeded === 0 || stopped()) return sum;
    }
  });
  changed();
}

function add(total, answer) {
  for (const name of Object.keys(total)) total[name] += answer[name] ?? 0;
}

async function run(verb, number_, work) {
  let stop = false;
  const bar = h("progress", { max: number_, value: 0, "aria-label": "Progress" });
  const word = h("span", { class: "num" }, `0 of ${number(number_)}`);
  const panel = h("div", { class: "bulk", role: "status" }, h("b", null, `${verb.label} ${number(number_)} jobs`), bar, word, h("span", { class: "grow" }), h("button", { type: "button", class: "small", onclick: () => { stop = true; } }, "Stop"));
  document.getElementById("main").append(panel);
  await act(() => work(() => stop, (done) => { bar.value = done; word.textContent = `${number(done)} of ${number(number_)}`; }),
    (sum) => `${number(sum.succeeded)} ${verb.done}${sum.skipped ? `, ${number(sum.skipped)} skipped` : ""}${sum.failed ? `, ${number(sum.failed)} failed` : ""}.`);
  panel.remove();
}

/** Ask for another priority of a job. */
export async function prioritize(job, changed) {
  const input = h("input", { type: "number", min: -100, max: 100, value: String(job.priority ?? 0), dataset: { first: "" } });
  const given = await dialog("Priority", (close) => h("form", { onsubmit: (event) => { event.preventDefault(); close(input.value); } }, h("label", null, "From -100 to 100; the highest first", input), h("div", { class: "actions" }, h("button", { type: "button", onclick: () => close(null) }, "Cancel"), h("button", { class: "primary" }, "Save"))));
  if (given === null) return;
  await act(() => send("PATCH", `v1/admin/jobs/${segment(job.id)}`, { priority: Number(given) }), "Priority changed.");
  changed();
}
