// The server: its health, capabilities, settings, and maintenance.

import { get, send } from "./api.js";
import { claims } from "./claims.js";
import { act, button, form } from "./dialogs.js";
import { facts, h, panel, put } from "./dom.js";
import { ago, duration, number } from "./format.js";
import { badge } from "./states.js";
import { tabs } from "./system.js";

export function page(view) {
  const actions = h("span", { class: "tools" });
  view.head("Server", actions);
  view.add(tabs("server"));
  const health = h("div");
  const nodes = h("div");
  const can = h("div");
  const settings = h("div");
  const administered = claims("admin_api");
  view.add(h("div", { class: "stack" }, panel("Health", health), nodes, h("div", { class: "grid" }, h("section", { class: "panel half" }, h("h2", null, "What it can do"), can), administered && h("section", { class: "panel half" }, h("h2", null, "Settings"), settings))));
  const refresh = view.panel(health, (signal) => get("v1/health/detail", {}, signal).catch((error) => { if (error.status === 404) return get("v1/health", {}, signal); throw error; }), (found) => put(health, facts([
    ["Status", h("b", null, found.status)], ["Version", found.server?.version ?? found.version], ["Runs for", found.uptime_seconds === undefined ? null : duration(found.uptime_seconds * 1000)],
    ["Store", found.backend?.type], ["Store answers in", found.backend?.latency_ms === undefined ? null : duration(found.backend.latency_ms)], ["Waiting writes", found.store && number(found.store.waiting_writes)],
    ["Waiting fetches", found.server && number(found.server.waiting_fetches)], ["Open streams", found.server && number(found.server.event_streams)],
  ])));
  refresh();
  view.live(refresh, { ms: 10000 });
  view.panel(can, (signal) => get("manifest", {}, signal), (manifest) => put(can,
    h("p", null, h("b", null, manifest.name ?? manifest.implementation?.name), " ", manifest.version ?? "", `, conformance level ${manifest.conformance_level ?? "unknown"}`),
    h("p", { class: "chips" }, Object.entries(manifest.capabilities ?? {}).filter(([, value]) => value).map(([name]) => [h("span", { class: "chip" }, name.replaceAll("_", " ")), " "]))))();
  if (!administered) return;
  const servers = view.panel(nodes, (signal) => get("v1/admin/nodes", { per_page: 100 }, signal), (found) => put(nodes, panel("Servers of this database", h("div", { class: "scroll" }, list(found.items)))));
  servers();
  view.live(servers, { ms: 10000 });
  view.panel(settings, (signal) => get("v1/admin/system/config", {}, signal), ({ config }) => put(settings, h("div", { class: "scroll" }, h("table", null, h("tbody", null, Object.entries(config).map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name), h("td", { class: "mono" }, Array.isArray(value) ? value.join(", ") || "–" : String(value ?? "–")))))))))();
  const state = view.panel(actions, (signal) => get("v1/admin/system/maintenance", {}, signal), (found) => actions.replaceChildren(button(found.enabled ? "End maintenance" : "Begin maintenance", async () => {
    if (found.enabled) await act(() => send("POST", "v1/admin/system/maintenance", { enabled: false }), "Maintenance has ended.");
    else {
      const given = await form({ title: "Begin maintenance", verb: "Begin", text: h("p", null, "Workers get no more jobs until it ends."), fields: [{ label: "Reason", input: h("input", { name: "reason", required: true }), wide: true }] });
      if (given) await act(() => send("POST", "v1/admin/system/maintenance", { enabled: true, reason: given.reason }), "Maintenance has begun.");
    }
    state();
  }, "", "administer")));
  state();
}

function list(nodes) {
  const heads = ["Server", "State", "Version", "Started", "Heard", "Waiting fetches", "Open streams"];
  return h("table", null, h("caption", { class: "aside" }, "Servers of this database"),
    h("thead", null, h("tr", null, heads.map((head, place) => h("th", { scope: "col", class: place > 4 ? "p2 r" : place > 1 ? "p3" : null }, head)))),
    h("tbody", null, nodes.map((node) => h("tr", null,
      h("th", { scope: "row" }, `${node.host} (${node.pid})`, node.is_this && [" ", h("span", { class: "chip" }, "answers here")]), h("td", { class: "nowrap" }, badge(node.state)),
      h("td", { class: "p3" }, node.version), h("td", { class: "p3 nowrap" }, ago(node.started_at)), h("td", { class: "p3 nowrap" }, ago(node.last_seen_at)),
      h("td", { class: "p2 r num" }, number(node.waiting_fetches)), h("td", { class: "p2 r num" }, number(node.event_streams))))));
}
