// Jobs that wait for their time: scheduled ones, and failed ones before their next attempt.

import { h } from "./dom.js";
import { jobList } from "./jobs.js";
import { to } from "./router.js";
import { badge } from "./states.js";
import { empty } from "./view.js";

export function page(view) {
  const state = view.query.get("state") === "retryable" ? "retryable" : "scheduled";
  view.head("Scheduled and retries");
  view.add(h("nav", { class: "tabs", "aria-label": "States" }, ["scheduled", "retryable"].map((each) => h("a", { href: to("scheduled", { state: each }), "aria-current": each === state ? "page" : null }, badge(each)))));
  const soonest = state === "scheduled" ? { sort: "scheduled_at", order: "asc" } : {};
  jobList(view, { state }, {
    ...soonest,
    emptyText: state === "scheduled" ? empty("Nothing is scheduled.", "A job with ", h("code", null, "scheduled_at"), " waits here for its time.") : empty("Nothing waits for another attempt.", "A job that has failed waits here until it is tried again."),
  });
}
