// Statistics and events, by one stream for all tabs of a browser, because a browser opens six
// connections to a server at most. The tab that holds the lock reads, and forwards to the others.

import { hasKey } from "./api.js";
import { keepFollowing } from "./sse.js";

const NAME = "ojs-live";
const STREAM = "v1/admin/stats/stream";
const HIDDEN_MS = 60000;
const POLL_MS = 5000;

const listeners = new Set();
const watchers = new Set();
let state = "connecting";
let paused = false;
let work = null;
let hiddenTimer = null;

function emit(event, data) {
  for (const listener of listeners) listener(event, data);
}

function become(next) {
  if (next === state) return;
  state = next;
  for (const watcher of watchers) watcher(state);
}

/** Listen to all events until the signal aborts: `metrics` with the statistics, `tick` at an
 * interval if there is no stream, and the types of job events. */
export function listen(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/** Watch the state of the connection: connecting, live, polling, reconnecting, paused. */
export function watch(watcher) {
  watchers.add(watcher);
  watcher(state);
}

/** Return true if the reader has paused the page. */
export function isPaused() {
  return paused;
}

/** Pause or resume for this tab. */
export function toggle() {
  paused = !paused;
  if (paused) stop();
  else start();
  become(paused ? "paused" : "connecting");
}

/** Start, or start again, such as with another key. */
export function start() {
  stop();
  if (paused || document.hidden) return;
  work = new AbortController();
  const { signal } = work;
  if (hasKey() || !navigator.locks) read(signal, emit, become);
  else share(signal);
}

function stop() {
  work?.abort();
  work = null;
}

function share(signal) {
  const channel = new BroadcastChannel(NAME);
  signal.addEventListener("abort", () => channel.close(), { once: true });
  channel.onmessage = ({ data }) => {
    if (data.joins) return;
    if (data.state) become(data.state);
    else emit(data.event, data.data);
  };
  const broadcast = (event, data) => {
    emit(event, data);
    if (!signal.aborted) channel.postMessage({ event, data });
  };
  const broadcastState = (next) => {
    become(next);
    if (!signal.aborted) channel.postMessage({ state: next });
  };
  // The leader answers with its state.
  channel.postMessage({ joins: true });
  navigator.locks.request(NAME, { signal }, () => {
    channel.onmessage = ({ data }) => data.joins && channel.postMessage({ state });
    return read(signal, broadcast, broadcastState);
  }).catch(() => {});
}

async function read(signal, onEvent, onState) {
  try {
    await keepFollowing(STREAM, {
      signal,
      status: onState,
      each: (event, data) => {
        if (event === "metrics") onEvent(event, JSON.parse(data));
        else if (event) onEvent(event, null);
      },
    });
  } catch {
    // The server has no such stream, or refuses it to this reader.
    onState("polling");
    await new Promise((resolve) => {
      const timer = setInterval(() => onEvent("tick", null), POLL_MS);
      signal.addEventListener("abort", () => { clearInterval(timer); resolve(); }, { once: true });
    });
  }
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(stop, HIDDEN_MS);
  else if (work === null) {
    start();
    emit("tick", null);
  }
});
