// Addresses: the page is the last part of the path, and its filters are the query.

const ROOT = new URL("./", document.baseURI).pathname;
let onChange = () => {};

/** Return the name of the page at the present address, and its query. */
export function here() {
  const page = location.pathname.startsWith(ROOT) ? location.pathname.slice(ROOT.length) : "";
  return { page, query: new URLSearchParams(location.search) };
}

/** Return the address of a page; empty values are left out. */
export function to(page, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(kept).toString();
  return ROOT + page + (search ? `?${search}` : "");
}

/** Go to a page. */
export function go(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  onChange();
}

/** Go back to the page that was kept, or else to the first one. */
export function back(kept) {
  go(ROOT + (kept ?? ""), { replace: true });
}

/** Call back for every change of the address, and follow links within the dashboard. */
export function begin(changed) {
  onChange = changed;
  addEventListener("popstate", changed);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !url.pathname.startsWith(ROOT) || link.target || url.hash) return;
    event.preventDefault();
    go(url.pathname + url.search);
  });
  changed();
}
