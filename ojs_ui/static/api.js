// The public API: all requests are sent here, and refusals become errors.

import { noteDate } from "./clock.js";

const BASE = new URL("../ojs/", document.baseURI);
const OPERATOR = { "Content-Type": "application/json" };
// The key is kept in the memory of the tab only.
let key = null;
// Called with the status and the error code of each answer; 0 if there is none.
const answerListeners = new Set();

function noteAnswer(status, code) {
  for (const listener of answerListeners) listener(status, code);
}

/** Listen to the status of all answers, 0 for none, and to their error codes. */
export function onAnswer(listener) {
  answerListeners.add(listener);
}

/** A refused or failed request, with the server's message. */
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

/** Send this key with all further requests; null for none. */
export function useKey(value) {
  key = value;
}

/** Return true if a key is in use; its data must not reach other tabs. */
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

/** Send a request and return the response; refusals are thrown. */
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
    noteAnswer(0, null);
    throw new ApiError(0, null, path);
  }
  noteDate(answer.headers.get("date"));
  if (answer.ok) {
    noteAnswer(answer.status, null);
    return answer;
  }
  if (answer.status === 401) dispatchEvent(new CustomEvent("ojs-unknown"));
  const refusal = await answer.json().catch(() => null);
  const error = typeof refusal?.error === "object" ? refusal.error : null;
  noteAnswer(answer.status, error?.code ?? null);
  throw new ApiError(answer.status, error, path);
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
