// Tenants: their limits, and their jobs.

import { segment, send } from "./api.js";
import { act, button, form } from "./dialogs.js";
import { h } from "./dom.js";
import { number } from "./format.js";
import { to } from "./router.js";
import { listing, tabs } from "./system.js";
import { empty } from "./view.js";

const LIMITS = [["max_concurrency", "Jobs at once"], ["max_queue_depth", "Jobs that wait"], ["max_scheduled", "Scheduled jobs"], ["fairness_weight", "Weight"]];

export function page(view) {
  view.head("Tenants");
  view.add(tabs("tenants"));
  const { refresh } = listing(view, {
    title: "Who shares this server", path: "v1/admin/tenants", items: (answer) => answer.items, key: (tenant) => tenant.tenant_id, on: (event) => event === "tick",
    empty: empty("There are no tenants.", "A job whose meta has ", h("code", null, "tenant_id"), " is of that tenant."),
    columns: [
      { label: "Tenant", cell: (tenant) => h("a", { href: to("jobs", { tenant: tenant.tenant_id }) }, h("b", null, tenant.tenant_id)), kind: "" },
      ...LIMITS.map(([name, label], at) => ({ label, cell: (tenant) => tenant.limits[name] === null ? "any" : number(tenant.limits[name]), kind: at ? "r p2" : "r" })),
      { label: "", cell: (tenant) => h("div", { class: "actions" }, button("Limits", () => limit(tenant, () => refresh()), "small", "administer")), kind: "" },
    ],
  });
}

async function limit(tenant, changed) {
  const given = await form({
    title: `Limits of ${tenant.tenant_id}`, verb: "Save", text: h("p", { class: "muted" }, "What is empty is not limited."),
    fields: LIMITS.map(([name, label]) => ({ label, input: h("input", { name, type: "number", min: 1, value: String(tenant.limits[name] ?? "") }) })),
  });
  if (!given) return;
  const limits = { ...tenant.limits, ...Object.fromEntries(LIMITS.map(([name]) => [name, given[name] === "" ? null : Number(given[name])])) };
  await act(() => send("PUT", `v1/admin/tenants/${segment(tenant.tenant_id)}/limits`, Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null))), "Limits saved.");
  changed();
}
