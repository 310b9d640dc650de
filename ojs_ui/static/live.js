// Statistics and hints of what happened, by one stream for all tabs of a browser: a browser opens
// six connections to a server at most. The tab that holds the lock reads, and tells the others.

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

function tell(event, data) {
  for (const listener of listeners) listener(event, data);
}

function become(next) {
  if (next === state) return;
  state = next;
  for (const watcher of watchers) watcher(state);
}

/** Hear every event until the signal aborts: `metrics` with the statistics, `tick` where only
 * time tells that something may have changed, and the types of job events. */
export function listen(listener, signal) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/** Hear the state of the connection: connecting, live, polling, reconnecting, paused. */
export function watch(watcher) {
  watchers.add(watcher);
  watcher(state);
}

/** Say whether the reader has paused the page. */
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

/** Begin, or begin anew, as after another key was given. */
export function start() {
  stop();
  if (paused || document.hidden) return;
  work = new AbortController();
  const { signal } = work;
  if (hasKey() || !navigator.locks) read(signal, tell, become);
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
    if (data.asks) return;
    if (data.state) become(data.state);
    else tell(data.event, data.data);
  };
  const say = (event, data) => {
    tell(event, data);
    if (!signal.aborted) channel.postMessage({ event, data });
  };
  const turn = (next) => {
    become(next);
    if (!signal.aborted) channel.postMessage({ state: next });
  };
  // Until the leader says more; it answers whoever joins.
  channel.postMessage({ asks: true });
  navigator.locks.request(NAME, { signal }, () => {
    channel.onmessage = ({ data }) => data.asks && channel.postMessage({ state });
    return read(signal, say, turn);
  }).catch(() => {});
}

async function read(signal, say, turn) {
  try {
    await keepFollowing(STREAM, {
      signal,
      status: turn,
      each: (event, data) => {
        if (event === "metrics") say(event, JSON.parse(data));
        else if (event) say(event, null);
      },
    });
  } catch {
    // The server has no such stream, or not for this reader.
    turn("polling");
    await new Promise((resolve) => {
      const timer = setInterval(() => say("tick", null), POLL_MS);
      signal.addEventListener("abort", () => { clearInterval(timer); resolve(); }, { once: true });
    });
  }
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(stop, HIDDEN_MS);
  else if (work === null) {
    start();
    tell("tick", null);
  }
});
