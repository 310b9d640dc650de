// Schemas of the arguments of job types, with their versions.

import { get, segment, send } from "./api.js";
import { act, button, confirm, dialog } from "./dialogs.js";
import { h } from "./dom.js";
import { ago } from "./format.js";
import { to } from "./router.js";
import { listing, tabs } from "./system.js";
import { viewer } from "./viewer.js";
import { empty } from "./view.js";

export function page(view) {
  view.head("Schemas");
  view.add(tabs("schemas"));
  const at = (schema) => `v1/schemas/${segment(schema.type)}/${segment(schema.version)}`;
  const { refresh, table } = listing(view, {
    title: "Versions", path: "v1/schemas", items: (answer) => answer.items, key: (schema) => schema.uri, on: (event) => event === "tick",
    empty: empty("No type has a schema.", "Register one by ", h("code", null, "POST /ojs/v1/schemas"), ": jobs that do not fit are refused."),
    columns: [
      { label: "Type", cell: (schema) => h("a", { href: to("jobs", { type: schema.type }) }, h("b", null, schema.type)), kind: "" },
      { label: "Version", cell: (schema) => h("span", { class: "num" }, schema.version), kind: "nowrap" },
      { label: "URI", cell: (schema) => h("span", { class: "mono" }, schema.uri), kind: "clip p2" },
      { label: "Made", cell: (schema) => ago(schema.created_at), kind: "nowrap p2" },
      { label: "", cell: (schema) => h("div", { class: "actions" }, button("Show", async () => {
        const found = await act(() => get(at(schema)));
        if (found) await dialog(`${schema.type} ${schema.version}`, (close) => h("div", null, viewer(found.schema?.schema ?? found.schema, "Schema"), h("div", { class: "actions" }, h("button", { type: "button", dataset: { first: "" }, onclick: () => close(null) }, "Close"))));
      }), button("Delete", async () => {
        if (!await confirm({ title: `Delete version ${schema.version} of ${schema.type}?`, text: h("p", null, "Jobs are held to it no longer."), verb: "Delete" })) return;
        await act(() => send("DELETE", at(schema)), "Schema deleted.");
        await refresh();
        table.reveal();
      }, "small", "operate")), kind: "" },
    ],
  });
}
