// Outages of the server and its database. Failed requests raise a suspicion, probes of the server's
// health decide, and go on until all is well again.

import { address, onAnswer } from "./api.js";
import { h, put } from "./dom.js";
import { clockTime, duration } from "./format.js";

const HEALTH = "v1/health";
const PROBE_MS = 5000;
const PAUSES_S = [1, 2, 3, 5, 10];
const GATEWAYS = [502, 504];
const SENTENCES = { server: "The server cannot be reached", database: "The server's database cannot be reached" };

const watchers = new Set();
// The present outage: what cannot be reached, why, since when, of when the shown data is, and when
// the next probe is; null if there is none.
let outage = null;
let lastGood = null;
let probing = null;
let failures = 0;
let timer = null;

function become(next) {
  const changed = (next === null) !== (outage === null);
  outage = next;
  draw();
  if (changed) for (const watcher of watchers) watcher(outage !== null);
}

/** Call back with true when an outage begins, and with false once it is over, until the signal aborts. */
export function watchOutage(watcher, signal) {
  watchers.add(watcher);
  signal.addEventListener("abort", () => watchers.delete(watcher), { once: true });
}

/** Wait until there is no outage, or the signal aborts. */
export async function outageOver(signal) {
  await probe();
  if (outage === null || signal.aborted) return;
  await new Promise((resolve) => {
    watchOutage((out) => out || resolve(), signal);
    signal.addEventListener("abort", resolve, { once: true });
  });
}

/** Return true if an error is what an outage causes. */
export function isOutage({ status, code }) {
  return status === 0 || GATEWAYS.includes(status) || code === "backend_unavailable";
}

/** Return true during an outage. */
export function isOut() {
  return outage !== null;
}

/** Probe at once; returns once it is known whether there is an outage. */
export function probe() {
  clearTimeout(timer);
  probing ??= look().finally(() => { probing = null; });
  return probing;
}

async function look() {
  const found = await examine();
  if (found === null) {
    failures = 0;
    if (outage !== null) become(null);
    return;
  }
  const pause = PAUSES_S[Math.min(failures, PAUSES_S.length - 1)] * 1000;
  failures += 1;
  timer = setTimeout(probe, pause);
  become({ since: Date.now(), asOf: lastGood, ...outage, ...found, nextAt: Date.now() + pause });
}

/** Return what cannot be reached, and why; null if all can be. */
async function examine() {
  let answer;
  try {
    answer = await fetch(address(HEALTH), { cache: "no-store", signal: AbortSignal.timeout(PROBE_MS) });
  } catch (error) {
    return { what: "server", why: error.name === "TimeoutError" ? `no answer within ${duration(PROBE_MS)}` : null };
  }
  const health = answer.ok ? null : await answer.json().catch(() => null);
  if (GATEWAYS.includes(answer.status)) return { what: "server", why: health?.error?.message ?? `a proxy answers ${answer.status}` };
  return health?.status === "unhealthy" ? { what: "database", why: health.backend?.error ?? null } : null;
}

const why = h("span");
const asOf = h("span");
const next = h("span", { "aria-hidden": "true" });
const again = h("button", { type: "button", class: "small", onclick: probe }, "Try now");
const banner = h("div", { class: "notice bad", id: "outage", role: "alert" }, why, asOf, next, again);

function draw() {
  if (outage === null) {
    banner.remove();
    return;
  }
  put(why, `${SENTENCES[outage.what]} since ${clockTime(outage.since)}${outage.why ? ` (${outage.why})` : ""}.`);
  put(asOf, outage.asOf ? `What you see is of ${clockTime(outage.asOf)}.` : "");
  count();
  if (!banner.isConnected) document.getElementById("notices").prepend(banner);
}

/** Show how long it is until the next probe. */
function count() {
  const left = Math.ceil((outage.nextAt - Date.now()) / 1000);
  put(next, left > 0 ? `Next try in ${left} s.` : "Trying …");
}

setInterval(() => outage && !document.hidden && count(), 1000);
onAnswer((status, code) => {
  if (outage !== null) return;
  if (isOutage({ status, code })) probe();
  else if (status < 400) lastGood = Date.now();
});
addEventListener("online", probe);
document.addEventListener("visibilitychange", () => {
  if (outage === null) return;
  if (document.hidden) clearTimeout(timer);
  else probe();
});
