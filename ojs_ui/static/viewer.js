// JSON as a tree that folds. Numbers are shown as they were written, since a double would round
// those above 2^53; large parts are drawn when they are opened.

import { copy, h } from "./dom.js";
import { button, toast } from "./dialogs.js";
import { cut } from "./format.js";

const MOST_TEXT = 262144;
const OPEN_DEPTH = 3;
const STEP = 50;

/** A number that a double does not hold as it was written. */
class Written {
  constructor(text) {
    this.text = text;
  }

  toJSON() {
    return JSON.rawJSON ? JSON.rawJSON(this.text) : Number(this.text);
  }
}

/** Parse JSON and keep numbers as they were written. */
export function parse(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context && String(value) !== context.source ? new Written(context.source) : value);
}

/** Return a value as a tree with its tools. */
export function viewer(value, name) {
  const text = JSON.stringify(value, null, 2) ?? "null";
  const tools = h("div", { class: "tools" }, button("Copy", async () => { await copy(text); toast(`${name} copied.`); }));
  if (text.length > MOST_TEXT) {
    return h("div", { class: "viewer" }, tools, h("pre", { class: "json", tabindex: "0", "aria-label": name }, text.slice(0, 20000), `\n… ${text.length} characters in all; copy shows the rest`));
  }
  return h("div", { class: "viewer" }, tools, h("pre", { class: "json", tabindex: "0", "aria-label": name }, tree(value, 0)));
}

function tree(value, depth) {
  if (value instanceof Written) return h("span", { class: "other" }, value.text);
  if (typeof value === "string") return text(value);
  if (value === null || typeof value !== "object") return h("span", { class: "other" }, String(value));
  const entries = Array.isArray(value) ? value.map((item) => [null, item]) : Object.entries(value);
  const [begin, end] = Array.isArray(value) ? "[]" : "{}";
  if (entries.length === 0) return begin + end;
  const inside = h("span", { class: "inside" });
  let drawn = 0;
  const draw = () => {
    const last = Math.min(drawn + STEP, entries.length);
    for (; drawn < last; drawn += 1) {
      const [key, item] = entries[drawn];
      inside.append(h("span", { class: "line" }, key !== null && [h("span", { class: "key" }, cut(key, 500)), ": "], tree(item, depth + 1), drawn < entries.length - 1 && ","));
    }
    if (drawn < entries.length) {
      const more = h("button", { type: "button", class: "small", onclick: () => { more.remove(); draw(); } }, `${entries.length - drawn} more`);
      inside.append(more);
    }
  };
  const open = depth < OPEN_DEPTH && entries.length <= STEP;
  const fold = h("details", { open, ontoggle: () => fold.open && drawn === 0 && draw() }, h("summary", null, `${begin} ${entries.length} ${Array.isArray(value) ? "item" : "member"}${entries.length === 1 ? "" : "s"}`), inside);
  if (open) draw();
  return [fold, end];
}

function text(value) {
  const shown = JSON.stringify(value.length > 2000 ? value.slice(0, 2000) : value);
  if (value.length <= 2000) return h("span", { class: "text" }, shown);
  return [h("span", { class: "text" }, shown), h("span", { class: "muted" }, ` … ${value.length} characters`)];
}
