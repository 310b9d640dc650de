const MARKS = { pass: "✓", fail: "✗", error: "!", skipped: "-", defective: "~", disputed: "≠" };
const table = document.querySelector("#cases tbody");
const dialog = document.getElementById("shown-case");
const search = document.querySelector("#filters input[type=search]");
const differing = document.getElementById("differing");
let groups = [];

function cell(row, at, all) {
  const verdict = row.verdicts[at];
  const made = element("td");
  if (!verdict) {
    made.append(element("span", "·"));
    made.className = "absent";
    return made;
  }
  const button = element("button", MARKS[verdict]);
  button.className = verdict;
  button.title = `${all.backends[at]}: ${verdict}`;
  button.setAttribute("aria-label", `${row.id}, ${all.backends[at]}: ${verdict}`);
  button.addEventListener("click", () => show(row, at, all));
  made.append(button);
  return made;
}
function show(row, at, all) {
  const verdict = element("span", row.verdicts[at]);
  verdict.className = "v " + row.verdicts[at];
  document.getElementById("shown-title").replaceChildren(
    verdict, ` ${row.id} of ${all.backends[at]}`);
  dialog.querySelector("div").replaceChildren(
    element("p", row.name), ...shownCase(row.details[at], all.clauses));
  dialog.showModal();
}
function shownRow(row, all) {
  const head = element("th");
  head.scope = "row";
  const name = element("span", row.name);
  const clauses = element("span", row.clauses.join(" "));
  name.className = clauses.className = "grey";
  head.append(element("code", row.id), name, clauses);
  const made = element("tr", undefined, head, ...all.backends.map((_, at) => cell(row, at, all)));
  made.className = "row";
  made.hidden = true;
  return {
    made,
    words: [row.id, row.name, ...row.clauses, ...row.verdicts].join(" ").toLowerCase(),
    differs: new Set(row.verdicts).size > 1,
  };
}
// Rows are made once; a suite shows those that the filter leaves, if it is open.
function filter() {
  const searched = search.value.toLowerCase().split(/\s+/);
  const filtered = search.value.trim() !== "" || differing.checked;
  let shown = 0, every = 0;
  for (const { suite, button, rows } of groups) {
    const open = button.getAttribute("aria-expanded") === "true";
    let mine = 0;
    for (const { made, words, differs } of rows) {
      const fits = (!differing.checked || differs) && searched.every((word) => words.includes(word));
      made.hidden = !(fits && open);
      mine += fits;
    }
    suite.hidden = filtered && mine === 0;
    shown += mine;
    every += rows.length;
  }
  document.getElementById("shown").textContent = `${shown} of ${every}`;
}
function narrowed() {
  for (const { button } of groups) {
    button.setAttribute("aria-expanded", search.value.trim() !== "" || differing.checked);
  }
  filter();
}
async function start() {
  const all = await details();
  groups = [...table.querySelectorAll(".suite")].map((suite) => {
    const button = suite.querySelector("button");
    const rows = all.rows.filter((row) => row.suite === suite.dataset.suite)
      .map((row) => shownRow(row, all));
    suite.after(...rows.map(({ made }) => made));
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", button.getAttribute("aria-expanded") !== "true");
      filter();
    });
    return { suite, button, rows };
  });
  search.addEventListener("input", narrowed);
  differing.addEventListener("change", narrowed);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  filter();
}
start();
