// A form that enqueues a job.

import { get, send } from "./api.js";
import { act, toast } from "./dialogs.js";
import { h, put } from "./dom.js";
import { go, to } from "./router.js";

const UNITS = { "": null, "in 5 minutes": "+PT5M", "in an hour": "+PT1H", "in a day": "+P1D" };

export function page(view) {
  view.head("Enqueue a job");
  const copied = view.query.get("copy") ? JSON.parse(sessionStorage.getItem("ojs-copy") ?? "{}") : {};
  const input = (name, value, more) => h("input", { name, value: value ?? "", autocomplete: "off", spellcheck: "false", ...more });
  const types = h("datalist", { id: "types" });
  const queues = h("datalist", { id: "queues" });
  get("manifest").then((manifest) => {
    types.append(...(manifest.job_types ?? []).map((name) => h("option", { value: name })));
    queues.append(...(manifest.queues ?? []).map((name) => h("option", { value: name })));
  }, () => {});
  const wrong = h("p", { class: "failure", role: "alert", hidden: true });
  const area = (name, value) => h("textarea", { name, class: "mono", spellcheck: "false", value });
  const text = (value, fallback) => JSON.stringify(value ?? fallback, null, 2);
  const made = h("form", { class: "panel enqueue", onsubmit: submit }, wrong, h("div", { class: "form" },
    h("label", null, "Type", input("type", copied.type, { required: true, list: "types", placeholder: "mail.send" })),
    h("label", null, "Queue", input("queue", copied.queue, { list: "queues", placeholder: "default" })),
    h("label", { class: "wide" }, "Arguments (JSON array)", area("args", text(copied.args, []))),
    h("label", { class: "wide" }, "Meta (JSON object)", area("meta", text(copied.meta, {}))),
    h("label", null, "Priority", input("priority", String(copied.priority ?? 0), { type: "number", min: -100, max: 100 })),
    h("label", null, "Attempts", input("attempts", "", { type: "number", min: 1, placeholder: "as the server's" })),
    h("label", null, "When", h("select", { name: "when" }, Object.keys(UNITS).map((label) => h("option", { value: label }, label || "now")))),
    h("label", null, "Tags, with commas", input("tags", (copied.tags ?? []).join(", ")))),
  h("div", { class: "actions" }, h("button", { class: "primary", needs: "enqueue" }, "Enqueue")), types, queues);
  view.add(made);

  function read(fields, name, fits) {
    try {
      const value = JSON.parse(fields[name]);
      if (fits(value)) return value;
    } catch (error) {
      throw new Error(`${name} is no JSON: ${error.message}`);
    }
    throw new Error(name === "args" ? "args must be a JSON array" : "meta must be a JSON object");
  }

  async function submit(event) {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(made));
    let body;
    try {
      body = { type: fields.type, args: read(fields, "args", Array.isArray), meta: read(fields, "meta", (value) => value !== null && typeof value === "object" && !Array.isArray(value)) };
    } catch (error) {
      put(wrong, error.message);
      wrong.hidden = false;
      return;
    }
    wrong.hidden = true;
    const options = { queue: fields.queue || undefined, priority: Number(fields.priority) || undefined, tags: fields.tags.split(",").map((tag) => tag.trim()).filter(Boolean) };
    if (fields.attempts) options.retry = { max_attempts: Number(fields.attempts) };
    if (UNITS[fields.when]) options.scheduled_at = UNITS[fields.when];
    const answer = await act(() => send("POST", "v1/jobs", { ...body, options }));
    if (!answer) return;
    toast("Job enqueued.");
    go(to("job", { id: answer.job?.id ?? answer.id }));
  }
}
