// Workflows, newest first.

import { get } from "./api.js";
import { h } from "./dom.js";
import { ago, shortId } from "./format.js";
import { to } from "./router.js";
import { badge } from "./states.js";
import { Table } from "./table.js";
import { empty } from "./view.js";

const STATES = ["running", "completed", "failed", "cancelled"];

export function page(view) {
  const state = STATES.includes(view.query.get("state")) ? view.query.get("state") : null;
  view.head("Workflows");
  view.add(h("nav", { class: "tabs", "aria-label": "States" }, [null, ...STATES].map((each) => h("a", { href: to("workflows", { state: each }), "aria-current": each === state ? "page" : null }, each === null ? "All" : badge(each)))));
  const table = new Table({
    caption: "Workflows", key: (flow) => flow.id, newest: "new workflows",
    empty: empty(state ? `No workflow is ${state}.` : "There is no workflow yet.", "Chains, groups and graphs of jobs are shown here."),
    columns: [
      { label: "State", cell: (flow) => badge(flow.state), kind: "nowrap" },
      { label: "Workflow", cell: (flow) => h("a", { href: to("workflow", { id: flow.id }) }, h("b", null, flow.name ?? shortId(flow.id))), kind: "" },
      { label: "Kind", cell: (flow) => flow.type, kind: "p2" },
      { label: "Steps", cell: steps, kind: "nowrap" },
      { label: "Began", cell: (flow) => ago(flow.started_at ?? flow.created_at), kind: "nowrap r" },
      { label: "Ended", cell: (flow) => ago(flow.completed_at ?? flow.cancelled_at), kind: "nowrap r p2" },
    ],
  });
  view.table = table;
  const holder = h("div", null, table.element);
  view.add(holder);
  const refresh = view.panel(holder, (signal) => get("v1/workflows", { state, limit: 100 }, signal), ({ items, workflows }) => table.merge(items ?? workflows, (items ?? workflows).length < 100));
  refresh();
  view.live(refresh);
}

function steps(flow) {
  const total = flow.steps_total || 1;
  const part = (state, value) => {
    const made = h("i", { class: `s-${state}` });
    made.style.flexGrow = String(value / total);
    return value > 0 && made;
  };
  const rest = h("i");
  rest.style.flexGrow = String(Math.max(0, total - flow.steps_completed - flow.steps_failed) / total);
  return h("div", null, h("div", { class: "bars", role: "img", "aria-label": `${flow.steps_completed} of ${flow.steps_total} steps done, ${flow.steps_failed} failed` }, part("completed", flow.steps_completed), part("discarded", flow.steps_failed), rest), h("span", { class: "num muted" }, `${flow.steps_completed}/${flow.steps_total}`));
}
