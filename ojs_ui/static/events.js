// The live tail of events.

import { get } from "./api.js";
import { isPaused } from "./live.js";
import { h, put } from "./dom.js";
import { exact, number, shortId } from "./format.js";
import { go, to } from "./router.js";
import { keepFollowing } from "./sse.js";
import { empty } from "./view.js";

const MOST = 300;
const PAINT_MS = 250;

export function page(view) {
  const types = view.query.get("types") ?? "";
  view.head("Events");
  const body = h("tbody");
  const held = h("div", { class: "news", hidden: true });
  const blank = h("div", { class: "empty" }, empty("Nothing has happened yet.", "Events are shown here as they come."));
  const state = h("span", { class: "muted", role: "status" });
  view.add(
    h("form", { class: "filters", role: "search", "aria-label": "Filter events", onsubmit: (event) => { event.preventDefault(); go(to("events", Object.fromEntries(new FormData(event.target)))); } },
      h("label", null, "Types", h("input", { name: "types", value: types, placeholder: "job.failed,job.discarded", list: "event-types", spellcheck: "false" })), h("button", { type: "submit" }, "Filter"), state,
      h("datalist", { id: "event-types" }, ["job.enqueued", "job.started", "job.completed", "job.failed", "job.discarded", "job.cancelled", "job.refused", "workflow.completed", "workflow.failed", "cron.triggered"].map((type) => h("option", { value: type })))),
    h("div", { class: "panel list" }, held, h("div", { class: "scroll" }, h("table", { class: "tail" }, h("caption", { class: "aside" }, "Events, newest first"), h("thead", null, h("tr", null, ["Time", "Type", "Subject", "Detail"].map((label, at) => h("th", { scope: "col", class: at === 3 ? "p2" : null }, label)))), body)), blank));

  let waiting = [];
  let dropped = 0;
  let timer = null;
  // Rows do not move under the pointer or the focus.
  const busy = () => isPaused() || body.matches(":hover") || body.contains(document.activeElement);
  const paint = (force = false) => {
    timer = null;
    if (!force && busy()) {
      held.hidden = waiting.length === 0;
      put(held, h("button", { type: "button", class: "small", onclick: () => paint(true) }, `${waiting.length + dropped > 999 ? "999+" : waiting.length + dropped} new events`, h("kbd", null, ".")));
      return;
    }
    held.hidden = true;
    body.prepend(...waiting.reverse().map(row));
    waiting = [];
    dropped = 0;
    while (body.rows.length > MOST) body.lastChild.remove();
    blank.hidden = body.rows.length > 0;
  };
  const take = (event) => {
    waiting.push(event);
    if (waiting.length > MOST) {
      waiting.shift();
      dropped += 1;
    }
    timer ??= setTimeout(paint, PAINT_MS);
  };
  body.addEventListener("mouseleave", () => waiting.length && paint());
  view.table = { move: (by) => {
    const links = [...body.querySelectorAll("a")];
    links[Math.min(Math.max(links.indexOf(document.activeElement) + by, 0), links.length - 1)]?.focus();
  }, pickFocused: () => {}, reveal: () => paint(true) };
  view.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  get("v1/events", { page: 1, limit: 50, types }, view.signal).then(({ items }) => { for (const event of items.reverse()) take(event); }, () => {});
  let seen = 0;
  keepFollowing("v1/events/stream", {
    query: { types }, signal: view.signal,
    status: (word) => put(state, word === "live" ? "listening" : "not connected"),
    each: (name, data) => {
      if (!name) return;
      seen += 1;
      put(state, `${number(seen)} since this page was opened`);
      take(JSON.parse(data));
    },
  }).catch((error) => put(state, error.message));
}

function row(event) {
  const { data = {} } = event;
  const id = data.job_id ?? null;
  const subject = id ? h("a", { href: to("job", { id }), title: id }, shortId(id))
    : data.workflow_id ? h("a", { href: to("workflow", { id: data.workflow_id }), title: data.workflow_id }, shortId(data.workflow_id))
      : h("span", null, shortId(String(event.subject ?? "")));
  const details = Object.entries(data).filter(([name, value]) => !["job_id", "workflow_id"].includes(name) && value !== null && typeof value !== "object").map(([name, value]) => `${name}=${value}`);
  if (data.error) details.push(`${data.error.type ?? data.error.code}: ${data.error.message}`);
  const kind = { completed: "completed", failed: "retryable", retrying: "retryable", discarded: "discarded", cancelled: "cancelled", started: "active", enqueued: "available", refused: "discarded", scheduled: "scheduled" }[String(event.type).split(".").at(-1)] ?? "pending";
  const time = exact(Date.parse(event.time));
  return h("tr", null, h("td", { class: "nowrap muted", title: time }, time.slice(11, 23)), h("td", { class: "nowrap" }, h("span", { class: `state s-${kind}` }, event.type)), h("td", { class: "nowrap" }, subject), h("td", { class: "clip p2 muted", title: details.join(" ") }, details.join("  ")));
}
