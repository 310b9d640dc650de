// Parts of the pages about the server: their tabs, and lists.

import { get } from "./api.js";
import { offers } from "./claims.js";
import { h } from "./dom.js";
import { to } from "./router.js";
import { Table } from "./table.js";
import { isKnown } from "./who.js";

const PAGES = [["server", "Server"], ["limits", "Rate limits"], ["schemas", "Schemas"], ["tenants", "Tenants"], ["pools", "Pools"], ["webhooks", "Webhooks"]];

/** Return the links between the pages about the server. */
export function tabs(current) {
  const links = PAGES.filter(([page]) => offers(page)).map(([page, label]) => h("a", { href: to(page), "aria-current": page === current ? "page" : null }, label));
  const log = h("a", { href: to("actions"), "aria-current": current === "actions" ? "page" : null, hidden: true }, "Actions");
  isKnown().then((known) => { log.hidden = !known; });
  return h("nav", { class: "tabs", "aria-label": "About the server" }, links, log);
}

/** Add a list to a page and keep it live; return its `refresh` and its table. */
export function listing(view, { title, path, query = {}, items, on, ...table }) {
  const made = new Table({ autoInsert: true, caption: title, ...table });
  const holder = h("section", { class: "listing" }, h("h2", null, title), made.element);
  view.add(holder);
  const refresh = view.panel(made.element, (signal) => get(path, { limit: 100, ...query }, signal), (answer) => made.merge(items(answer)));
  refresh();
  view.live(refresh, on ? { on } : undefined);
  return { refresh, table: made };
}
