"""Queues, workers, cron entries, workflows, events and numbers, on both stores."""

import json
from itertools import islice

import pytest

from ojs_cli.commands import events, nodes
from ojs_cli.failures import CONFLICT, INTERRUPTED, MISUSED, NOT_FOUND, NOT_SO, OK
from tests.terminal.conftest import Call, Ojs


def test_queues_are_listed_paused_and_resumed(ojs: Ojs, call: Call) -> None:
    for queue in ("mail", "mail", "print"):
        call("POST", "/jobs", type="t", args=[], options={"queue": queue})
    assert [row[:3] for row in ojs("queues").rows] == [
        ["mail", "active", "2"],
        ["print", "active", "1"],
    ]
    assert ojs("queues", "pause", "print").rows == [["print", "paused"]]
    assert [row[0] for row in ojs("queues", "--paused").rows] == ["print"]
    assert ojs("queues").rows[0][0] == "print"
    assert "paused" in ojs("queues", "show", "print").out
    assert ojs("queues", "resume", "print").code == OK
    assert ojs("queues", "--paused").rows == []


def test_a_misspelt_queue_is_not_paused(ojs: Ojs, call: Call) -> None:
    call("POST", "/jobs", type="t", args=[], options={"queue": "mail"})
    for verb in ("show", "pause"):
        said = ojs("queues", verb, "mial")
        assert (said.code, "did you mean mail?" in said.err) == (NOT_FOUND, True)
    assert ojs("queues", "pause", "later", "--new").code == OK


def test_settings_of_a_queue_are_shown_and_changed(ojs: Ojs, call: Call) -> None:
    call("POST", "/jobs", type="t", args=[], options={"queue": "mail"})
    dry = ojs("queues", "config", "mail", "--set", "concurrency=4", "--dry-run")
    assert dry.rows == [["concurrency", "", "4"]]
    assert ["concurrency", ""] in ojs("queues", "config", "mail").rows
    assert ojs("queues", "config", "mail", "--set", "concurrency=4").code == OK
    assert ["concurrency", "4"] in ojs("queues", "config", "mail").rows
    assert ojs("queues", "config", "mail", "--unset", "concurrency").code == OK
    assert ["concurrency", ""] in ojs("queues", "config", "mail").rows
    assert ojs("queues", "config", "mail", "--set", "concurrency").code == MISUSED


def test_a_queue_is_purged_after_a_question(ojs: Ojs, call: Call) -> None:
    call("POST", "/jobs", type="t", args=[])
    call("POST", "/jobs", type="t", args=[], options={"scheduled_at": "2099-01-01T00:00:00Z"})
    assert "would remove 2 jobs" in ojs("queues", "purge", "default", "--dry-run").err
    asked = ojs("queues", "purge", "default")
    assert (asked.code, "remove 2 jobs" in asked.err) == (MISUSED, True)
    assert "removed 1 job " in ojs("queues", "purge", "default", "state:scheduled", "--yes").out
    assert ojs("queues", "purge", "default", "type:x", "--yes").code == MISUSED
    assert ojs("queues", "purge", "default", "older:1h", "--yes").code == OK
    assert len(call("GET", "/jobs")["jobs"]) == 1
    # A purge leaves the jobs that workers hold.
    call("POST", "/workers/fetch", queues=["default"], worker_id="w1")
    assert "would remove 0 jobs" in ojs("queues", "purge", "default", "--dry-run").err


