// The charts of the server or of one queue, for a range of time.

import { get } from "./api.js";
import { Depth, ranges, Throughput, Times, thin } from "./chart.js";
import { serverNow } from "./clock.js";
import { h } from "./dom.js";

/** Add the charts to a page; `queue` narrows them. */
export function history(view, queue = null) {
  const throughput = new Throughput();
  const runs = new Times("Run time of jobs", "latency", { verb: "ran", none: "No job has ended in this time." });
  const waits = new Times("Time in the queue", "wait", { verb: "waited", none: "No job was handed out in this time." });
  let [period, seconds] = ["1m", 3600];
  const choose = ranges((chosen, length) => {
    [period, seconds] = [chosen, length];
    refresh();
  });
  const left = h("section", { class: "panel half" }, h("div", { class: "panel-head" }, h("h2", null, "Throughput"), choose), throughput.element);
  const depth = new Depth();
  const chart = (title, drawn) => h("section", { class: "panel half" }, h("div", { class: "panel-head" }, h("h2", null, title)), drawn.element);
  const waiting = chart("Time in the queue", waits);
  const deep = chart("Depth", depth);
  const grid = h("div", { class: "grid" }, left, chart("Run time", runs), deep, waiting);
  view.add(grid);
  const refresh = view.panel(grid, (signal) => get("v1/admin/stats/history", { period, queue, since: new Date(serverNow() - seconds * 1000).toISOString() }, signal), ({ data }) => {
    const points = thin(data);
    throughput.update(points);
    runs.update(points);
    // Other servers may not report waits and depth.
    waiting.hidden = data[0]?.wait_p50_ms === undefined;
    deep.hidden = data[0]?.available === undefined;
    waits.update(points);
    depth.update(points);
  });
  refresh();
  view.live(refresh, { on: (event) => event === "metrics" || event === "tick", ms: 10000 });
  return grid;
}
