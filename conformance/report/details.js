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
function shownCase(detail, clauses) {
  const parts = [terms([["file", detail.path], ["took", detail.ms + " ms"]])];
  for (const id of detail.clauses) {
    const clause = clauses[id];
    if (!clause?.text) continue;
    const shown = document.getElementById("requirements") ? link(id) : id;
    const pair = terms([[clause.strength, ""]]);
    pair.lastChild.append(shown, ` (${clause.sources}) ${clause.text}`);
    parts.push(pair);
  }
  if (detail.published) parts.push(terms([["published", detail.published]]));
  if (detail.reason) parts.push(element("p", detail.reason));
  for (const cause of detail.causes ?? []) parts.push(element("p", "because: " + cause));
  for (const { request, answer, again, ...rest } of detail.failures ?? []) {
    parts.push(terms(Object.entries(rest)));
    for (const text of [request, answer, again]) if (text) parts.push(element("pre", text));
  }
  return parts;
}
