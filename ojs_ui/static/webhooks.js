// Webhooks: subscriptions and their deliveries.

import { get, segment, send } from "./api.js";
import { act, button, confirm, dialog, form } from "./dialogs.js";
import { h } from "./dom.js";
import { ago, duration } from "./format.js";
import { to } from "./router.js";
import { listing, tabs } from "./system.js";
import { viewer } from "./viewer.js";
import { empty } from "./view.js";

const AT = "v1/webhooks/subscriptions";
const STATUSES = ["pending", "delivered", "dead", "cancelled"];
const close = (done) => h("div", { class: "actions" }, h("button", { type: "button", dataset: { first: "" }, onclick: () => done(null) }, "Close"));

export function page(view) {
  const status = view.query.get("status");
  view.head("Webhooks", button("Add a webhook", () => add(() => hooks.refresh()), "", "operate"));
  view.add(tabs("webhooks"));
  const hooks = listing(view, {
    title: "Subscriptions", path: AT, items: (answer) => answer.items, key: (hook) => hook.id, rowClass: (hook) => !hook.active && "held", on: (event) => event === "tick" || event.startsWith("webhook."),
    empty: empty("Nobody is told of anything.", "A webhook sends events to an address: add one."),
    columns: [
      { label: "Address", cell: (hook) => [h("b", { class: "mono" }, hook.url), !hook.active && h("span", { class: "chip warn" }, "paused")], kind: "clip" },
      { label: "Events", cell: (hook) => h("span", { class: "mono" }, hook.events.join(", ")), kind: "clip p2" },
      { label: "Since", cell: (hook) => ago(hook.created_at), kind: "nowrap p3" },
      { label: "", cell: (hook) => h("div", { class: "actions" }, verbs(hook, async () => { await hooks.refresh(); hooks.table.reveal(); })), kind: "" },
    ],
  });
  view.add(h("nav", { class: "tabs below", "aria-label": "Deliveries" }, [null, ...STATUSES].map((each) => h("a", { href: to("webhooks", { status: each }), "aria-current": each === status ? "page" : null }, each ?? "All"))));
  const sent = listing(view, {
    title: "Deliveries", path: "v1/webhooks/deliveries", query: { status }, items: (answer) => answer.items, key: (delivery) => delivery.id, on: (event) => event === "metrics" || event === "tick",
    autoInsert: false, newest: "new deliveries", empty: empty("Nothing was sent.", "Each event that a subscription wants is a delivery."),
    columns: [
      { label: "Status", cell: (delivery) => h("span", { class: delivery.status === "delivered" ? "chip" : "chip warn" }, delivery.status), kind: "nowrap" },
      { label: "Event", cell: (delivery) => h("span", { class: "mono" }, delivery.event_type), kind: "nowrap" },
      { label: "Answer", cell: (delivery) => delivery.status_code ? `${delivery.status_code} in ${duration(delivery.response_time_ms)}` : delivery.error ?? "", kind: "clip p2" },
      { label: "Tries", cell: (delivery) => String(delivery.attempts), kind: "r p2" },
      { label: "Next", cell: (delivery) => ago(delivery.next_attempt_at), kind: "nowrap p3" },
      { label: "Made", cell: (delivery) => ago(delivery.created_at), kind: "nowrap r" },
      { label: "", cell: (delivery) => h("div", { class: "actions" }, button("Show", () => show(delivery)), delivery.status !== "pending" && button("Send again", async () => {
        await act(() => send("POST", `v1/webhooks/deliveries/${segment(delivery.id)}/retry`, {}), "It is sent again.");
        sent.refresh();
      }, "small", "operate")), kind: "" },
    ],
  });
}

function verbs(hook, changed) {
  const at = `${AT}/${segment(hook.id)}`;
  return [
    button("Test", async () => {
      const found = await act(() => send("POST", `${at}/test`, {}));
      if (found) await dialog("Test", (done) => h("div", null, viewer(found, "Answer"), close(done)));
    }, "small", "operate"),
    button(hook.active ? "Pause" : "Resume", async () => { await act(() => send("PATCH", at, { active: !hook.active }), hook.active ? "Nothing is sent there until it is resumed." : "Events are sent there again."); changed(); }, "small", "operate"),
    button("Delete", async () => {
      if (!await confirm({ title: "Delete this webhook?", text: h("p", null, h("code", null, hook.url), " is told of nothing any more."), verb: "Delete" })) return;
      await act(() => send("DELETE", at), "Webhook deleted.");
      changed();
    }, "small", "operate"),
  ];
}

async function show(delivery) {
  const found = await act(() => get(`v1/webhooks/deliveries/${segment(delivery.id)}`));
  if (found) await dialog(delivery.event_type, (done) => h("div", null, viewer(found.delivery ?? found, "Delivery"), close(done)));
}

async function add(changed) {
  const given = await form({
    title: "Add a webhook", verb: "Add",
    fields: [
      { label: "Address", input: h("input", { name: "url", type: "url", required: true }), hint: "begins with https", wide: true },
      { label: "Events", input: h("input", { name: "events", required: true, value: "job.failed, job.discarded", spellcheck: "false" }), hint: "* stands for all", wide: true },
    ],
  });
  if (!given) return;
  const made = await act(() => send("POST", AT, { url: given.url, events: given.events.split(",").map((name) => name.trim()).filter(Boolean) }), "Webhook added.");
  if (!made) return;
  changed();
  if (made.secret) await dialog("The secret of its signatures", (done) => h("div", null, h("p", null, "It is shown this once."), h("p", null, h("code", null, made.secret)), close(done)));
}
