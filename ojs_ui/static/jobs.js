// Jobs: filters that are kept in the address, a list whose rows keep their place, and bulk actions.

import { get } from "./api.js";
import { bulkFilter, bulkFor, bulkIds, bulkLabel, fitsSome } from "./bulk.js";
import { act } from "./dialogs.js";
import { h, put } from "./dom.js";
import { ago, number } from "./format.js";
import { verbs } from "./jobs-actions.js";
import { jobColumns } from "./job-table.js";
import { listen } from "./live.js";
import { go, to } from "./router.js";
import { look, madeAt, moment } from "./search.js";
import { badge, STATES } from "./states.js";
import { Table } from "./table.js";
import { empty } from "./view.js";

const FILTERS = [["text", "Search", "text in arguments and meta"], ["type", "Type", "mail.send or mail.*"], ["queue", "Queue", "default"], ["tag", "Tag", "vip"]];
const MORE = [["error_type", "Error", "Timeout"], ["id_prefix", "Id begins with", "01a1f0c0"], ["worker_id", "Held by worker", "worker-1"], ["since", "Since", "90m or 2026-01-31T12:00:00Z"], ["until", "Until", "15m or 2026-01-31T13:00:00Z"], ["tenant", "Tenant", "acme"]];
const NAMES = ["state", ...[...FILTERS, ...MORE].map(([name]) => name)];
const LIMIT = 50;
const MOST_KNOWN = 500;
// Suggestions of filters: the words of the manifest, and those of the jobs that this tab has read.
const known = { type: new Set(), queue: new Set(), tag: new Set(), error_type: new Set() };

const suggestions = (name) => [...known[name]].sort().map((word) => h("option", { value: word }));

function learn(name, words) {
  const before = known[name].size;
  for (const word of words) if (word && known[name].size < MOST_KNOWN) known[name].add(word);
  if (known[name].size > before) document.getElementById(`known-${name}`)?.replaceChildren(...suggestions(name));
}

function learnFrom(jobs) {
  learn("type", jobs.map((job) => job.type));
  learn("queue", jobs.map((job) => job.queue));
  learn("tag", jobs.flatMap((job) => job.tags ?? []));
  learn("error_type", jobs.map((job) => job.error?.type));
}

export function page(view) {
  const filter = Object.fromEntries(NAMES.map((name) => [name, view.query.get(name)]).filter(([, value]) => value));
  view.head("Jobs");
  view.add(tabs(view, filter), filters(filter));
  jobList(view, filter, { emptyText: Object.keys(filter).length ? empty("No job matches.", h("a", { href: to("jobs") }, "Show all jobs")) : empty("There is no job yet.", "Enqueue one by ", h("a", { href: to("enqueue") }, "the form"), ", or by ", h("code", null, "POST /ojs/v1/jobs"), ".") });
}

function tabs(view, filter) {
  const tab = (state, label) => {
    const value = h("span", { class: "num muted" });
    return [h("a", { href: to("jobs", { ...filter, state }), "aria-current": (filter.state ?? null) === state ? "page" : null }, label, value), value, state];
  };
  const made = [tab(null, "All"), ...STATES.map((state) => tab(state, badge(state)))];
  const counted = Object.keys(filter).every((name) => name === "state");
  const draw = ({ jobs }) => { if (counted && jobs) for (const [, value, state] of made) if (state) put(value, number(jobs[state])); };
  listen((event, data) => event === "metrics" && draw(data), view.signal);
  get("v1/admin/stats", {}, view.signal).then(draw, () => {});
  return h("nav", { class: "tabs", "aria-label": "States" }, made.map(([link]) => link));
}

function filters(filter) {
  get("manifest").then((manifest) => {
    learn("type", manifest.job_types ?? []);
    learn("queue", manifest.queues ?? []);
  }, () => {});
  const inputs = (listed) => listed.map(([name, label, hint]) => h("label", { class: name === "text" ? "search" : null }, label, h("input", { name, value: filter[name] ?? "", placeholder: hint, list: known[name] && `known-${name}`, autocomplete: "off", spellcheck: "false", minlength: name === "text" ? 2 : null })));
  return h("form", {
    class: "filters", role: "search", "aria-label": "Filter jobs",
    onsubmit: (event) => {
      event.preventDefault();
      const given = Object.fromEntries(new FormData(event.target));
      go(to("jobs", { state: filter.state, ...given, since: moment(given.since), until: moment(given.until) }));
    },
  }, inputs(FILTERS), h("button", { type: "submit" }, "Filter"), Object.keys(filter).length > 0 && h("a", { href: to("jobs"), class: "button quiet" }, "Clear"),
  h("details", { open: MORE.some(([name]) => filter[name]) }, h("summary", null, "More filters"), h("div", { class: "filters" }, inputs(MORE))), Object.keys(known).map((name) => h("datalist", { id: `known-${name}` }, suggestions(name))));
}

