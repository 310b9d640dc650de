// Elements out of names, attributes and children. Data of the server becomes text nodes, and is
// never parsed as markup.

import { limit } from "./who.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "needs") limit(element, value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).map((child) => (typeof child === "string" ? escaped(child) : child)));
  return element;
}

// Characters that turn the direction of the text around them, or that nobody sees.
const DECEIVING = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Return a text with characters that would hide how it reads as escapes. */
function escaped(text) {
  return text.replace(DECEIVING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Make an HTML element. */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Make an SVG element. */
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Put other children into an element, unless it shows the same text and structure already. */
export function put(element, ...children) {
  const made = fill(document.createDocumentFragment(), null, children);
  const before = element.childNodes;
  const same = before.length === made.childNodes.length
    && [...before].every((node, at) => node.isEqualNode(made.childNodes[at]) && !node.querySelector?.("button, a, input"));
  if (!same) element.replaceChildren(made);
  return element;
}

/** Return a panel with a heading. */
export function panel(title, ...children) {
  return h("section", { class: "panel" }, title && h("h2", null, title), children);
}

/** Return a list of terms with their values, without those that are null. */
export function facts(pairs) {
  const kept = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, kept.map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value))));
}

/** Put a text on the clipboard, also where the page did not come by HTTPS. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "aside", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
