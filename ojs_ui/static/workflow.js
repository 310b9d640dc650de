// One workflow: its graph, and its steps as a list.

import { get, segment, send } from "./api.js";
import { act, button, confirm } from "./dialogs.js";
import { facts, h, panel, put } from "./dom.js";
import { ago } from "./format.js";
import { graph } from "./graph.js";
import { jobLink } from "./job-table.js";
import { badge } from "./states.js";

export function page(view) {
  const id = view.query.get("id") ?? "";
  const actions = h("span", { class: "tools" });
  view.head("Workflow", actions);
  view.add(h("p", { class: "sub" }, h("code", null, id)));
  const place = h("div", { class: "stack" });
  view.add(place);
  let shown = "";
  const refresh = view.panel(place, (signal) => get(`v1/workflows/${segment(id)}`, {}, signal), ({ workflow }) => {
    const content = JSON.stringify(workflow);
    if (content === shown) return;
    shown = content;
    put(view.heading, workflow.name ?? "Workflow", " ", badge(workflow.state));
    const retry = button("Retry what failed", async () => {
      await act(() => send("POST", `v1/workflows/${segment(id)}/retry`, {}), "The workflow goes on where it failed.");
      refresh();
    }, "primary", "enqueue");
    actions.replaceChildren(...(workflow.state === "failed" ? [retry] : []), ...(workflow.state === "running" ? [button("Cancel", async () => {
      if (!await confirm({ title: "Cancel this workflow?", text: h("p", null, "Steps that have not begun do not run. What a worker holds may finish."), verb: "Cancel the workflow" })) return;
      await act(() => send("DELETE", `v1/workflows/${segment(id)}`), "Workflow cancelled.");
      refresh();
    }, "", "enqueue")] : []));
    const old = place.querySelector(".graph");
    const [left, top] = [old?.scrollLeft ?? 0, old?.scrollTop ?? 0];
    const drawn = graph(workflow.steps);
    place.replaceChildren(
      panel(null, facts([["Kind", workflow.type], ["Steps", `${workflow.steps_completed} of ${workflow.steps_total} done`], ["Failed", workflow.steps_failed ? String(workflow.steps_failed) : null], ["Began", ago(workflow.started_at)], ["Ended", workflow.completed_at || workflow.cancelled_at ? ago(workflow.completed_at ?? workflow.cancelled_at) : null]])),
      drawn,
      h("section", { class: "panel list" }, h("div", { class: "scroll" }, h("table", null, h("caption", { class: "aside" }, "Steps"), h("thead", null, h("tr", null, ["State", "Step", "Type", "After", "Job"].map((label, at) => h("th", { scope: "col", class: at === 3 ? "p2" : null }, label)))),
        h("tbody", null, workflow.steps.map((step) => h("tr", null, h("td", null, badge(step.job_state ?? step.state)), h("td", null, step.id), h("td", { class: "mono" }, step.type), h("td", { class: "p2" }, (step.depends_on ?? []).join(", ")), h("td", null, step.job_id ? jobLink(step.job_id) : h("span", { class: "muted" }, "not yet")))))))));
    drawn.scrollTo(left, top);
  });
  refresh();
  view.live(refresh, { ms: 1000, on: () => shown === "" || JSON.parse(shown).state === "running" });
}
