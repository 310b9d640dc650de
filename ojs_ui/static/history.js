// The charts of the server or of one queue, for a range of time.

import { get } from "./api.js";
import { Latency, ranges, Throughput, thin } from "./chart.js";
import { serverNow } from "./clock.js";
import { h } from "./dom.js";

/** Add the charts to a page; `queue` narrows them. */
export function history(view, queue = null) {
  const throughput = new Throughput();
  const latency = new Latency();
  let [period, seconds] = ["1m", 3600];
  const choose = ranges((chosen, length) => {
    [period, seconds] = [chosen, length];
    refresh();
  });
  const left = h("section", { class: "panel half" }, h("div", { class: "panel-head" }, h("h2", null, "Throughput"), choose), throughput.element);
  const right = h("section", { class: "panel half" }, h("div", { class: "panel-head" }, h("h2", null, "Run time")), latency.element);
  const grid = h("div", { class: "grid" }, left, right);
  view.add(grid);
  const refresh = view.panel(grid, (signal) => get("v1/admin/stats/history", { period, queue, since: new Date(serverNow() - seconds * 1000).toISOString() }, signal), ({ data }) => {
    const points = thin(data);
    throughput.update(points);
    latency.update(points);
  });
  refresh();
  view.live(refresh, { on: (event) => event === "metrics" || event === "tick", ms: 10000 });
  return grid;
}
