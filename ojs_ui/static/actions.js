// The action log, page by page.

import { get } from "./api.js";
import { act } from "./dialogs.js";
import { h, put } from "./dom.js";
import { ago } from "./format.js";
import { go, to } from "./router.js";
import { tabs } from "./system.js";
import { Table } from "./table.js";
import { empty } from "./view.js";

const FILTERS = [["name", "Who", "admin-3f2a9c1b"], ["target", "On what", "mail"]];
const VIA = { session: "dashboard", key: "key", none: "no key" };

export function page(view) {
  view.head("Actions");
  view.add(tabs("actions"));
  const filter = Object.fromEntries(FILTERS.map(([name]) => [name, view.query.get(name)]).filter(([, value]) => value));
  view.add(h("form", { class: "filters", role: "search", "aria-label": "Filter actions", onsubmit: (event) => { event.preventDefault(); go(to("actions", Object.fromEntries(new FormData(event.target)))); } },
    FILTERS.map(([name, label, placeholder]) => h("label", null, label, h("input", { name, value: filter[name] ?? "", placeholder, spellcheck: "false" }))),
    h("button", { type: "submit" }, "Filter")));
  const table = new Table({
    caption: "What people did, newest first", key: (action) => action.id, newest: "new actions",
    empty: empty(Object.keys(filter).length ? "No action matches." : "Nobody has changed anything yet.", "Changes by people are listed here; jobs that programs enqueue are not."),
    columns: [
      { label: "When", cell: (action) => ago(action.time) },
      { label: "Who", cell: (action) => h("a", { href: to("actions", { name: action.who.name }) }, action.who.name) },
      { label: "Did", cell: (action) => h("code", null, action.call), kind: "clip" },
      { label: "On", cell: (action) => action.target, kind: "clip" },
      { label: "Outcome", cell: (action) => action.outcome },
      { label: "From", cell: (action) => `${action.who.address} (${VIA[action.who.via]})`, kind: "p2" },
    ],
  });
  view.table = table;
  const more = h("div", { class: "more" });
  table.element.append(more);
  const holder = h("div", null, table.element);
  view.add(holder);
  let whole = true;

  function onward({ pagination }) {
    put(more, pagination.has_more && h("button", { type: "button", class: "small", onclick: async () => {
      const next = await act(() => get("v1/admin/actions", { ...filter, cursor: pagination.next_cursor }, view.signal));
      if (!next) return;
      whole = false;
      table.append(next.actions);
      onward(next);
    } }, "Show more"));
  }
  let first = true;
  const refresh = view.panel(holder, (signal) => get("v1/admin/actions", filter, signal), (found) => {
    if (first) {
      table.show(found.actions);
      onward(found);
    } else table.merge(found.actions, whole && !found.pagination.has_more);
    first = false;
  });
  refresh();
  view.live(refresh);
}
