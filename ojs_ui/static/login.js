// Signing in with a key: the server keeps a session for it, in a cookie that no script can read.

import { get, send, useKey } from "./api.js";
import { h, put } from "./dom.js";

export function page(view) {
  view.head("Sign in");
  const wrong = h("p", { class: "failure", role: "alert", hidden: true });
  const input = h("input", { name: "key", type: "password", autocomplete: "current-password", required: true, maxlength: 1000 });
  const verb = h("button", { class: "primary" }, "Sign in");
  view.add(h("form", { class: "panel enqueue", onsubmit: submit }, wrong,
    h("label", null, "Key", input, h("span", { class: "hint" }, "Whoever runs the server has one for you. With the role viewer you can look, and change nothing.")),
    h("div", { class: "actions" }, verb)));
  input.focus();

  async function submit(event) {
    event.preventDefault();
    verb.disabled = true;
    wrong.hidden = true;
    try {
      await begin(input.value.trim());
      dispatchEvent(new CustomEvent("ojs-signed-in", { detail: view.query.get("next") }));
    } catch (error) {
      useKey(null);
      put(wrong, error.message, error.hint && ` — ${error.hint}`);
      wrong.hidden = false;
      input.select();
      verb.disabled = false;
    }
  }
}

/** Begin a session. If the server has no sessions, or its cookie does not come back, such as
 * through another program, the key stays in the memory of this tab. */
async function begin(key) {
  try {
    await send("POST", "v1/login", { key });
    await get("v1/me");
  } catch (error) {
    if (![401, 404, 405].includes(error.status)) throw error;
    useKey(key);
    await get("v1/queues");
  }
}
