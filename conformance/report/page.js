"use strict";
// Details are unpacked once, when the first of them is opened. Whatever a server sent is put in
// as text and never as markup.
let unpacked;
function details() {
  return (unpacked ??= (async () => {
    const packed = document.getElementById("details").textContent;
    const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  })());
}
function element(name, text, ...inside) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  made.append(...inside);
  return made;
}
function link(id) {
  const made = element("a", id);
  made.href = "#" + id;
  return made;
}
function terms(pairs) {
  return element("dl", undefined, ...pairs.flatMap(([name, value]) => [
    element("dt", name),
    element("dd", undefined, value),
  ]));
}
function shownCase(told, clauses) {
  const parts = [terms([["file", told.path], ["took", told.ms + " ms"]])];
  for (const id of told.clauses) {
    const clause = clauses[id];
    if (clause?.text) parts.push(terms([[clause.strength, `${id} (${clause.sources}) ${clause.text}`]]));
  }
  if (told.reason) parts.push(element("p", told.reason));
  for (const cause of told.causes ?? []) parts.push(element("p", "because: " + cause));
  for (const { request, answer, again, ...rest } of told.failures ?? []) {
    parts.push(terms(Object.entries(rest)));
    for (const text of [request, answer, again]) if (text) parts.push(element("pre", text));
  }
  return parts;
}
function shownClauses(clauses) {
  return Object.entries(clauses).map(([id, one]) => {
    const verdict = element("span", one.verdict);
    verdict.className = "v " + one.verdict;
    const cases = one.cases.flatMap((name) => [" ", link(name)]);
    return element("p", undefined, verdict, " " + id + " ", one.text, ...cases);
  });
}
async function fill(opened) {
  if (!opened.matches(".case, #requirements") || opened.children.length > 1) return;
  const slot = element("div");
  opened.append(slot);
  const all = await details();
  slot.append(...(opened.id === "requirements"
    ? shownClauses(all.clauses) : shownCase(all.cases[opened.id], all.clauses)));
}
document.addEventListener("toggle", (event) => {
  if (event.target.open) fill(event.target);
}, true);

const search = document.querySelector("#filters input[type=search]");
const kinds = [...document.querySelectorAll("#filters input[type=checkbox]")];
const cases = [...document.querySelectorAll(".case")];
const verdicts = cases.map((one) => one.querySelector(".v").textContent);
const words = cases.map((one) => one.textContent.toLowerCase());
function filter() {
  const wanted = search.value.toLowerCase().split(/\s+/);
  const chosen = new Set(kinds.filter((one) => one.checked).map((one) => one.value));
  let shown = 0;
  cases.forEach((one, at) => {
    one.hidden = !chosen.has(verdicts[at]) || !wanted.every((word) => words[at].includes(word));
    shown += !one.hidden;
  });
  document.getElementById("shown").textContent = `${shown} of ${cases.length}`;
}
search.addEventListener("input", filter);
kinds.forEach((one) => one.addEventListener("change", filter));
// What passed says nothing new as long as something failed.
if (kinds.some((one) => one.value === "fail")) {
  for (const one of kinds) one.checked = one.value === "fail" || one.value === "error";
}
filter();
function follow() {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!found?.matches("details")) return;
  found.hidden = false;
  found.open = true;
  found.scrollIntoView();
}
addEventListener("hashchange", follow);
follow();
