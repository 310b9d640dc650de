// Cron entries: their next and last runs, and their actions.

import { get, segment, send } from "./api.js";
import { act, button, confirm, dialog, form } from "./dialogs.js";
import { h } from "./dom.js";
import { ago, number } from "./format.js";
import { jobLink } from "./job-table.js";
import { Table } from "./table.js";
import { empty } from "./view.js";

export function page(view) {
  view.head("Cron", button("Add an entry", () => add(() => refresh()), "", "enqueue"));
  const table = new Table({
    caption: "Cron entries", key: (entry) => entry.name, autoInsert: true, rowClass: (entry) => !entry.enabled && "held",
    empty: empty("Nothing runs on a schedule.", "An entry enqueues a job again and again: add one."),
    columns: [
      { label: "Name", cell: (entry) => [h("b", null, entry.name), !entry.enabled && h("span", { class: "chip warn" }, "paused")], kind: "" },
      { label: "Schedule", cell: (entry) => h("span", { class: "mono", title: entry.timezone }, entry.expression), kind: "nowrap p2" },
      { label: "Zone", cell: (entry) => entry.timezone, kind: "p3" },
      { label: "Job", cell: (entry) => h("span", { class: "mono" }, entry.job_template?.type ?? entry.type), kind: "p2" },
      { label: "Next", cell: (entry) => entry.enabled ? ago(entry.next_run_at) : "–", kind: "nowrap" },
      { label: "Last", cell: (entry) => entry.last_job_id ? h("a", { href: `job?id=${segment(entry.last_job_id)}` }, ago(entry.last_run_at)) : ago(entry.last_run_at), kind: "nowrap p2" },
      { label: "Runs", cell: (entry) => number(entry.run_count), kind: "r p3" },
      { label: "", cell: (entry) => h("div", { class: "actions" }, entryVerbs(entry, () => refresh())), kind: "" },
    ],
  });
  view.table = table;
  const holder = h("div", null, table.element);
  view.add(holder);
  const refresh = view.panel(holder, (signal) => get("v1/cron", {}, signal), ({ items, crons, cron_jobs: jobs }) => table.merge((items ?? crons ?? jobs).toSorted((a, b) => (a.next_run_at ?? "9").localeCompare(b.next_run_at ?? "9"))));
  refresh();
  view.live(refresh);
}

function entryVerbs(entry, changed) {
  const at = `v1/cron/${segment(entry.name)}`;
  const pause = entry.enabled ? "pause" : "resume";
  return [
    button("Run now", async () => { await act(() => send("POST", `${at}/trigger`, {}), `${entry.name} was run.`); changed(); }, "small", "enqueue"),
    button(entry.enabled ? "Pause" : "Resume", async () => { await act(() => send("POST", `${at}/${pause}`, {}), `${entry.name} ${pause}d.`); changed(); }, "small", "enqueue"),
    button("History", () => showHistory(entry)),
    button("Delete", async () => {
      if (!await confirm({ title: `Delete ${entry.name}?`, text: h("p", null, "Jobs that it made stay."), verb: "Delete" })) return;
      await act(() => send("DELETE", at), `${entry.name} deleted.`);
      changed();
    }, "small", "enqueue"),
  ];
}

async function showHistory(entry) {
  const found = await act(() => get(`v1/cron/${segment(entry.name)}/history`, { limit: 20 }));
  if (!found) return;
  const runs = found.history;
  await dialog(`Runs of ${entry.name}`, (close) => h("div", null,
    runs.length ? h("table", null, h("thead", null, h("tr", null, ["When", "Outcome", "Job"].map((label) => h("th", { scope: "col" }, label)))), h("tbody", null, runs.map((run) => h("tr", null, h("td", null, ago(run.fired_at ?? run.scheduled_at ?? run.time)), h("td", null, run.outcome ?? run.status ?? "", run.reason && ` (${run.reason})`), h("td", null, run.job_id ? jobLink(run.job_id) : ""))))) : h("p", null, "It has not run yet."),
    h("div", { class: "actions" }, h("button", { type: "button", dataset: { first: "" }, onclick: () => close(null) }, "Close"))));
}

async function add(changed) {
  const input = (name, value = "", more = {}) => h("input", { name, value, spellcheck: "false", ...more });
  const given = await form({
    title: "Add a cron entry", verb: "Add",
    fields: [
      { label: "Name", input: input("name", "", { required: true }) }, { label: "Job type", input: input("type", "", { required: true }) },
      { label: "Schedule", input: input("cron", "0 3 * * *", { required: true }), hint: "minute hour day month weekday" }, { label: "Time zone", input: input("timezone", Intl.DateTimeFormat().resolvedOptions().timeZone) },
      { label: "Arguments (JSON array)", input: input("args", "[]"), wide: true },
    ],
  });
  if (!given) return;
  const made = await act(() => send("POST", "v1/cron", { name: given.name, cron: given.cron, timezone: given.timezone || undefined, job_template: { type: given.type, args: JSON.parse(given.args) } }), `${given.name} added.`);
  if (made) changed();
}
