// A page while it is open: its heading, and its panels with their refreshes.

import { h, put } from "./dom.js";
import { isPaused, listen } from "./live.js";
import { isOut, isOutage, probe, watchOutage } from "./outage.js";

export class View {
  constructor(root, query, signal) {
    Object.assign(this, { root, query, signal });
    this.keys = {};
  }

  /** Set the heading of the page with its actions, and the title of the window. */
  head(title, ...actions) {
    document.title = `${title} · Jobs`;
    this.heading = h("h1", null, title);
    this.root.append(h("div", { class: "head" }, this.heading, h("div", { class: "actions" }, actions)));
  }

  add(...elements) {
    this.root.append(...elements);
  }

  /** Return a function that reads data and draws it; a failure is shown above the old content. After
   * an outage, what it made fail is read again. */
  panel(place, read, draw) {
    let drawn = false;
    let missed = false;
    const failure = h("div", { class: "failure", role: "alert", hidden: true });
    place.before(failure);
    const refresh = async () => {
      try {
        const data = await read(this.signal);
        if (this.signal.aborted) return;
        failure.hidden = true;
        missed = false;
        draw(data);
        drawn = true;
      } catch (error) {
        if (error.name === "AbortError" || this.signal.aborted) return;
        missed = isOutage(error);
        if (missed) await probe();
        // The banner says it for all that is shown.
        if (missed && drawn && isOut()) return;
        put(failure, h("p", null, error.message, error.hint && ` — ${error.hint}`), error.requestId && h("p", null, h("code", null, error.requestId)));
        failure.hidden = false;
        if (!drawn) place.classList.remove("skeleton");
        if (!(error.status || error.code)) throw error;
      }
    };
    watchOutage((out) => !out && missed && refresh(), this.signal);
    return refresh;
  }

  /** Refresh after events, at most once in `ms`. */
  live(refresh, { on = () => true, ms = 5000 } = {}) {
    let last = Date.now();
    let timer = null;
    const run = async () => {
      timer = null;
      last = Date.now();
      await refresh();
    };
    listen((event, data) => {
      if (timer !== null || document.hidden || isPaused() || !on(event, data)) return;
      timer = setTimeout(run, Math.max(0, last + ms - Date.now()));
    }, this.signal);
    this.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }
}

/** Return an empty element for later content. */
export function place(kind = "") {
  return h("div", { class: kind });
}

/** Return the content of an empty list: a title, and a hint. */
export function empty(title, ...more) {
  return [h("p", null, h("b", null, title)), more.length > 0 && h("p", null, more)];
}
