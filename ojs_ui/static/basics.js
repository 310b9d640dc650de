// The overview of a server without the admin API: its health and its queues.

import { get } from "./api.js";
import { facts, h, panel, put } from "./dom.js";
import { duration } from "./format.js";
import { here, to } from "./router.js";
import { badge } from "./states.js";
import { empty } from "./view.js";

export function page(view) {
  if (here().page !== "") {
    view.head("Not offered");
    view.add(h("div", { class: "panel empty" }, empty("This server does not claim what this page is about.", h("a", { href: to("") }, "Go to the overview"))));
    return;
  }
  view.head("Overview");
  const health = h("div");
  const queues = h("div");
  view.add(h("div", { class: "stack" },
    panel(null, h("p", null, "This server has no admin API, so there are no lists of jobs and workers here, and no statistics. A job is opened by its id, in the field at the top. "), h("p", null, h("a", { href: to("enqueue") }, "Enqueue a job"))),
    panel("Health", health), panel("Queues", queues)));
  const refresh = view.panel(health, (signal) => get("v1/health", {}, signal), (found) => put(health, facts([["Status", h("b", null, found.status)], ["Version", found.version], ["Runs for", found.uptime_seconds === undefined ? null : duration(found.uptime_seconds * 1000)]])));
  const again = view.panel(queues, (signal) => get("v1/queues", {}, signal), (found) => put(queues, list(found.queues ?? [])));
  refresh();
  again();
  view.live(() => Promise.all([refresh(), again()]));
}

function list(queues) {
  if (!queues.length) return h("p", { class: "muted" }, "There is no queue yet.");
  return h("ul", { class: "plain" }, queues.map((queue) => h("li", null, h("b", null, queue.name ?? queue), " ", queue.status === "paused" && badge("paused"))));
}
