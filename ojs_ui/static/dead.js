// Dead letters: jobs whose attempts are used up.

import { get, segment, send } from "./api.js";
import { act, button, confirm } from "./dialogs.js";
import { h, put } from "./dom.js";
import { ago, number } from "./format.js";
import { jobColumns } from "./job-table.js";
import { bulkFilter, bulkFor, bulkLabel } from "./bulk.js";
import { to } from "./router.js";
import { Table } from "./table.js";
import { empty } from "./view.js";

const LIMIT = 50;

export function page(view) {
  const filter = Object.fromEntries(["type", "error_type", "queue"].map((name) => [name, view.query.get(name)]).filter(([, value]) => value));
  const groups = h("div", { class: "tabs" });
  const again = () => { refresh(); totals(); };
  const all = { ...filter, state: "discarded" };
  view.head("Dead letters", bulkFor("discarded").map((name) => h("button", { type: "button", needs: "operate", onclick: () => bulkFilter(name, all, again) }, `${bulkLabel(name)} all that match`)));
  const table = new Table({
    caption: "Dead letters", key: (job) => job.id, newest: "new dead letters",
    empty: empty(Object.keys(filter).length ? "No dead letter matches." : "No dead letters.", "Jobs whose attempts are used up come here, and can be retried."),
    columns: [...jobColumns({ state: false }).filter((column) => column.label !== "Worker or error"),
      { label: "Error", cell: (job) => [h("b", { class: "mono" }, job.error?.type ?? ""), " ", h("span", { class: "muted" }, job.error?.message ?? "")], kind: "clip" },
      { label: "", cell: (job) => h("div", { class: "actions" },
        button("Retry", async () => { await act(() => send("POST", `v1/dead-letter/${segment(job.id)}/retry`, {}), "Job retried."); again(); }, "small", "operate"),
        button("Delete", async () => {
          if (!await confirm({ title: "Delete this job?", text: h("p", null, h("code", null, job.id), " cannot be had back."), verb: "Delete" })) return;
          await act(() => send("DELETE", `v1/dead-letter/${segment(job.id)}`), "Job deleted.");
          again();
        }, "small", "operate")) }],
  });
  view.table = table;
  const holder = h("div", null, table.element);
  view.add(groups, holder);
  let shown = LIMIT;
  const more = h("div", { class: "more" });
  table.element.append(more);
  const refresh = view.panel(holder, (signal) => get("v1/dead-letter", { ...filter, limit: shown }, signal), ({ jobs, pagination }) => {
    table.merge(jobs, jobs.length < shown);
    put(more, h("span", { class: "num" }, `${number(pagination?.total ?? jobs.length)} dead letters`), pagination?.has_more && shown < 1000 && h("button", { type: "button", class: "small", onclick: async () => { shown += LIMIT; await refresh(); table.reveal(); } }, "Show more"));
  });
  const totals = view.panel(groups, (signal) => get("v1/dead-letter/stats", {}, signal).catch((error) => { if (error.status === 404) return null; throw error; }), (found) => found && put(groups, kinds(found)));
  const kinds = ({ total, by_error_type: by, oldest_at: oldest }) => [
    h("a", { href: to("dead"), "aria-current": filter.error_type ? null : "page" }, "All ", h("span", { class: "num muted" }, number(total))),
    Object.entries(by).sort((a, b) => b[1] - a[1]).slice(0, 12).map(([name, value]) => h("a", { href: to("dead", { ...filter, error_type: name }), class: "mono", "aria-current": filter.error_type === name ? "page" : null }, name, " ", h("span", { class: "num muted" }, number(value)))),
    oldest && h("span", { class: "muted" }, "oldest ", ago(oldest))];
  refresh();
  totals();
  const changed = { on: (event) => event === "job.failed" || event === "metrics" || event === "tick" };
  view.live(refresh, changed);
  view.live(totals, changed);
}
