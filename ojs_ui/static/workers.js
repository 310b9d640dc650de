// Workers: their states, their jobs, and their last heartbeats.

import { get } from "./api.js";
import { h, put } from "./dom.js";
import { ago, number } from "./format.js";
import { queueLink } from "./job-table.js";
import { to } from "./router.js";
import { badge } from "./states.js";
import { Table } from "./table.js";
import { empty } from "./view.js";
import { workerVerbs } from "./worker-actions.js";

export function page(view) {
  view.head("Workers");
  const summary = h("p", { class: "kpis" });
  const table = new Table({
    caption: "Workers", key: (worker) => worker.id, autoInsert: true,
    empty: empty("No worker has come yet.", "Start one: ", h("code", null, "ojs-worker run myapp.jobs:worker --url ", new URL("..", document.baseURI).origin)),
    columns: [
      { label: "Worker", cell: (worker) => h("a", { href: to("worker", { id: worker.id }), class: "mono" }, h("b", null, worker.id)), kind: "" },
      { label: "State", cell: (worker) => badge(worker.presence && worker.presence !== "online" ? worker.presence : worker.state), kind: "nowrap" },
      { label: "Host", cell: (worker) => worker.hostname ? `${worker.hostname}${worker.pid ? ` (${worker.pid})` : ""}` : "–", kind: "p3" },
      { label: "Version", cell: (worker) => worker.version ?? worker.sdk_version ?? worker.metadata?.version ?? "–", kind: "p3" },
      { label: "Queues", cell: (worker) => (worker.queues ?? []).map((name) => [queueLink(name), " "]), kind: "p2" },
      { label: "Busy", cell: slots, kind: "p2 nowrap" },
      { label: "Heard", cell: (worker) => ago(worker.last_heartbeat_at ?? worker.last_seen_at), kind: "nowrap r" },
      { label: "Asked", cell: (worker) => worker.directive ? h("span", { class: "chip warn" }, worker.directive) : "", kind: "p3" },
      { label: "", cell: (worker) => h("div", { class: "actions" }, workerVerbs(worker, () => refresh())), kind: "" },
    ],
  });
  view.table = table;
  const holder = h("div", null, table.element);
  view.add(summary, holder);
  const refresh = view.panel(holder, (signal) => get("v1/admin/workers", { per_page: 100 }, signal), ({ items, summary: sum }) => {
    table.merge(items);
    put(summary, Object.entries(sum).map(([word, value]) => h("span", null, h("b", { class: "num" }, number(value)), ` ${word}`)));
  });
  refresh();
  view.live(refresh);
}

function slots(worker) {
  const busy = worker.active_jobs ?? 0;
  if (!worker.concurrency) return String(busy);
  const fill = h("i");
  fill.style.width = `${Math.min(100, (100 * busy) / worker.concurrency)}%`;
  return [h("span", { class: "meter s-active" }, fill), h("span", { class: "num" }, ` ${busy}/${worker.concurrency}`)];
}
