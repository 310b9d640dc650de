// A list whose rows keep their place: rows are updated in place, removed ones are dimmed, and new
// ones wait until the reader shows them.

import { h, put } from "./dom.js";

// Number of new rows that wait at most; the newest are kept.
const MOST_WAITING = 200;

/** A table of items. `columns` are objects of `label`, `cell(item)` and `kind` (classes). */
export class Table {
  constructor({ columns, key, caption, empty, picks = false, autoInsert = false, rowClass = () => null, picked = () => {}, newest = "new" }) {
    Object.assign(this, { columns, key, empty, picks, autoInsert, rowClass, newest });
    this.onPick = picked;
    this.items = new Map();
    this.rows = new Map();
    this.waiting = new Map();
    this.chosen = new Set();
    this.lastPick = null;
    this.body = h("tbody");
    this.all = h("input", { type: "checkbox", "aria-label": "Select all rows shown", onchange: () => this.pickAll(this.all.checked) });
    this.news = h("div", { class: "news", hidden: true });
    this.table = h("table", null, h("caption", { class: "aside" }, caption),
      h("thead", null, h("tr", null, picks && h("th", { class: "pick", scope: "col" }, this.all),
        columns.map((column) => h("th", { scope: "col", class: column.kind }, column.label || h("span", { class: "aside" }, "Actions"))))),
      this.body);
    this.scroller = h("div", { class: "scroll" }, this.table);
    this.blank = h("div", { class: "empty", hidden: true }, empty);
    this.element = h("div", { class: "panel list" }, this.news, this.scroller, this.blank);
  }

  /** Set what is shown in place of rows. */
  whenEmpty(content) {
    put(this.blank, content);
  }

  /** Show these items and no others, in this order. */
  show(items) {
    this.items = new Map(items.map((item) => [this.key(item), item]));
    this.waiting.clear();
    const before = this.rows;
    this.rows = new Map();
    for (const [id, item] of this.items) this.rows.set(id, this.drawn(before.get(id), item));
    this.body.replaceChildren(...this.rows.values());
    this.settle();
  }

  /** Show items behind the others. */
  append(items) {
    for (const item of items) {
      const id = this.key(item);
      this.items.set(id, item);
      const row = this.drawn(this.rows.get(id), item);
      if (!this.rows.has(id)) this.body.append(row);
      this.rows.set(id, row);
    }
    this.settle();
  }

  /** Update the rows from a newer list without moving any. */
  merge(items, whole = true) {
    const seen = new Set();
    const fresh = [];
    for (const item of items) {
      const id = this.key(item);
      seen.add(id);
      if (this.rows.has(id)) {
        this.items.set(id, item);
        this.drawn(this.rows.get(id), item);
      } else fresh.push(item);
    }
    if (whole) for (const [id, row] of this.rows) row.classList.toggle("gone", !seen.has(id));
    if (this.autoInsert || this.rows.size === 0) {
      if (fresh.length) this.append(fresh);
    } else if (fresh.length) {
      // New rows of this list are newer than those of the lists before.
      const waiting = new Map([...fresh.map((item) => [this.key(item), item]), ...this.waiting]);
      for (const item of fresh) waiting.set(this.key(item), item);
      this.waiting = new Map([...waiting].slice(0, MOST_WAITING));
    }
    this.settle();
  }

  /** Put the waiting rows at the top, and drop the removed ones. */
  reveal() {
    const kept = [...this.items].filter(([id]) => !this.rows.get(id).classList.contains("gone") || this.chosen.has(id));
    this.show([...this.waiting.values(), ...kept.map(([, item]) => item)]);
  }

  drawn(row, item) {
    const id = this.key(item);
    const content = JSON.stringify(item);
    if (row && row.content === content) return row;
    // A focused button is not replaced now, but with the next list.
    if (row?.contains(document.activeElement) && document.activeElement.matches("button:not(:disabled)")) return row;
    const made = row ?? h("tr", { dataset: { key: id } });
    made.content = content;
    const focused = row?.contains(document.activeElement) ? [...row.querySelectorAll("a, input, button")].indexOf(document.activeElement) : -1;
    const cells = this.columns.map((column) => h("td", { class: column.kind }, column.cell(item)));
    if (this.picks) {
      const box = h("input", { type: "checkbox", "aria-label": `Select ${id}`, checked: this.chosen.has(id), onclick: (event) => this.pick(id, event.target.checked, event.shiftKey) });
      cells.unshift(h("td", { class: "pick" }, box));
    }
    made.replaceChildren(...cells);
    made.className = [this.rowClass(item), this.chosen.has(id) && "picked"].filter(Boolean).join(" ");
    if (focused >= 0) made.querySelectorAll("a, input, button")[focused]?.focus();
    return made;
  }

  /** Select or deselect a row; with `range` all rows between it and the last one. */
  pick(id, on, range = false) {
    const ids = [...this.rows.keys()];
    const [from, to] = range && this.lastPick !== null ? [ids.indexOf(this.lastPick), ids.indexOf(id)].sort((a, b) => a - b) : [ids.indexOf(id), ids.indexOf(id)];
    for (const each of ids.slice(Math.max(from, 0), to + 1)) this.mark(each, on);
    this.lastPick = id;
    this.settle();
  }

  pickAll(on) {
    for (const id of this.rows.keys()) this.mark(id, on);
    this.settle();
  }

  mark(id, on) {
    if (on) this.chosen.add(id);
    else this.chosen.delete(id);
    const row = this.rows.get(id);
    if (!row) return;
    row.classList.toggle("picked", on);
    const box = row.querySelector("td.pick input");
    if (box) box.checked = on;
  }

  settle() {
    const number = this.waiting.size;
    this.news.hidden = number === 0;
    if (number) this.news.replaceChildren(h("button", { type: "button", class: "small", dataset: { reveal: "" }, onclick: () => this.reveal() }, `${number > 99 ? "99+" : number} ${this.newest}`, h("kbd", null, ".")));
    this.blank.hidden = this.rows.size > 0;
    this.scroller.hidden = this.rows.size === 0;
    this.all.checked = this.rows.size > 0 && [...this.rows.keys()].every((id) => this.chosen.has(id));
    this.all.indeterminate = !this.all.checked && this.chosen.size > 0;
    this.onPick(this.chosen);
  }

  /** Move the focus by rows. */
  move(by) {
    const rows = [...this.body.rows];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    (next?.querySelector("a") ?? next?.querySelector("input"))?.focus();
  }

  /** Select or deselect the row that has the focus. */
  pickFocused(range) {
    const id = document.activeElement?.closest("tr")?.dataset.key;
    if (id !== undefined && this.rows.has(id) && this.picks) this.pick(id, !this.chosen.has(id), range);
  }
}
