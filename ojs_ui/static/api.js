// The public API: one place that sends requests, and one that reads what was refused.

import { heard } from "./clock.js";

const BASE = new URL("../ojs/", document.baseURI);
const OPERATOR = { "Content-Type": "application/json" };
// As long as the tab lives, and nowhere else.
let key = null;

/** An answer that is no success; its message is the server's own sentence. */
export class ApiError extends Error {
  constructor(status, error, path) {
    super(error?.message ?? (status ? `the server answered ${status}` : "the server cannot be reached"));
    this.status = status;
    this.code = error?.code ?? "unreachable";
    this.hint = error?.hint ?? null;
    this.requestId = error?.request_id ?? null;
    this.path = path;
  }
}

/** Use a key from now on; null for none. */
export function useKey(given) {
  key = given;
}

/** Say whether a key is in use, which other tabs must not see the data of. */
export function hasKey() {
  return key !== null;
}

/** Return the address of a path of the API with its query. */
export function address(path, query) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

/** Send a request and return the answer as it is; refusals are thrown. */
export async function open(method, path, { query, body, signal, headers } = {}) {
  const sent = { ...headers };
  if (key !== null) sent.Authorization = `Bearer ${key}`;
  if (body !== undefined) Object.assign(sent, OPERATOR);
  let answer;
  try {
    answer = await fetch(address(path, query), {
      method, signal, headers: sent, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, null, path);
  }
  heard(answer.headers.get("date"));
  if (answer.ok) return answer;
  if (answer.status === 401) dispatchEvent(new CustomEvent("ojs-unknown"));
  const told = await answer.json().catch(() => null);
  throw new ApiError(answer.status, typeof told?.error === "object" ? told.error : null, path);
}

async function json(method, path, options) {
  const answer = await open(method, path, options);
  return answer.status === 204 ? null : answer.json();
}

/** Read a resource below `/ojs/`. */
export const get = (path, query, signal) => json("GET", path, { query, signal });

/** Read a resource as the text that was sent. */
export const getText = async (path, signal) => (await open("GET", path, { signal })).text();

/** Change something. */
export const send = (method, path, body, query) => json(method, path, { body, query });

/** Escape one segment of a path. */
export const segment = encodeURIComponent;
