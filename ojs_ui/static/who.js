// Who the reader is to the server, and what they may do. Where a server does not say, the reader
// may try everything, and is told what is refused.

import { get } from "./api.js";

const NEEDS = { enqueue: "producer, operator or admin", operate: "operator or admin", administer: "admin" };
let me = null;
let answered;
const asked = new Promise((resolve) => { answered = resolve; });

/** Ask the server who the reader is; null where it does not say. Refusals of who is not known are thrown. */
export async function identify() {
  try {
    me = await get("v1/me");
  } catch (error) {
    me = null;
    if (error.status === 401) throw error;
  } finally {
    answered();
  }
  return me;
}

/** Say whether the server told who the reader is, and so has a log of what people did. */
export async function isKnown() {
  await asked;
  return me !== null;
}

/** Return why the reader may not do what is of this kind, in a sentence; null where they may. */
export function obstacle(kind) {
  if (me?.ui_read_only) return "This dashboard is read-only: the server was started with --ui-read-only.";
  if (!me || me.can[kind]) return null;
  return `Your role is ${me.role}; this needs ${NEEDS[kind]}.`;
}

/** Show an element as disabled, with the reason, where the reader may not do what it does. It
 * keeps its place in the order of focus, so that the reason can be read there. */
export function limit(element, kind) {
  const reason = obstacle(kind);
  if (!reason) return;
  element.setAttribute("aria-disabled", "true");
  element.title = reason;
}
