// Workflows as graphs: steps in layers by their longest path, in an order with few crossings. The
// layout depends on the steps alone, so that nothing moves when states change.

import { h, s } from "./dom.js";
import { cut } from "./format.js";
import { to } from "./router.js";
import { glyph, look } from "./states.js";

const WIDE = 176;
const HIGH = 48;
const GAP_X = 56;
const GAP_Y = 20;
const SWEEPS = 4;

/** Return the layers of steps, each a list of ids. */
export function layers(steps) {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const depth = new Map();
  const level = (id, path) => {
    if (depth.has(id)) return depth.get(id);
    if (path.has(id)) return 0;
    const parents = (byId.get(id).depends_on ?? []).filter((parent) => byId.has(parent));
    const found = parents.length ? 1 + Math.max(...parents.map((parent) => level(parent, new Set(path).add(id)))) : 0;
    depth.set(id, found);
    return found;
  };
  const made = [];
  for (const step of steps) (made[level(step.id, new Set())] ??= []).push(step.id);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (let at = 1; at < made.length; at += 1) {
      const place = new Map(made[at - 1].map((id, index) => [id, index]));
      const centre = (id) => {
        const known = (byId.get(id).depends_on ?? []).map((parent) => place.get(parent)).filter((index) => index !== undefined);
        return known.length ? known.reduce((sum, index) => sum + index, 0) / known.length : 0;
      };
      made[at] = made[at].map((id) => [centre(id), id]).sort((a, b) => a[0] - b[0]).map(([, id]) => id);
    }
  }
  return made;
}

/** Return the graph of a workflow's steps; a step with a job leads to it. */
export function graph(steps) {
  const made = layers(steps);
  const tallest = Math.max(...made.map((layer) => layer.length));
  const height = tallest * (HIGH + GAP_Y) + GAP_Y;
  const width = made.length * (WIDE + GAP_X) - GAP_X + 2 * GAP_Y;
  const place = new Map();
  made.forEach((layer, at) => layer.forEach((id, index) => {
    const top = (height - layer.length * (HIGH + GAP_Y) + GAP_Y) / 2;
    place.set(id, { x: GAP_Y + at * (WIDE + GAP_X), y: top + index * (HIGH + GAP_Y) });
  }));
  const edges = steps.flatMap((step) => (step.depends_on ?? []).filter((parent) => place.has(parent)).map((parent) => {
    const from = place.get(parent);
    const goal = place.get(step.id);
    const [x1, y1, x2, y2] = [from.x + WIDE, from.y + HIGH / 2, goal.x, goal.y + HIGH / 2];
    const bend = (x2 - x1) / 2;
    return s("path", { class: "edge", d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
  }));
  const nodes = steps.map((step) => {
    const { x, y } = place.get(step.id);
    const state = step.job_state ?? step.state;
    const node = s("g", { class: `node s-${look(state)}`, transform: `translate(${x} ${y})` },
      s("title", null, `${step.id}: ${step.type}, ${state}`),
      s("rect", { width: WIDE, height: HIGH, rx: 6 }),
      s("text", { x: 12, y: 20 }, cut(step.type, 24)),
      s("path", { class: "gl", d: glyph(state), transform: "translate(12 27) scale(.85)" }),
      s("text", { class: "st", x: 30, y: 38 }, state));
    return step.job_id ? s("a", { href: to("job", { id: step.job_id }), "aria-label": `${step.type}, ${state}` }, node) : node;
  });
  return h("div", { class: "graph", tabindex: "0", role: "group", "aria-label": "Graph of the steps" },
    s("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, edges, nodes));
}
