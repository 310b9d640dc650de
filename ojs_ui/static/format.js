// Numbers, times and ids as people read them.

import { h } from "./dom.js";
import { serverNow } from "./clock.js";

const THIN = "\u2009";

/** Format a count: grouped when short, with a unit when long. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size < 100000) return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, THIN);
  for (const [unit, word] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return (value / unit).toPrecision(3) + THIN + word;
  }
  return String(value);
}

/** Return a count in an element whose title is exact. */
export function count(value, exact = true) {
  return h("span", { class: "num", title: value === null || value === undefined ? null : `${exact ? "" : "at least "}${value}` }, (exact ? "" : "≥ ") + number(value));
}

/** Format a rate per minute. */
export function rate(value) {
  if (value === null || value === undefined) return "–";
  return value >= 10 ? number(Math.round(value)) : String(Math.round(value * 10) / 10);
}

/** Format a share as a percentage. */
export function share(part, whole) {
  if (!whole) return "0 %";
  const percent = (100 * part) / whole;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

const two = (value) => String(value).padStart(2, "0");

/** Format a length of time with two units at most. */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  const span = Math.max(ms, 0);
  if (span < 1000) return `${Math.round(span)}${THIN}ms`;
  const seconds = span / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)}${THIN}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}${THIN}m ${two(whole % 60)}${THIN}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}${THIN}h ${two(minutes % 60)}${THIN}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}${THIN}d ${hours % 24}${THIN}h`;
}

/** Format a coarse length of time, as in "12 m ago". */
function rough(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** Format a moment relative to another one. */
export function relative(at, now) {
  const past = now - at;
  if (Math.abs(past) < 3000) return "now";
  if (Math.abs(past) > 172800000) return local(at);
  return past > 0 ? `${rough(past)} ago` : `in ${rough(-past)}`;
}

function local(at) {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Format the time of day of a moment. */
export function clockTime(at) {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
}

/** Format a moment to the millisecond, with its zone. */
export function exact(at) {
  const date = new Date(at);
  const zone = -date.getTimezoneOffset();
  const sign = zone < 0 ? "−" : "+";
  const off = Math.abs(zone);
  return `${local(at)}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")} ${zone ? `UTC${sign}${two(Math.floor(off / 60))}:${two(off % 60)}` : "UTC"}`;
}

/** Return a moment as an element that keeps itself up to date. */
export function ago(text) {
  if (!text) return h("span", { class: "muted" }, "–");
  const at = Date.parse(text);
  if (Number.isNaN(at)) return String(text);
  return h("time", { datetime: text, title: exact(at), dataset: { at } }, relative(at, serverNow()));
}

/** Return the time that has passed since a moment, as an element that counts. */
export function since(text) {
  if (!text) return "–";
  const at = Date.parse(text);
  return h("time", { datetime: text, title: `since ${exact(at)}`, dataset: { since: at } }, duration(serverNow() - at));
}

/** Shorten an id to its two ends. */
export function shortId(id) {
  return id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

/** Cut a text to a length. */
export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Return the arguments of a job in one line. */
export function preview(args, most = 140) {
  const list = Array.isArray(args) ? args : [args];
  let text = "";
  for (const arg of list) {
    if (text.length > most) break;
    text += (text ? ", " : "") + one(arg, 3);
  }
  return cut(text, most);
}

function one(value, depth) {
  if (value === null || typeof value !== "object") return cut(JSON.stringify(value) ?? "", 80);
  if (depth === 0) return "…";
  if (Array.isArray(value)) return `[${value.slice(0, 8).map((item) => one(item, depth - 1)).join(", ")}${value.length > 8 ? ", …" : ""}]`;
  const keys = Object.keys(value);
  return `{${keys.slice(0, 8).map((key) => `${cut(key, 40)}: ${one(value[key], depth - 1)}`).join(", ")}${keys.length > 8 ? ", …" : ""}}`;
}
