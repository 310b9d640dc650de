// The frame of all pages: navigation, live state, keys, and the page at the present address.

import { get, hasKey, send, useKey } from "./api.js";
import { claims, learn, offers, surelyOffers } from "./claims.js";
import { serverNow } from "./clock.js";
import { act, toast } from "./dialogs.js";
import { h, put } from "./dom.js";
import { duration, number, relative } from "./format.js";
import { keyboard, showKeys } from "./keys.js";
import { listen, start, toggle, watch } from "./live.js";
import { isOut, isOutage, outageOver, probe, watchOutage } from "./outage.js";
import { back, begin, go, here, to } from "./router.js";
import { View } from "./view.js";
import { identify, isKnown, limit } from "./who.js";

// The names of the pages in the bar.
const BAR = [
  ["", "Overview"], ["jobs", "Jobs"], ["queues", "Queues"], ["scheduled", "Scheduled"], ["dead", "Dead letters"],
  ["workers", "Workers"], ["cron", "Cron"], ["workflows", "Workflows"], ["events", "Events"], ["server", "Server"],
];
// The pages; each has a module of its name, the first one `overview`.
const PAGES = new Set([
  "", "jobs", "job", "queues", "queue", "scheduled", "dead", "workers", "worker", "cron", "workflows", "workflow", "events",
  "server", "enqueue", "login", "actions", "limits", "schemas", "tenants", "pools", "webhooks",
]);
const PARENT = { job: "jobs", queue: "queues", worker: "workers", workflow: "workflows", limits: "server", schemas: "server", tenants: "server", pools: "server", webhooks: "server", actions: "server" };
const THEMES = ["system", "light", "dark"];
const STATE_WORDS = { connecting: "connecting", live: "live", polling: "every 5 s", reconnecting: "not connected", paused: "paused" };

const main = document.getElementById("main");
const counts = {};
let controller = null;
let view = null;
// True once the server has answered what it offers, and who the reader is.
let described = false;

/** Mark the open page in the bar. */
function mark() {
  const { page } = here();
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.page === (PARENT[page] ?? page)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function show() {
  controller?.abort();
  controller = new AbortController();
  const { signal } = controller;
  const { page, query } = here();
  mark();
  const moved = view !== null && view.page !== page;
  const name = PAGES.has(page) ? page || "overview" : "missing";
  // Draw once all is known that decides how: drawing a second time would remove what is being clicked.
  const [offered, found] = await Promise.all([surelyOffers(page), loaded(name, signal), isKnown()]);
  const module = offered ? found : await loaded("basics", signal);
  if (signal.aborted) return;
  const root = h("div");
  view = new View(root, query, signal);
  view.page = page;
  main.replaceChildren(root);
  module.page(view);
  if (moved) {
    scrollTo(0, 0);
    // Leave the focus to someone who is typing above the page.
    if (!document.activeElement?.matches("input")) main.focus({ preventScroll: true });
  }
}

/** Load the module of a page. If that fails, say so, and try again until the signal aborts. */
async function loaded(name, signal) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await import(`./${name}.js`);
    } catch (error) {
      if (signal.aborted) return null;
      view = null;
      put(main, h("div", { class: "failure", role: "alert" }, h("p", null, "This page could not be loaded. It is tried again by itself.")));
    }
    await outageOver(signal);
    if (signal.aborted) return null;
    // Some browsers keep a failed module until the document is loaded anew.
    if (tries > 1) location.reload();
  }
}

/** Read what the server offers and who the reader is, and show both. */
async function describe() {
  const identified = showReader();
  const manifest = await get("manifest").catch(() => null);
  await learn(manifest);
  const links = BAR.filter(([page]) => page === "" || offers(page)).map(([page, label]) => {
    counts[page] = h("span", { class: "pill", hidden: true });
    return h("a", { href: to(page), dataset: { page } }, label, counts[page]);
  });
  document.getElementById("nav").replaceChildren(...links);
  mark();
  if (manifest === null) await probe();
  notice("server", manifest === null && !isOut() && "No Open Job Spec server answers here.", h("button", { type: "button", class: "small", onclick: () => location.reload() }, "Try again"));
  described = manifest !== null && await identified;
}

/** Show the name of the reader; an unknown reader has to sign in. Returns false if an outage hides who
 * it is. */
