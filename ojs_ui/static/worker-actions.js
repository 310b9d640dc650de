// The actions on a worker.

import { segment, send } from "./api.js";
import { act, button, confirm } from "./dialogs.js";
import { h } from "./dom.js";
import { number } from "./format.js";

/** Return the buttons that fit a worker. */
export function workerVerbs(worker, changed, kind = "small") {
  const direct = (verb, message) => async () => {
    await act(() => send("POST", `v1/admin/workers/${segment(worker.id)}/${verb}`, {}), message);
    changed();
  };
  const quiet = worker.state === "quiet" || worker.directive === "quiet";
  return [
    quiet ? button("Resume", direct("resume", "The worker is asked to go on."), kind, "administer") : button("Quiet", direct("quiet", "The worker is asked to take no more jobs."), kind, "administer"),
    button("Terminate", async () => {
      const jobs = worker.active_jobs ?? 0;
      const text = h("p", null, h("code", null, worker.id), ` is asked to end. It holds ${number(jobs)} ${jobs === 1 ? "job" : "jobs"}, which it may finish or give back.`);
      if (await confirm({ title: "Terminate this worker?", text, verb: "Terminate" })) await direct("terminate", "The worker is asked to end.")();
    }, kind, "administer"),
  ];
}
