function shownClauses(clauses) {
  return Object.entries(clauses).map(([id, one]) => {
    const verdict = element("span", one.verdict);
    verdict.className = "v " + one.verdict;
    const cases = one.cases.flatMap((name) => [" ", link(name)]);
    const made = element("p", undefined, verdict, " " + id + " ", one.text, ...cases);
    made.className = "clause";
    made.id = id;
    return made;
  });
}
async function fill(opened) {
  const all = await details();
  if (!opened.matches(".case, #requirements") || opened.children.length > 1) return;
  const slot = element("div");
  opened.append(slot);
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
  const searched = search.value.toLowerCase().split(/\s+/);
  const chosen = new Set(kinds.filter((one) => one.checked).map((one) => one.value));
  let shown = 0;
  cases.forEach((one, at) => {
    one.hidden = !chosen.has(verdicts[at]) || !searched.every((word) => words[at].includes(word));
    shown += !one.hidden;
  });
  document.getElementById("shown").textContent = `${shown} of ${cases.length}`;
}
search.addEventListener("input", filter);
kinds.forEach((kind) => kind.addEventListener("change", filter));
// Passed cases are hidden as long as one has failed.
if (kinds.some((kind) => kind.value === "fail")) {
  for (const kind of kinds) kind.checked = kind.value === "fail" || kind.value === "error";
}
filter();
// A link to a clause opens the list of requirements, one to a case its details.
async function follow() {
  const id = decodeURIComponent(location.hash.slice(1));
  const requirements = document.getElementById("requirements");
  if (id && requirements && (await details()).clauses[id]) {
    await fill(requirements);
    requirements.open = true;
    document.getElementById(id).scrollIntoView();
    return;
  }
  const found = document.getElementById(id);
  if (!found?.matches("details")) return;
  found.hidden = false;
  await fill(found);
  found.open = true;
  found.scrollIntoView();
}
addEventListener("hashchange", follow);
follow();
