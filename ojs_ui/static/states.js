// The states of jobs and workflow steps: glyph, word and hue, so that none of them stands alone.

import { h, s } from "./dom.js";

export const STATES = ["scheduled", "available", "pending", "active", "completed", "retryable", "cancelled", "discarded"];
export const ENDED = ["completed", "cancelled", "discarded"];

const GLYPHS = {
  scheduled: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3.2l2 1.3",
  available: "M8 3a5 5 0 1 0 0 10 5 5 0 0 0 0-10",
  pending: "M6 4v8M10 4v8",
  active: "M5 3.5v9l7.5-4.5z",
  completed: "M3.5 8.5l3 3 6-7",
  retryable: "M12.5 8a4.5 4.5 0 1 1-1.5-3.4M11.5 2v3h-3",
  cancelled: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M4.2 11.8l7.6-7.6",
  discarded: "M4 4l8 8M12 4l-8 8",
};
// States of other things, by the state of a job that looks the same.
const LIKE = { waiting: "pending", failed: "discarded", running: "active", paused: "pending", online: "completed", quiet: "pending", terminate: "discarded", terminated: "cancelled", stale: "discarded", unreachable: "retryable", offline: "discarded" };

/** Return the state of a job that looks like a state of anything. */
export function look(state) {
  return GLYPHS[state] ? state : LIKE[state] ?? "pending";
}

/** Return the path of a state's glyph, in a box of 16. */
export function glyph(state) {
  return GLYPHS[look(state)];
}

/** Return a state as glyph and word. */
export function badge(state) {
  const kind = look(state);
  return h("span", { class: `state s-${kind}` },
    s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", class: kind === "active" ? "solid" : null }, s("path", { d: GLYPHS[kind] })),
    h("span", null, state));
}
