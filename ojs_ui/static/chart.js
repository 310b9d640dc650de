// Charts of a history: a handful of SVG nodes whose paths change, however many points there are.

import { h, put, s } from "./dom.js";
import { duration, number, share } from "./format.js";

const HEIGHT = 160;
const LEFT = 4;
const RIGHT = 46;
const TOP = 8;
const BOTTOM = 20;

const two = (value) => String(value).padStart(2, "0");

function step(most, ticks) {
  const rough = most / ticks || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  // Jobs are counted whole.
  return Math.max(1, [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough));
}

/** The frame that all charts share: axes, cursor, sentence, table. */
class Chart {
  constructor(title, legend, columns) {
    this.columns = columns;
    this.data = [];
    this.rules = s("path", { class: "rule" });
    this.labels = s("g");
    this.cursor = s("path", { class: "cursor" });
    this.layers = this.makeLayers();
    this.plot = s("svg", { class: "plot", role: "img", tabindex: "0", "aria-label": title }, this.rules, this.layers, this.labels, this.cursor);
    this.caption = h("figcaption");
    this.legend = legend;
    this.foot = h("div", { class: "legend" }, legend());
    this.rows = h("tbody");
    this.twin = h("details", { ontoggle: () => this.table() }, h("summary", null, "Table"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, as a table` },
      h("table", null, h("thead", null, h("tr", null, columns.map(([label]) => h("th", { scope: "col" }, label)))), this.rows)));
    this.element = h("figure", null, this.caption, this.plot, this.foot, this.twin);
    this.at = null;
    this.plot.addEventListener("pointermove", (event) => this.point(this.columnAt(event.offsetX)));
    this.plot.addEventListener("pointerleave", () => this.point(null));
    this.plot.addEventListener("blur", () => this.point(null));
    this.plot.addEventListener("keydown", (event) => {
      const last = this.data.length - 1;
      const next = { ArrowLeft: (this.at ?? last + 1) - 1, ArrowRight: (this.at ?? -1) + 1, Home: 0, End: last }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      this.point(Math.min(Math.max(next, 0), last));
    });
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  /** Show other data. */
  update(data) {
    this.data = data;
    put(this.caption, this.sentence(data));
    this.draw();
    this.table();
  }

  get wide() {
    return Math.max(this.plot.clientWidth - LEFT - RIGHT, 1);
  }

  x(at) {
    return LEFT + (at * this.wide) / this.data.length;
  }

  columnAt(x) {
    const at = Math.floor(((x - LEFT) * this.data.length) / this.wide);
    return at >= 0 && at < this.data.length ? at : null;
  }

  draw() {
    if (!this.data.length || !this.plot.clientWidth) return;
    this.plot.setAttribute("viewBox", `0 0 ${this.plot.clientWidth} ${HEIGHT}`);
    const ticks = this.drawLayers();
    const right = LEFT + this.wide;
    this.rules.setAttribute("d", ticks.map(([y]) => `M${LEFT} ${Math.round(y) + 0.5}H${right}`).join(""));
    const labels = ticks.map(([y, text]) => s("text", { x: right + 6, y: y + 4 }, text));
    const every = Math.ceil((this.data.length * 72) / this.wide / 6) * 6;
    for (let at = 0; at < this.data.length; at += 1) {
      const date = new Date(this.data[at].timestamp);
      const span = this.data.length > 1 ? Date.parse(this.data[1].timestamp) - Date.parse(this.data[0].timestamp) : 60000;
      const slot = Math.round((date.getTime() - date.getTimezoneOffset() * 60000) / span);
      if (slot % every || this.x(at) > right - 30) continue;
      const midnight = span >= 86400000 || (date.getHours() === 0 && date.getMinutes() === 0);
      labels.push(s("text", { x: this.x(at), y: HEIGHT - 5 }, midnight ? `${date.getDate()}.${date.getMonth() + 1}.` : `${two(date.getHours())}:${two(date.getMinutes())}`));
    }
    this.labels.replaceChildren(...labels);
    this.point(this.at);
  }

  point(at) {
    this.at = at;
    this.cursor.style.visibility = at === null ? "hidden" : "visible";
    put(this.foot, at === null || !this.data[at] ? this.legend() : this.columns.map(([label, read]) => h("span", null, `${label} `, h("b", null, read(this.data[at])))));
    if (at !== null) this.cursor.setAttribute("d", `M${Math.round(this.x(at + 0.5)) + 0.5} ${TOP}V${HEIGHT - BOTTOM}`);
  }

  table() {
    if (!this.twin.open) return;
    this.rows.replaceChildren(...this.data.toReversed().slice(0, 200).map((point) => h("tr", null, this.columns.map(([, read]) => h("td", null, read(point))))));
  }
}

const when = (point) => {
  const date = new Date(point.timestamp);
  return `${two(date.getDate())}.${two(date.getMonth() + 1)}. ${two(date.getHours())}:${two(date.getMinutes())}`;
};

/** Throughput: completed jobs up, failed attempts down, and enqueued jobs as a line. */
export class Throughput extends Chart {
  constructor() {
    super("Completed, failed and enqueued jobs", () => [
      h("span", { class: "s-completed" }, h("i"), "completed"), h("span", { class: "s-discarded" }, h("i"), "failed, below the line"), h("span", { class: "s-available" }, h("i", { class: "dash" }), "enqueued"),
    ], [["Time", when], ["completed", (p) => number(p.completed)], ["failed", (p) => number(p.failed)], ["enqueued", (p) => number(p.enqueued)]]);
  }

  makeLayers() {
    this.done = s("path", { class: "done" });
    this.fail = s("path", { class: "fail" });
    this.entered = s("path", { class: "in" });
    this.zero = s("path", { class: "zero" });
    return [this.done, this.fail, this.entered, this.zero];
  }

  sentence(data) {
    const sum = (name) => data.reduce((total, point) => total + point[name], 0);
    const done = sum("completed");
    const failed = sum("failed");
    return done + failed + sum("enqueued") === 0 ? "Nothing happened in this time." : `${number(done)} completed, ${number(failed)} failed (${share(failed, done + failed)}), ${number(sum("enqueued"))} enqueued.`;
  }

  drawLayers() {
    const up = Math.max(1, ...this.data.map((point) => Math.max(point.completed, point.enqueued)));
    const down = Math.max(0, ...this.data.map((point) => point.failed));
    const each = step(up, 3);
    const top = Math.ceil(up / each) * each;
    // The part below the line has a sixth at least, where anything failed.
    const room = HEIGHT - TOP - BOTTOM;
    const below = down ? Math.max(room / 6, (room * down) / (top + down)) : 0;
    const zero = HEIGHT - BOTTOM - below;
    const y = (value) => zero - (value / top) * (zero - TOP);
    const gap = this.wide / this.data.length > 4 ? 1 : 0;
    const column = (at, from, to) => `M${this.x(at).toFixed(1)} ${from.toFixed(1)}V${to.toFixed(1)}H${(this.x(at + 1) - gap).toFixed(1)}V${from.toFixed(1)}Z`;
    this.done.setAttribute("d", this.data.map((point, at) => point.completed ? column(at, zero, y(point.completed)) : "").join(""));
    this.fail.setAttribute("d", this.data.map((point, at) => point.failed ? column(at, zero, zero + Math.max(2, (point.failed / down) * below)) : "").join(""));
    this.entered.setAttribute("d", this.data.map((point, at) => `${at ? "L" : "M"}${this.x(at + 0.5).toFixed(1)} ${y(point.enqueued).toFixed(1)}`).join(""));
    this.zero.setAttribute("d", `M${LEFT} ${Math.round(zero) + 0.5}H${LEFT + this.wide}`);
    const ticks = [];
    for (let value = each; value <= top; value += each) ticks.push([y(value), number(value)]);
    return ticks;
  }
}

const DEPTHS = ["available", "active", "retryable"];

/** Number of jobs over time, stacked by state. */
export class Depth extends Chart {
  constructor() {
    super("Jobs that wait or run", () => DEPTHS.map((state) => h("span", { class: `s-${state}` }, h("i"), state)), [["Time", when], ...DEPTHS.map((state) => [state, (p) => p[state] === null ? "not known" : number(p[state])])]);
  }

  makeLayers() {
    this.areas = DEPTHS.map((state) => s("path", { class: `area s-${state}` }));
    return this.areas;
  }

  sentence(data) {
    const sums = data.filter((point) => point.available !== null).map((point) => DEPTHS.reduce((sum, state) => sum + point[state], 0));
    return sums.length ? `Last ${number(sums.at(-1))}, at most ${number(Math.max(...sums))} at a time.` : "Nobody looked in this time.";
  }

  drawLayers() {
    // The server samples once a minute and may miss a minute: the sample before it is repeated.
    const points = this.data.map((point, at) => (point.available === null && at ? this.data[at - 1] : point));
    const top = Math.max(1, ...points.map((point) => DEPTHS.reduce((sum, state) => sum + point[state], 0)));
    const each = step(top, 3);
    const high = Math.ceil(top / each) * each;
    const y = (value) => HEIGHT - BOTTOM - (value / high) * (HEIGHT - TOP - BOTTOM);
    const below = points.map(() => 0);
    DEPTHS.forEach((state, layer) => {
      this.areas[layer].setAttribute("d", points.map((point, at) => {
        if (!point[state]) return "";
        const from = y(below[at]);
        below[at] += point[state];
        return `M${this.x(at).toFixed(1)} ${from.toFixed(1)}V${y(below[at]).toFixed(1)}H${this.x(at + 1).toFixed(1)}V${from.toFixed(1)}Z`;
      }).join(""));
    });
    const ticks = [];
    for (let value = each; value <= high; value += each) ticks.push([y(value), number(value)]);
    return ticks;
  }
}

const PERCENTS = ["p50", "p95", "p99"];

/** Run or wait times of jobs, as quantiles on a logarithmic axis. */
export class Times extends Chart {
  constructor(title, kind, { verb, none }) {
    super(title, () => [
      h("span", { class: "s-active" }, h("i"), "p50"), h("span", { class: "s-retryable" }, h("i", { class: "dots" }), "p95"), h("span", { class: "s-scheduled" }, h("i", { class: "dash" }), "p99"), h("span", null, "logarithmic"),
    ], [["Time", when], ...PERCENTS.map((name) => [name, (p) => duration(p[`${kind}_${name}_ms`])])]);
    this.names = PERCENTS.map((name) => `${kind}_${name}_ms`);
    this.words = { verb, none };
  }

  makeLayers() {
    this.lines = PERCENTS.map((name) => s("path", { class: name }));
    return this.lines;
  }

  sentence(data) {
    const [half, , most] = this.names;
    const last = data.findLast((point) => point[half] !== null);
    return last ? `Last: half of the jobs ${this.words.verb} ${duration(last[half])} at most, 99 % ${duration(last[most])}.` : this.words.none;
  }

  drawLayers() {
    const values = this.data.flatMap((point) => this.names.map((name) => point[name])).filter((value) => value !== null).map((value) => Math.max(value, 1));
    const low = Math.floor(Math.log10(Math.min(...values, 10)));
    const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values, 10))));
    const y = (value) => HEIGHT - BOTTOM - ((Math.log10(Math.max(value, 1)) - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    const line = (name) => {
      let drawing = false;
      return this.data.map((point, at) => {
        if (point[name] === null) {
          drawing = false;
          return "";
        }
        // A point that stands alone is a dash.
        const part = `${drawing ? "L" : `M${(this.x(at + 0.5) - 1.5).toFixed(1)} ${y(point[name]).toFixed(1)}L`}${this.x(at + 0.5).toFixed(1)} ${y(point[name]).toFixed(1)}`;
        drawing = true;
        return part;
      }).join("");
    };
    this.names.forEach((name, at) => this.lines[at].setAttribute("d", line(name)));
    const ticks = [];
    for (let power = low; power <= high; power += 1) ticks.push([y(10 ** power), power < 3 ? `${10 ** power} ms` : `${10 ** (power - 3)} s`]);
    return ticks;
  }
}

const RANGES = [["15 m", "1m", 900], ["1 h", "1m", 3600], ["6 h", "5m", 21600], ["24 h", "5m", 86400], ["7 d", "1h", 604800], ["30 d", "1h", 2592000]];

/** Return buttons for a range of time; `chosen(period, since)` is called for each choice. */
export function ranges(chosen) {
  const made = RANGES.map(([label, period, seconds]) => h("button", {
    type: "button", "aria-pressed": "false",
    onclick: (event) => {
      for (const each of made) each.setAttribute("aria-pressed", String(each === event.currentTarget));
      chosen(period, seconds);
    },
  }, label));
  made[1].setAttribute("aria-pressed", "true");
  return h("div", { class: "ranges", role: "group", "aria-label": "Range of time" }, made);
}

const SUMS = ["completed", "failed", "enqueued"];
const MOSTS = [...DEPTHS, ...["latency", "wait"].flatMap((kind) => PERCENTS.map((name) => `${kind}_${name}_ms`))];

/** Merge neighbouring points until few enough are left; values that a server does not report are null. */
export function thin(data, most = 180) {
  const by = Math.max(1, Math.ceil(data.length / most));
  const widest = (points, name) => points.reduce((top, point) => (point[name] ?? null) === null ? top : Math.max(top ?? 0, point[name]), null);
  const found = [];
  for (let at = 0; at < data.length; at += by) {
    const points = data.slice(at, at + by);
    const sum = (name) => points.reduce((total, point) => total + point[name], 0);
    found.push({ timestamp: points[0].timestamp, ...Object.fromEntries([...SUMS.map((name) => [name, sum(name)]), ...MOSTS.map((name) => [name, widest(points, name)])]) });
  }
  return found;
}
