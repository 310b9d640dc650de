// Rate limits: their keys, their use, and their overrides.

import { segment, send } from "./api.js";
import { act, button, form } from "./dialogs.js";
import { h } from "./dom.js";
import { ago, count } from "./format.js";
import { listing, tabs } from "./system.js";
import { empty } from "./view.js";

const of = (limit) => limit && (limit.period ? `${limit.current_count ?? 0} of ${limit.limit} per ${limit.period}` : `${limit.active ?? 0} of ${limit.limit ?? "any number"}`);

export function page(view) {
  view.head("Rate limits");
  view.add(tabs("limits"));
  const { refresh } = listing(view, {
    title: "Keys", path: "v1/rate-limits", items: (answer) => answer.items, key: (limit) => limit.key, rowClass: (limit) => !limit.open && "held",
    empty: empty("No job has a rate limit.", "A job whose options have ", h("code", null, "rate_limit"), " shares it with all of its key."),
    columns: [
      { label: "Key", cell: (limit) => [h("b", { class: "mono" }, limit.key), limit.override && h("span", { class: "chip warn" }, "overridden")], kind: "" },
      { label: "At once", cell: (limit) => of(limit.concurrency), kind: "nowrap" },
      { label: "Rate", cell: (limit) => of(limit.rate) ?? "–", kind: "nowrap p2" },
      { label: "Throttle", cell: (limit) => of(limit.throttle) ?? "–", kind: "nowrap p3" },
      { label: "Wait", cell: (limit) => count(limit.waiting_count), kind: "r" },
      { label: "Opens", cell: (limit) => limit.open ? "open" : ago(limit.held_until), kind: "nowrap p2" },
      { label: "", cell: (limit) => h("div", { class: "actions" }, button("Override", () => override(limit, () => refresh()), "small", "operate"), limit.override && button("Restore", async () => {
        await act(() => send("DELETE", `v1/rate-limits/${segment(limit.key)}`), `The limits of ${limit.key} count again.`);
        refresh();
      }, "small", "operate")), kind: "" },
    ],
  });
}

async function override(limit, changed) {
  const given = await form({
    title: `Override ${limit.key}`, verb: "Override", text: h("p", { class: "muted" }, "It outranks what the jobs say."),
    fields: [
      { label: "Jobs at once", input: h("input", { name: "concurrency", type: "number", min: 1, required: true, value: String(limit.concurrency?.limit ?? 1) }) },
      { label: "For", input: h("select", { name: "time" }, [["", "until restored"], ["+PT15M", "15 minutes"], ["+PT1H", "1 hour"], ["+P1D", "1 day"]].map(([value, label]) => h("option", { value }, label))) },
    ],
  });
  if (!given) return;
  await act(() => send("PUT", `v1/rate-limits/${segment(limit.key)}`, { concurrency: Number(given.concurrency), expires_at: given.time || undefined }), `${limit.key} is overridden.`);
  changed();
}
