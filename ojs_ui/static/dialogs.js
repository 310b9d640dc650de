// Confirmations, forms, and a message after every action.

import { h } from "./dom.js";

/** Show a message for some seconds. */
export function toast(text, { bad = false, hint = null } = {}) {
  const close = h("button", { type: "button", class: "small", "aria-label": "Close the message", onclick: () => made.remove() }, "×");
  const made = h("div", { class: bad ? "toast bad" : "toast", role: bad ? "alert" : "status" }, h("p", null, text, hint && h("span", null, ` — ${hint}`)), close);
  const place = document.getElementById("toasts");
  place.append(made);
  while (place.children.length > 4) place.firstChild.remove();
  setTimeout(() => made.remove(), bad ? 15000 : 6000);
}

/** Show the server's message of a refusal. */
export function refused(error) {
  if (error.name === "AbortError") return;
  toast(error.message, { bad: true, hint: error.hint });
}

/** Show a dialog; `content` is given a function that closes it with a value, which is returned. */
export function dialog(title, content) {
  return new Promise((resolve) => {
    const made = h("dialog", { "aria-labelledby": "dialog-title" });
    const close = (value) => {
      made.close();
      resolve(value);
    };
    made.addEventListener("cancel", (event) => {
      event.preventDefault();
      close(null);
    });
    made.addEventListener("close", () => made.remove());
    made.append(h("h2", { id: "dialog-title" }, title), content(close));
    document.body.append(made);
    made.showModal();
    made.querySelector("[data-first]")?.focus();
  });
}

/** Confirm an action. The focus is on Cancel, so that Enter never confirms; for many things their
 * number has to be typed, or a word if their number is not known. */
export function confirm({ title, text, verb, danger = true, number = 0, word = null }) {
  return dialog(title, (close) => {
    const needed = word ?? (number > 100 ? String(number) : null);
    const given = () => (word ? typed.value.trim().toLowerCase() : typed.value.replace(/\D/g, ""));
    const typed = needed && h("input", { inputmode: word ? null : "numeric", autocomplete: "off", autocapitalize: "none", oninput: () => { act.disabled = given() !== needed; } });
    const act = h("button", { type: "button", class: danger ? "danger" : "primary", disabled: typed !== null, onclick: () => close(true) }, verb);
    return h("div", null, text,
      typed && h("label", null, `Type ${needed} to go on`, typed),
      h("div", { class: "actions" }, h("button", { type: "button", dataset: { first: "" }, onclick: () => close(null) }, "Cancel"), act));
  });
}

/** Show a form of fields and return their values by name, or null. */
export function form({ title, fields, verb, text = null }) {
  return dialog(title, (close) => {
    const inputs = fields.map((field) => field.input);
    return h("form", {
      onsubmit: (event) => {
        event.preventDefault();
        close(Object.fromEntries(inputs.map((input) => [input.name, input.type === "checkbox" ? input.checked : input.value])));
      },
    }, text, h("div", { class: "form" }, fields.map((field) => h("label", { class: field.wide ? "wide" : null }, field.label, field.input, field.hint && h("span", { class: "hint" }, field.hint)))),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: () => close(null) }, "Cancel"), h("button", { type: "submit", class: "primary" }, verb)));
  });
}

/** Do the work of a button, and show `message` after it, or the refusal. */
export async function act(work, message) {
  try {
    const answer = await work();
    if (message) toast(typeof message === "function" ? message(answer) : message);
    return answer ?? true;
  } catch (error) {
    refused(error);
    return null;
  }
}

/** Return a button, disabled while it works; `needs` is the right that its work needs. */
export function button(label, work, kind = "small", needs = null) {
  const made = h("button", { type: "button", class: kind, needs, onclick: async () => {
    made.disabled = true;
    await work();
    made.disabled = false;
  } }, label);
  return made;
}
