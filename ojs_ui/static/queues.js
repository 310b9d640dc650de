// All queues.

import { h } from "./dom.js";
import { queueTable } from "./queue-table.js";

export function page(view) {
  view.head("Queues");
  const queues = queueTable(view);
  view.table = queues.table;
  view.add(h("div", null, queues.element));
  queues.begin();
}
