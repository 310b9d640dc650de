// One queue: its jobs by state, its history, and its settings.

import { get, segment, send } from "./api.js";
import { act, button, form } from "./dialogs.js";
import { facts, h, panel, put } from "./dom.js";
import { ago, count, duration, number, rate } from "./format.js";
import { history } from "./history.js";
import { pauseButton } from "./queue-table.js";
import { to } from "./router.js";
import { badge, STATES } from "./states.js";

const PERIODS = { PT1S: "second", PT1M: "minute", PT60S: "minute", PT1H: "hour" };

export function page(view) {
  const name = view.query.get("name") ?? "";
  const actions = h("span", { class: "tools" });
  view.head(name, actions, h("a", { class: "button", href: to("jobs", { queue: name }) }, "Jobs"));
  const tiles = h("div", { class: "tiles" });
  const about = h("div");
  const settings = h("div");
  const stack = h("div", { class: "stack" }, tiles, panel("Now", about));
  view.add(stack);
  const refresh = view.panel(stack, (signal) => get(`v1/admin/queues/${segment(name)}`, {}, signal), (queue) => {
    put(tiles, STATES.map((state) => h("a", { class: queue.counts[state] ? "tile" : "tile zero", href: to("jobs", { queue: name, state }) }, h("b", null, count(queue.counts[state])), badge(state))));
    put(about, facts([
      ["State", queue.paused ? h("span", { class: "chip warn" }, "paused") : "takes and hands out jobs"],
      ["Waits longest", queue.oldest_available_at ? ago(queue.oldest_available_at) : "nothing waits"],
      ["In per minute", rate(queue.throughput.enqueued_per_minute)], ["Out per minute", rate(queue.throughput.processed_per_minute)], ["Failed per minute", rate(queue.throughput.failed_per_minute)],
      ["Run time p50", duration(queue.latency_ms.p50)], ["p95", duration(queue.latency_ms.p95)], ["p99", duration(queue.latency_ms.p99)],
    ]));
    put(settings, limits(queue.configuration));
    put(actions, pauseButton(queue, refresh, ""), button("Settings", () => configure(queue, refresh), "", "administer"));
  });
  refresh();
  view.live(refresh);
  stack.append(history(view, name), panel("Settings", settings));
}

function limits(config) {
  const { concurrency, rate_limit: rateLimit, max_size: most, overflow_policy: policy } = config;
  return facts([
    ["Run at once", concurrency === null ? "as many as workers take" : `${concurrency} at most`],
    ["Starts", rateLimit === null ? "not limited" : `${rateLimit.limit} per ${PERIODS[rateLimit.period] ?? rateLimit.period} at most`],
    ["Holds", most === null ? "any number of jobs" : `${number(most)} jobs at most; then ${policy ?? "reject"}`],
    ["Lease", config.visibility_timeout ?? "as the server's"],
    ["Job types", config.allowed_job_types?.join(", ")],
  ]);
}

async function configure(queue, changed) {
  const config = queue.configuration;
  const input = (name, value) => h("input", { name, type: "number", min: 1, value: value === null || value === undefined ? "" : String(value) });
  const perSecond = config.rate_limit?.period === "PT1S" ? config.rate_limit.limit : null;
  const given = await form({
    title: `Settings of ${queue.name}`, verb: "Save", text: h("p", { class: "muted" }, "What is empty is not limited."),
    fields: [
      { label: "Jobs at once", input: input("concurrency", config.concurrency) },
      { label: "Starts per second", input: input("rate", perSecond) },
      { label: "Jobs that it holds", input: input("size", config.max_size), hint: "Beyond this, enqueueing is refused." },
    ],
  });
  if (!given) return;
  const whole = (text) => (text === "" ? null : Number(text));
  // Send changed settings only.
  const body = {};
  if (whole(given.concurrency) !== config.concurrency) body.concurrency = whole(given.concurrency);
  if (whole(given.rate) !== perSecond) body.rate_limit = given.rate === "" ? null : { max_per_second: Number(given.rate) };
  if (whole(given.size) !== config.max_size) body.max_size = whole(given.size);
  if (Object.keys(body).length === 0) return;
  await act(() => send("PATCH", `v1/queues/${segment(queue.name)}/config`, body), "Settings saved.");
  changed();
}
