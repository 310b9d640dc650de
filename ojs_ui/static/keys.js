// The keyboard. Single letters do nothing in fields and dialogs, nor with Ctrl, Alt or Meta.

import { dialog } from "./dialogs.js";
import { h } from "./dom.js";

const GO = { o: ["", "Overview"], j: ["jobs", "Jobs"], q: ["queues", "Queues"], s: ["scheduled", "Scheduled"], d: ["dead", "Dead letters"], w: ["workers", "Workers"], c: ["cron", "Cron"], f: ["workflows", "Workflows"], e: ["events", "Events"], n: ["enqueue", "Enqueue"] };
const ABOUT = [["/", "Search or filter"], ["j k", "Next row, row before"], ["x", "Select the row; with Shift all rows between"], ["Enter", "Open the row"], [".", "Show new rows"], ["Z", "Pause or resume live updates"], ["?", "Show these keys"], ...Object.entries(GO).map(([key, [, label]]) => [`g ${key}`, `Go to ${label}`])];
const GO_MS = 1500;

/** Show the list of keys. */
export function showKeys() {
  dialog("Keys", (close) => h("div", null,
    h("table", null, h("tbody", null, ABOUT.map(([keys, text]) => h("tr", null, h("td", null, keys.split(" ").map((key) => [h("kbd", null, key), " "])), h("td", null, text))))),
    h("div", { class: "actions" }, h("button", { type: "button", dataset: { first: "" }, onclick: () => close(null) }, "Close"))));
}

/** Handle the keys: `go(page)`, `pause()`, and `table()`, which returns the list of the page. */
export function keyboard({ go, pause, table }) {
  let going = 0;
  const keys = {
    j: () => table()?.move(1),
    k: () => table()?.move(-1),
    x: () => table()?.pickFocused(false),
    X: () => table()?.pickFocused(true),
    ".": () => table()?.reveal(),
    Z: pause,
    "?": showKeys,
    "/": () => (document.querySelector("main input[type=search], main .filters input") ?? document.getElementById("jump-input")).focus(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target.matches("input, textarea")) event.target.blur();
    if (event.target.matches("input:not([type=checkbox]), textarea, select") || document.querySelector("dialog[open]")) return;
    if (Date.now() - going < GO_MS && Object.hasOwn(GO, event.key)) {
      going = 0;
      event.preventDefault();
      go(GO[event.key][0]);
    } else if (event.key === "g") going = Date.now();
    else if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });
}
