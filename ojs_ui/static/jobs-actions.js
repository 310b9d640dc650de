// The actions on one job in each state.

import { segment, send } from "./api.js";
import { claims } from "./claims.js";
import { act, button, dialog } from "./dialogs.js";
import { h } from "./dom.js";
import { ENDED } from "./states.js";

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

/** Ask for another priority of a job. */
export async function prioritize(job, changed) {
  const input = h("input", { type: "number", min: -100, max: 100, value: String(job.priority ?? 0), dataset: { first: "" } });
  const given = await dialog("Priority", (close) => h("form", { onsubmit: (event) => { event.preventDefault(); close(input.value); } }, h("label", null, "From -100 to 100; the highest first", input), h("div", { class: "actions" }, h("button", { type: "button", onclick: () => close(null) }, "Cancel"), h("button", { class: "primary" }, "Save"))));
  if (given === null) return;
  await act(() => send("PATCH", `v1/admin/jobs/${segment(job.id)}`, { priority: Number(given) }), "Priority changed.");
  changed();
}
