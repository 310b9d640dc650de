// Pools: queues that share workers, and the service of each.

import { h } from "./dom.js";
import { count, duration, number, rate, share } from "./format.js";
import { queueLink } from "./job-table.js";
import { listing, tabs } from "./system.js";
import { empty } from "./view.js";

export function page(view) {
  view.head("Pools");
  view.add(tabs("pools"));
  listing(view, {
    title: "Pools", path: "v1/admin/pools", items: (answer) => answer.items, key: (pool) => pool.name,
    empty: empty("There is no pool.", "A pool bounds several queues together: ", h("code", null, "PUT /ojs/v1/admin/pools/{name}"), "."),
    columns: [
      { label: "Pool", cell: (pool) => [h("b", null, pool.name), pool.isolated && h("span", { class: "chip" }, "isolated")], kind: "" },
      { label: "Queues", cell: (pool) => pool.queues.map((name) => [queueLink(name), pool.weights?.[name] === undefined ? " " : ` ${number(pool.weights[name])} `]), kind: "" },
      { label: "Strategy", cell: (pool) => pool.strategy, kind: "p2" },
      { label: "Active", cell: (pool) => `${number(pool.active_jobs)} of ${pool.concurrency === null ? "any" : number(pool.concurrency)}`, kind: "nowrap" },
    ],
  });
  listing(view, {
    title: "Served in the last minute", path: "v1/admin/scheduling/stats", items: (answer) => answer.stats.queues, key: (queue) => queue.name, rowClass: (queue) => queue.starved && "held",
    empty: empty("Nothing was handed out.", "Queues whose jobs workers took within a minute stand here."),
    columns: [
      { label: "Queue", cell: (queue) => [queueLink(queue.name), queue.starved && h("span", { class: "chip warn" }, "starved")], kind: "" },
      { label: "Per minute", cell: (queue) => rate(queue.dispatch_count_1m), kind: "r" },
      { label: "Share", cell: (queue) => share(queue.dispatch_ratio_1m, 1), kind: "r" },
      { label: "Waited", cell: (queue) => duration(queue.avg_wait_ms), kind: "r p2 nowrap" },
      { label: "Active", cell: (queue) => count(queue.active_jobs), kind: "r p2" },
    ],
  });
}