def test_workers_are_listed_and_directed(ojs: Ojs, call: Call) -> None:
    for name, host in (("w1", "a"), ("w2", "b")):
        given = {"queues": ["default"], "hostname": host, "concurrency": 4}
        call("POST", "/workers/register", worker_id=name, **given)
    assert sorted(row[:3] for row in ojs("workers").rows) == [
        ["w1", "running", "0/4"],
        ["w2", "running", "0/4"],
    ]
    assert ojs("workers", "quiet", "--host", "a").rows == [["w1", "quiet"]]
    assert "asked to quiet" in ojs("workers").out
    assert ojs("workers", "resume", "w1").code == OK
    assert ojs("workers", "terminate", "w1").code == MISUSED
    assert ojs("workers", "terminate", "w1", "--yes").code == OK
    assert ojs("workers", "quiet", "--host", "c").code != OK
    assert ojs("workers", "quiet").code == MISUSED
    near = ojs("workers", "quiet", "w11")
    assert (near.code, "did you mean w" in near.err) == (NOT_FOUND, True)


def test_a_worker_is_shown_with_what_it_holds(ojs: Ojs, call: Call) -> None:
    call("POST", "/workers/register", worker_id="w1", queues=["default"])
    job = call("POST", "/jobs", type="t", args=[])["job"]["id"]
    call("POST", "/workers/fetch", queues=["default"], worker_id="w1")
    shown = ojs("workers", "show", "w1")
    assert shown.out.count(job) == 2
    assert ojs("workers", "list", "--stale").rows == []


def test_servers_of_the_database_are_listed(ojs: Ojs, call: Call) -> None:
    # A server announces itself while the first test begins.
    while not (listed := call("GET", "/admin/nodes")["items"]):
        pass
    (node,) = listed
    (row,) = ojs("nodes").rows
    assert (row[:2], row[4:7]) == (
        [node["id"], "online"],
        [node["version"], "0", "0"],
    )
    (wide,) = ojs("nodes", "list", "-o", "wide").rows
    assert wide[7:] == [node["host"], str(node["pid"]), "yes"]
    (item,) = json.loads(ojs("nodes", "-o", "json").out)["items"]
    assert item["id"] == node["id"]
    assert ojs("nodes", "-o", "ndjson").out.count("\n") == 1
    assert f"- id: {node['id']}" in ojs("nodes", "-o", "yaml").out