async function showReader() {
  let refusal = null;
  const me = await identify().catch((error) => { refusal = error; });
  document.getElementById("who").textContent = me ? me.name + (me.tenant ? ` of ${me.tenant}` : "") + (me.ui_read_only ? ", read-only" : "") : "";
  document.getElementById("leave").hidden = !(me?.session_ends_at || hasKey());
  const enqueue = document.querySelector(".bar a[data-page=enqueue]");
  enqueue.removeAttribute("aria-disabled");
  enqueue.removeAttribute("title");
  limit(enqueue, "enqueue");
  const stats = await surelyOffers("") ? await get("v1/admin/stats").catch((error) => error) : {};
  if (stats.jobs) badges(stats);
  return refusal === null || !isOutage(refusal);
}

/** After an outage, read again what it made fail, and follow the streams again at once. */
async function recover() {
  start();
  if (described) return;
  await describe();
  show();
}

async function signOut() {
  useKey(null);
  await act(() => send("POST", "v1/logout"));
  signIn();
}

function signIn() {
  const { page } = here();
  if (page !== "login") go(to("login", { next: page + location.search }));
}

/** Show a line above all pages, or remove it. */
function notice(id, text, ...more) {
  document.getElementById(`notice-${id}`)?.remove();
  if (text) document.getElementById("notices").append(h("div", { class: "notice", id: `notice-${id}` }, h("span", null, text), more));
}

function badges(stats) {
  const pill = (page, value, alert) => {
    const made = counts[page];
    if (!made) return;
    made.hidden = !value;
    made.classList.toggle("alert", alert);
    made.textContent = number(value);
  };
  pill("jobs", stats.jobs.active, false);
  pill("scheduled", stats.jobs.scheduled + stats.jobs.retryable, false);
  pill("dead", stats.jobs.discarded, true);
  pill("workers", stats.workers, false);
}

function maintain() {
  if (claims("admin_api")) get("v1/admin/system/maintenance").then((state) => notice("maintenance", state.enabled && `Maintenance: ${state.reason ?? "no job is handed out"}`)).catch(() => {});
}

function tick() {
  if (document.hidden) return;
  const now = serverNow();
  for (const element of document.querySelectorAll("time[data-at], time[data-since]")) {
    const { at, since } = element.dataset;
    const text = at ? relative(Number(at), now) : duration(now - Number(since));
    if (element.textContent !== text) element.textContent = text;
  }
}

function theme(chosen) {
  document.documentElement.dataset.theme = chosen;
  document.getElementById("theme").textContent = `Theme: ${chosen}`;
}

let chosen = localStorage.getItem("ojs-theme") ?? "system";
theme(chosen);
document.getElementById("theme").addEventListener("click", () => {
  chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
  localStorage.setItem("ojs-theme", chosen);
  theme(chosen);
});
document.getElementById("live").addEventListener("click", toggle);
document.getElementById("help").addEventListener("click", showKeys);
document.getElementById("leave").addEventListener("click", signOut);
addEventListener("ojs-unknown", signIn);
// Draw the page once the reader is known: drawing it before, too, would drop what is clicked in between.
addEventListener("ojs-signed-in", ({ detail: next }) => {
  showReader().then(() => back(next));
  start();
});
// A disabled element shows the reason, and does nothing.
document.addEventListener("click", (event) => {
  const blocked = event.target.closest?.("[aria-disabled=true]");
  if (!blocked) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  toast(blocked.title, { bad: true });
}, true);
document.getElementById("jump").addEventListener("submit", (event) => {
  event.preventDefault();
  const id = document.getElementById("jump-input").value.trim();
  if (id) go(/^[0-9a-f][0-9a-f-]{3,34}$/i.test(id) ? to("jobs", { id_prefix: id }) : to("job", { id }));
});
let connection = "connecting";
function showConnection() {
  const state = isOut() && connection !== "paused" ? "reconnecting" : connection;
  const made = document.getElementById("live");
  made.dataset.state = state;
  made.setAttribute("aria-pressed", String(state === "paused"));
  put(document.getElementById("live-word"), STATE_WORDS[state]);
  document.body.classList.toggle("unsure", state === "reconnecting");
}
watch((state) => {
  connection = state;
  showConnection();
});
const forever = new AbortController().signal;
watchOutage((out) => {
  showConnection();
  if (!out) recover();
}, forever);
listen((event, data) => event === "metrics" && badges(data), forever);
keyboard({ go: (page) => go(to(page)), pause: toggle, table: () => view?.table ?? null });
setInterval(tick, 1000);
setInterval(() => document.hidden || maintain(), 15000);
begin(() => show());
describe().then(maintain);
start();
