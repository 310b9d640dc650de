// One worker, and its jobs.

import { get, segment } from "./api.js";
import { facts, h, panel, put } from "./dom.js";
import { ago } from "./format.js";
import { jobColumns, queueLink } from "./job-table.js";
import { badge } from "./states.js";
import { Table } from "./table.js";
import { empty } from "./view.js";
import { viewer } from "./viewer.js";
import { workerVerbs } from "./worker-actions.js";

export function page(view) {
  const id = view.query.get("id") ?? "";
  const actions = h("span", { class: "tools" });
  view.head(id, actions);
  const about = h("div");
  const table = new Table({ caption: "Jobs of this worker", key: (job) => job.id, autoInsert: true, empty: empty("It holds no job."), columns: jobColumns() });
  view.table = table;
  const holder = h("div", null, h("h2", null, "Its jobs"), table.element);
  const stack = h("div", { class: "stack" }, about, holder);
  view.add(stack);
  const at = segment(id);
  const refresh = view.panel(stack, (signal) => get(`v1/admin/workers/${at}`, {}, signal), (worker) => {
    actions.replaceChildren(...workerVerbs(worker, refresh, ""));
    put(about, panel(null, facts([
      ["State", badge(worker.presence !== "online" ? worker.presence : worker.state)], ["Asked", worker.directive], ["Queues", (worker.queues ?? []).map((name) => [queueLink(name), " "])],
      ["Host", worker.hostname], ["Process", worker.pid], ["Places", worker.concurrency], ["In hand", String(worker.active_jobs)],
      ["Came", ago(worker.created_at)], ["Heard", ago(worker.last_heartbeat_at ?? worker.last_seen_at)],
    ])), h("details", { class: "panel" }, h("summary", null, "All that it said"), viewer(worker, "Worker")));
  });
  const jobs = view.panel(holder, (signal) => get(`v1/workers/${at}/jobs`, {}, signal), (found) => table.merge(found.jobs));
  refresh();
  jobs();
  view.live(refresh);
  view.live(jobs);
}
