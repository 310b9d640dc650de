// An address that is no page.

import { h } from "./dom.js";
import { to } from "./router.js";
import { empty } from "./view.js";

export function page(view) {
  view.head("There is no such page");
  view.add(h("div", { class: "panel empty" }, empty("Nothing is at this address.", h("a", { href: to("") }, "Go to the overview"))));
}