const following = ({ pagination }) => (pagination.has_more ? pagination.next_cursor ?? null : null);

/** Add a list of the jobs that a filter matches to a page. */
export function jobList(view, filter, { emptyText, sort = null, order = null, bulks = filter.tenant ? [] : bulkFor(filter.state ?? null) }) {
  // The cursor of the next page; null at the end.
  let cursor = null;
  let pages = 1;
  // The exact number of jobs; null if it is not known.
  let total = null;
  // The search that goes on by itself; null while there is none.
  let search = null;
  const selection = h("div", { class: "bulk", hidden: true, role: "region", "aria-label": "Selected jobs" });
  const refreshSoon = () => refresh();
  const table = new Table({
    caption: "Jobs", key: (job) => job.id, picks: true, newest: "new jobs", empty: emptyText,
    columns: jobColumns({ actions: (job) => verbs(job, refreshSoon) }),
    picked: (chosen) => {
      selection.hidden = chosen.size === 0;
      put(selection, h("b", null, `${number(chosen.size)} selected`), bulks.filter((name) => fitsSome(name, [...chosen].map((id) => table.items.get(id)).filter(Boolean))).map((name) => h("button", { type: "button", class: "small", needs: "operate", onclick: () => bulkIds(name, [...chosen], after) }, bulkLabel(name))), h("span", { class: "grow" }), h("button", { type: "button", class: "quiet", onclick: () => table.pickAll(false) }, "Clear the selection"));
    },
  });
  const after = async () => {
    table.pickAll(false);
    table.chosen.clear();
    await again();
  };
  const again = async () => {
    pages = 1;
    table.show((await first(view.signal)).items);
    foot();
  };
  const more = h("div", { class: "more" });
  table.element.append(more);
  view.table = table;
  const holder = h("div", null, table.element);
  view.add(holder, selection);

  const first = async (signal) => {
    const answer = await look({ ...filter, limit: LIMIT, sort, order }, signal);
    learnFrom(answer.items);
    if (pages === 1) cursor = following(answer);
    total = answer.pagination.total_is_exact === false ? null : answer.pagination.total ?? null;
    return answer;
  };
  // Look further until so many jobs are found, the end is reached, or the reader stops it.
  const goOn = async (wanted) => {
    const own = { stopped: false };
    search = own;
    pages += 1;
    foot();
    let found = 0;
    await act(async () => {
      do {
        const answer = await look({ ...filter, limit: LIMIT, cursor, sort, order }, view.signal, 1);
        learnFrom(answer.items);
        cursor = following(answer);
        found += answer.items.length;
        table.append(answer.items);
        foot();
      } while (cursor && found < wanted && !own.stopped);
    });
    search = null;
    foot();
  };
  const foot = () => {
    const { size } = table.rows;
    const reached = cursor && total === null ? madeAt(cursor) : null;
    const onward = cursor && !search && h("button", { type: "button", class: "small", onclick: () => goOn(LIMIT) }, reached === null ? "Show more" : "Go on");
    const stop = search && h("button", { type: "button", class: "small", onclick: () => { search.stopped = true; } }, "Stop");
    const back = reached !== null && h("span", null, search ? "searching, " : "", "looked back to ", ago(new Date(reached).toISOString()));
    put(more, h("span", { class: "num" }, total === null && cursor ? `${number(size)} found` : `${number(total ?? size)} jobs`),
      back, stop, onward,
      (total ?? size) > 0 && bulks.map((name) => h("button", { type: "button", class: "quiet", needs: "operate", onclick: () => bulkFilter(name, filter, again) }, `${bulkLabel(name)} all that match…`)));
    table.whenEmpty(cursor ? empty(search ? "Nothing found yet, the search goes on." : "Nothing found so far. There are older jobs that were not looked at.") : emptyText);
  };
  // Rows behind the first page are not read again, so they are not marked as gone.
  const refresh = view.panel(holder, first, ({ items }) => {
    table.merge(items, pages === 1 && items.length < LIMIT);
    foot();
    if (pages === 1 && cursor && items.length < LIMIT) goOn(LIMIT - items.length);
  });
  refresh();
  // A search for a text reads many jobs, so it is not repeated by itself.
  if (!filter.text) view.live(refresh, { on: (event) => event.startsWith("job.") || event === "tick" });
  return { refresh };
}
