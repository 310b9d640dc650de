// The list of queues, on the overview and on its own page.

import { get, segment, send } from "./api.js";
import { act, button } from "./dialogs.js";
import { h } from "./dom.js";
import { ago, count, duration, rate } from "./format.js";
import { to } from "./router.js";
import { STATES } from "./states.js";
import { Table } from "./table.js";
import { empty } from "./view.js";

/** Return the button that pauses or resumes a queue. */
export function pauseButton(queue, changed, kind = "small") {
  const verb = queue.paused ? "resume" : "pause";
  return button(queue.paused ? "Resume" : "Pause", async () => {
    await act(() => send("POST", `v1/admin/queues/${segment(queue.name)}/${verb}`, {}), `Queue ${queue.name} ${verb}d.`);
    changed();
  }, kind, "operate");
}

function bars(counts) {
  const shown = ["active", "available", "scheduled", "pending", "retryable", "discarded"];
  const total = shown.reduce((sum, state) => sum + counts[state], 0);
  return h("div", { class: "bars", role: "img", "aria-label": STATES.map((state) => `${counts[state]} ${state}`).join(", ") }, shown.filter((state) => counts[state]).map((state) => {
    const part = h("i", { class: `s-${state}` });
    part.style.flexGrow = String(counts[state] / total);
    return part;
  }));
}

/** Return a table of all queues; `begin` reads it and keeps it live. */
export function queueTable(view) {
  const table = new Table({
    caption: "Queues",
    key: (queue) => queue.name,
    autoInsert: true,
    rowClass: (queue) => queue.paused && "held",
    empty: empty("There is no queue yet.", "A queue is there with its first job: ", h("a", { href: to("enqueue") }, "enqueue one"), "."),
    columns: [
      { label: "Queue", cell: (queue) => [h("a", { href: to("queue", { name: queue.name }) }, h("b", null, queue.name)), queue.paused && h("span", { class: "chip warn" }, "paused")], kind: "nowrap" },
      { label: "Available", cell: (queue) => count(queue.counts.available), kind: "r" },
      { label: "Active", cell: (queue) => count(queue.counts.active), kind: "r" },
      { label: "Retryable", cell: (queue) => count(queue.counts.retryable), kind: "r p3" },
      { label: "Discarded", cell: (queue) => count(queue.counts.discarded), kind: "r p3" },
      { label: "All", cell: (queue) => bars(queue.counts), kind: "p3" },
      { label: "Waits since", cell: (queue) => queue.oldest_available_at ? ago(queue.oldest_available_at) : "–", kind: "r p2 nowrap" },
      { label: "Out/min", cell: (queue) => rate(queue.throughput.processed_per_minute), kind: "r p2" },
      { label: "p95", cell: (queue) => duration(queue.latency_ms?.p95), kind: "r p2 nowrap" },
      { label: "", cell: (queue) => h("div", { class: "actions" }, pauseButton(queue, () => refresh())), kind: "" },
    ],
  });
  const read = async (signal) => {
    const found = [];
    for (let page = 1; page <= 10; page += 1) {
      const answer = await get("v1/admin/queues", { page, per_page: 100 }, signal);
      found.push(...answer.items);
      if (!answer.pagination.has_more) break;
    }
    return found;
  };
  const refresh = view.panel(table.element, read, (queues) => table.merge(queues));
  return { table, element: table.element, refresh, begin: () => { refresh(); view.live(refresh); } };
}
