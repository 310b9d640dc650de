// The overview: problems, numbers of jobs, and history.

import { get } from "./api.js";
import { h, put } from "./dom.js";
import { ago, count, number, rate } from "./format.js";
import { history } from "./history.js";
import { listen } from "./live.js";
import { queueTable } from "./queue-table.js";
import { to } from "./router.js";
import { badge, STATES } from "./states.js";
import { empty } from "./view.js";

export function page(view) {
  view.head("Overview");
  const tiles = h("div", { class: "tiles" });
  const kpis = h("p", { class: "kpis" });
  const stranded = h("p", { class: "notice panel", hidden: true });
  const stack = h("div", { class: "stack" }, stranded, tiles, kpis);
  view.add(stack);
  const numbers = Object.fromEntries(STATES.map((state) => {
    const value = h("b", { class: "num" }, "–");
    const tile = h("a", { class: "tile", href: to("jobs", { state }) }, value, badge(state));
    tiles.append(tile);
    return [state, { value, tile }];
  }));
  const draw = (stats) => {
    for (const state of STATES) {
      const { value, tile } = numbers[state];
      const now = stats.jobs?.[state] ?? 0;
      put(value, number(now));
      value.title = String(now);
      tile.classList.toggle("zero", now === 0);
    }
    const { throughput = {} } = stats;
    stranded.hidden = stats.workers > 0 || !stats.jobs?.available;
    put(stranded, `No worker is here, and ${number(stats.jobs?.available)} jobs wait.`, h("a", { href: to("workers") }, "Workers"));
    put(kpis, h("span", null, h("b", null, rate(throughput.enqueued_per_minute)), " in per minute"), h("span", null, h("b", null, rate(throughput.processed_per_minute)), " out per minute"),
      h("span", null, h("b", null, rate(throughput.failed_per_minute)), " failed per minute"), h("span", null, h("b", null, number(stats.workers)), " workers"), h("span", null, h("b", null, number(stats.queues)), " queues"));
  };
  const refresh = view.panel(tiles, (signal) => get("v1/admin/stats", {}, signal), draw);
  refresh();
  listen((event, data) => event === "metrics" && draw(data), view.signal);
  view.live(refresh, { on: (event) => event === "tick" });

  stack.append(history(view));
  const queues = queueTable(view);
  const errors = h("section", { class: "panel third" }, h("h2", null, "What fails most"), h("div"));
  const low = h("div", { class: "grid" }, h("section", { class: "two-thirds" }, h("h2", null, "Queues"), queues.element), errors);
  stack.append(low);
  queues.begin();
  const place = errors.lastChild;
  const failing = view.panel(place, (signal) => get("v1/dead-letter/stats", {}, signal), (found) => put(place, drawErrors(found)));
  failing();
  view.live(failing, { on: (event) => event === "metrics" || event === "tick", ms: 10000 });
}

function drawErrors({ by_error_type: by, groups }) {
  // Other servers report no groups, only errors.
  const most = (groups ?? Object.entries(by).map(([name, count]) => ({ error_type: name, count })).sort((a, b) => b.count - a.count)).slice(0, 8);
  if (!most.length) return h("div", { class: "empty" }, empty("No dead letters.", "Jobs whose attempts are used up come here."));
  const top = most[0].count;
  return h("table", null, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Error"), h("th", { scope: "col" }, "Share"), h("th", { scope: "col", class: "r" }, "Jobs"), h("th", { scope: "col", class: "r p3" }, "Last"))),
    h("tbody", null, most.map(({ type, error_type: name, count: value, newest_at: newest, newest_id: id }) => h("tr", null, h("td", null, h("a", { href: to("dead", { type, error_type: name }), class: "mono" }, name), type && h("div", { class: "muted" }, type)), h("td", null, bar(value, top)), h("td", { class: "r" }, count(value)), h("td", { class: "r nowrap p3" }, id && h("a", { href: to("job", { id }) }, ago(newest)))))));
}

function bar(value, top) {
  const fill = h("i");
  fill.style.width = `${(100 * value) / top}%`;
  return h("span", { class: "meter s-discarded" }, fill);
}