def test_servers_of_the_database_are_watched(
    ojs: Ojs, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([[{"id": "a", "state": "online"}], [{"id": "a", "state": "unreachable"}]])

    def look(_: object) -> object:
        try:
            return next(looks)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(nodes, "read_nodes", look)
    said = ojs("nodes", "--watch", "--interval", "0.05")
    assert (said.code, [row[:2] for row in said.rows]) == (
        INTERRUPTED,
        [["a", "online"], ["a", "unreachable"]],
    )


def test_cron_entries_live(ojs: Ojs, call: Call) -> None:
    made = ojs(
        "cron", "add", "night", "0 3 * * *", "backup.run", "full", "-q", "ops", "--zone", "UTC"
    )
    assert made.rows[0][:4] == ["night", "0 3 * * *", "backup.run", "active"]
    assert ojs("cron", "run", "night").rows[0][:2] == ["night", "triggered"]
    (job,) = call("GET", "/jobs")["jobs"]
    assert (job["type"], job["queue"], job["args"]) == ("backup.run", "ops", ["full"])
    assert ojs("cron", "history", "night").rows[0][1] == "triggered"
    assert ojs("cron", "pause", "night").code == OK
    assert ojs("cron").rows[0][3] == "paused"
    assert ojs("cron", "resume", "night").code == OK
    assert "0 3 * * *" in ojs("cron", "show", "night").out
    near = ojs("cron", "run", "nigth")
    assert (near.code, "did you mean night?" in near.err) == (NOT_FOUND, True)
    assert ojs("cron", "delete", "night").code == MISUSED
    assert ojs("cron", "delete", "night", "--yes").code == OK
    assert ojs("cron").rows == []
    assert ojs("cron", "add", "bad", "61 * * * *", "t").code != OK


def test_workflows_are_drawn_and_cancelled(ojs: Ojs, call: Call) -> None:
    steps = [
        {"id": "pay", "type": "t", "args": []},
        {"id": "ship", "type": "t", "args": [], "depends_on": ["pay"]},
    ]
    flow = call("POST", "/workflows", name="order", steps=steps)["workflow"]["id"]
    assert ojs("workflows").rows[0][:6] == [flow, "order", "dag", "running", "2", "0"]
    drawn = ojs("workflows", "show", flow).out.splitlines()
    assert drawn[0].startswith("order  dag  running  [----------] 0/2")
    assert [line[:9] for line in drawn[1:]] == ["└─ ● pay ", "   └─ ○ s"]
    assert json.loads(ojs("workflows", "show", flow, "-o", "json").out)["id"] == flow
    assert ojs("workflows", "cancel", flow).code == OK
    assert ojs("workflows", "cancel", flow).code == CONFLICT
    assert ojs("workflows", "--state", "cancelled").rows[0][0] == flow
    assert ojs("workflows", "retry", flow).code == CONFLICT
    assert ojs("workflows", "show", flow[:-1] + "x").code == NOT_FOUND


def test_a_failed_workflow_goes_on_where_it_failed(ojs: Ojs, call: Call) -> None:
    once = {"retry": {"max_attempts": 1}}
    steps = [{"id": "pay", "type": "t", "args": [], "options": once}]
    flow = call("POST", "/workflows", steps=steps)["workflow"]["id"]
    (job,) = call("POST", "/workers/fetch", queues=["default"], worker_id="w1")["jobs"]
    call("POST", "/workers/nack", job_id=job["id"], worker_id="w1", error={"message": "no"})
    assert ojs("workflows", "retry", flow).rows == [[flow, "running"]]
    assert call("GET", f"/jobs/{job['id']}")["job"]["state"] == "available"


def test_events_are_listed_and_followed_from_a_place(
    ojs: Ojs, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = call("POST", "/jobs", type="t", args=[])["job"]["id"]
    place = ojs("events", "-o", "id").out.split()[-1]
    call("DELETE", f"/jobs/{first}")
    second = call("POST", "/jobs", type="t", args=[])["job"]["id"]
    follow = events.follow

    monkeypatch.setattr(events, "follow", lambda *given: islice(follow(*given), 2))
    said = ojs("events", "tail", "--after", place, "--interval", "0.05")
    assert [row[1:3] for row in said.rows] == [
        ["job.cancelled", first],
        ["job.enqueued", second],
    ]
    monkeypatch.setattr(events, "follow", lambda *given: islice(follow(*given), 1))
    only = ojs("events", "tail", "--all", "--type", "job.cancelled", "-o", "ndjson")
    assert json.loads(only.out)["subject"] == first
    assert [row[2] for row in ojs("events", "--job", second).rows] == [second]


def test_a_tail_begins_at_the_newest_event(
    ojs: Ojs, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("POST", "/jobs", type="old", args=[])
    follow = events.follow

    def later(*given: object) -> object:
        call("POST", "/jobs", type="new", args=[])
        return islice(follow(*given), 1)  # type: ignore[arg-type]

    monkeypatch.setattr(events, "follow", later)
    assert ojs("events", "tail", "--interval", "0.05").rows[0][3] == "new default"


def test_numbers_of_the_past(ojs: Ojs, call: Call) -> None:
    said = ojs("stats", "--period", "1m", "--since", "5m")
    assert said.code == OK
    assert len(said.rows) >= 5
    assert json.loads(ojs("stats", "-o", "json").out)["period"] == "5m"


def test_status_says_what_is_wrong(ojs: Ojs, call: Call) -> None:
    assert ojs("status", "--exit-code").code == OK
    call("POST", "/jobs", type="t", args=[], options={"queue": "mail"})
    call("POST", "/queues/mail/pause")
    said = ojs("status", "--exit-code")
    assert said.code == NOT_SO
    assert "wrong  the queue mail is paused, with 1 job waiting" in said.out
    assert "wrong  there is no worker, with 1 job waiting" in said.out
    assert json.loads(ojs("status", "-o", "json").out)["manifest"]["name"] == "ojs-server"
