// The reader as the server knows them, and their rights. If the server does not report them, the
// reader may try everything, and refusals are shown.

import { get } from "./api.js";

const NEEDS = { enqueue: "producer, operator or admin", operate: "operator or admin", administer: "admin" };
let me = null;
let answered;
const identified = new Promise((resolve) => { answered = resolve; });

/** Read from the server who the reader is; null if it does not report that. Other refusals are thrown. */
export async function identify() {
  try {
    me = await get("v1/me");
  } catch (error) {
    me = null;
    if (error.status !== 404) throw error;
  } finally {
    answered();
  }
  return me;
}

/** Return true if the server reports who the reader is; then it has an action log, too. */
export async function isKnown() {
  await identified;
  return me !== null;
}

/** Return the name of the reader; null if the server does not report it. */
export const readerName = () => me?.name ?? null;

/** Return the reason why the reader has not the right `kind`, as a sentence; null if they have it. */
export function obstacle(kind) {
  if (me?.ui_read_only) return "This dashboard is read-only: the server was started with --ui-read-only.";
  if (!me || me.can[kind]) return null;
  return `Your role is ${me.role}; this needs ${NEEDS[kind]}.`;
}

/** Show an element as disabled, with the reason, if the reader has not the right `kind`. It keeps
 * its place in the order of focus, so that the reason can be read there. */
export function limit(element, kind) {
  const reason = obstacle(kind);
  if (!reason) return;
  element.setAttribute("aria-disabled", "true");
  element.title = reason;
}
