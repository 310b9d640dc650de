// What the pages about the server have in common: their tabs, and lists that are read whole.

import { get } from "./api.js";
import { h } from "./dom.js";
import { to } from "./router.js";
import { Table } from "./table.js";
import { isKnown } from "./who.js";

// Each with the capability that a server must claim for it.
const PAGES = [
  ["server", "Server", null], ["limits", "Rate limits", "rate_limiting"], ["schemas", "Schemas", "schema_validation"], ["tenants", "Tenants", "multi_tenancy"],
  ["pools", "Pools", "fair_scheduling"], ["webhooks", "Webhooks", "webhooks"],
];

/** Return the links between the pages about the server. */
export function tabs(current) {
  const links = PAGES.map(([page, label]) => h("a", { href: to(page), "aria-current": page === current ? "page" : null }, label));
  get("manifest").then(({ capabilities }) => PAGES.forEach(([, , needs], at) => { links[at].hidden = needs !== null && capabilities !== undefined && !capabilities[needs]; }), () => {});
  const log = h("a", { href: to("actions"), "aria-current": current === "actions" ? "page" : null, hidden: true }, "Actions");
  isKnown().then((known) => { log.hidden = !known; });
  return h("nav", { class: "tabs", "aria-label": "About the server" }, links, log);
}

/** Add a list to a page and keep it live; returns what reads it again. */
export function listing(view, { title, path, query = {}, items, on, ...table }) {
  const made = new Table({ autoInsert: true, caption: title, ...table });
  const holder = h("section", { class: "listing" }, h("h2", null, title), made.element);
  view.add(holder);
  const refresh = view.panel(made.element, (signal) => get(path, { limit: 100, ...query }, signal), (answer) => made.merge(items(answer)));
  refresh();
  view.live(refresh, on ? { on } : undefined);
  return { refresh, table: made };
}
