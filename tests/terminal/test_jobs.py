"""`ojs enqueue`, `ojs jobs` and `ojs dead`, on both stores."""

import json
from typing import Any

import pytest

from ojs_cli import finding
from ojs_cli.failures import CONFLICT, MISUSED, NOT_FOUND, NOT_SO, OK, PART_DONE
from tests.terminal.conftest import Call, Ojs

ONE_TRY = {"retry": {"max_attempts": 1}}


@pytest.fixture
def failed(call: Call) -> list[str]:
    """Three jobs that have failed for good: two of mail, one of print."""
    for kind in ("mail.send", "mail.send", "print.page"):
        call("POST", "/jobs", type=kind, args=[kind], options=ONE_TRY)
    taken = call("POST", "/workers/fetch", queues=["default"], count=3, worker_id="w1")["jobs"]
    for job in taken:
        error = {"type": "Timeout", "message": f"no answer to {job['type']}"}
        call("POST", "/workers/nack", job_id=job["id"], worker_id="w1", error=error)
    return [str(job["id"]) for job in taken]


def states(call: Call) -> list[str]:
    return sorted(job["state"] for job in call("GET", "/jobs")["jobs"])


def test_a_job_is_stored_with_its_options(ojs: Ojs, call: Call) -> None:
    words = ["mail.send", '{"to": "a"}', "hello", "12345678901234567890", "-q", "mail"]
    more = ["--meta", "user=7", "--tag", "x", "--priority", "3", "--in", "1h", "--retry", "2"]
    said = ojs("enqueue", *words, *more, "-o", "id")
    assert said.code == OK, said.err
    (job,) = call("GET", "/jobs")["jobs"]
    assert said.out.strip() == job["id"]
    assert job["args"] == [{"to": "a"}, "hello", 12345678901234567890]
    assert (job["queue"], job["state"], job["priority"]) == ("mail", "scheduled", 3)
    assert (job["meta"], job["tags"], job["max_attempts"]) == ({"user": 7}, ["x"], 2)


def test_snoozed_deliveries_are_shown_beside_the_attempts(ojs: Ojs, call: Call) -> None:
    call("POST", "/jobs", type="t", args=[], options={"retry": {"max_attempts": 2}})
    fetch = {"queues": ["default"], "count": 1, "worker_id": "w1", "wait_ms": 20_000}
    error = {"message": "later", "details": {"action": "snooze", "retry_after_ms": 1}}
    for _ in range(3):
        (job,) = call("POST", "/workers/fetch", **fetch)["jobs"]
        call("POST", "/workers/nack", job_id=job["id"], worker_id="w1", error=error)
    (job,) = call("POST", "/workers/fetch", **fetch)["jobs"]
    assert job["attempt"] == 4
    assert ojs("jobs").rows[0][4] == "1/2"
    shown = ojs("jobs", "show", job["id"]).out
    assert "attempt     1 of 2\ngiven back  3\n" in shown


def test_arguments_come_from_json_and_files(ojs: Ojs, call: Call, tmp_path: Any) -> None:
    file = tmp_path / "args.json"
    file.write_text('["a", 1]')
    assert ojs("enqueue", "t", "--args", f"@{file}").code == OK
    assert ojs("enqueue", "t", "--args", '{"b": 2}', "--unique").code == OK
    assert [job["args"] for job in call("GET", "/jobs")["jobs"]] == [[{"b": 2}], ["a", 1]]
    # The job that is there already is answered.
    again = ojs("enqueue", "t", "--args", '{"b": 2}', "--unique", "-o", "id")
    assert again.out.strip() == call("GET", "/jobs")["jobs"][0]["id"]
    dry = ojs("enqueue", "t", "7", "--dry-run")
    assert json.loads(dry.out)["args"] == [7]
    assert len(call("GET", "/jobs")["jobs"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["no type"],
        ["t", "--args", "{"],
        ["t", "--args", "@/nowhere"],
        ["t", "1", "--args", "[]"],
        ["t", "--meta", "x"],
        ["t", "--in", "soon"],
        ["t", "--in", "1s", "--at", "2030-01-01T00:00:00Z"],
    ],
)
def test_a_job_that_cannot_be_is_refused_here(ojs: Ojs, call: Call, words: list[str]) -> None:
    said = ojs("enqueue", *words)
    assert (said.code, said.out) == (MISUSED, "")
    assert said.err.startswith("ojs: ")
    assert call("GET", "/jobs")["jobs"] == []


def test_lists_take_filters_of_the_server_and_of_this_side(ojs: Ojs, call: Call) -> None:
    for number in range(5):
        call("POST", "/jobs", type=f"t{number % 2}", args=[], meta={"user": number})
    assert len(ojs("jobs").rows) == 5
    assert len(ojs("jobs", "list", "-n", "2").rows) == 2
    assert len(ojs("jobs", "--all", "type:t1").rows) == 2
    (row,) = ojs("jobs", "type:t0", "meta.user:2").rows
    assert row[1:4] == ["t0", "default", "available"]
    ids = ojs("jobs", "-o", "id", "--all").out.split()
    assert ids == [job["id"] for job in call("GET", "/jobs")["jobs"]]
    assert [row[0] for row in ojs("jobs", "search", "t1").rows] == [
        job["id"] for job in call("GET", "/jobs?type=t1")["jobs"]
    ]
    assert "--scan" in ojs("jobs", "search", "nothing", "--scan", "2").err


def test_every_form_has_the_members_of_the_api(ojs: Ojs, call: Call) -> None:
    job = call("POST", "/jobs", type="t", args=[{"n": 2**60, "e": "\u202e\x1b"}])["job"]
    listed = json.loads(ojs("-o", "json", "jobs").out)
    assert [one["id"] for one in listed["items"]] == [job["id"]]
    assert listed["items"][0]["args"] == job["args"]
    assert json.loads(ojs("jobs", "-o", "ndjson").out)["args"] == job["args"]
    assert json.loads(ojs("jobs", "show", job["id"], "-o", "json").out)["id"] == job["id"]
    for form in ("table", "wide", "json", "ndjson", "yaml", "id"):
        assert ojs("jobs", "-o", form).out.replace("\n", "").replace("\t", "").isprintable()
        assert ojs("jobs", "show", job["id"], "-o", form).out.replace("\n", "").isprintable()


def test_a_job_is_shown_with_its_errors(ojs: Ojs, failed: list[str]) -> None:
    said = ojs("jobs", "show", *failed)
    assert said.out.count("attempt 1: Timeout: no answer to") == 3
    assert "state      discarded" in said.out
    assert said.out.count(" by w1, ran ") == 3


def test_ids_may_be_cut_short(ojs: Ojs, call: Call) -> None:
    job = call("POST", "/jobs", type="t", args=[])["job"]["id"]
    assert ojs("jobs", "show", job[:8]).code == OK
    assert ojs("jobs", "show", f"{job[:8]}…{job[-4:]}", "-o", "id").out.strip() == job
    call("POST", "/jobs", type="t", args=[])
    many = ojs("jobs", "show", job[:8])
    assert (many.code, "any of 2 jobs" in many.err) == (MISUSED, True)
    assert ojs("jobs", "show", "00000000").code == NOT_FOUND


def test_an_unknown_id_is_told_with_one_that_is_near(ojs: Ojs, call: Call) -> None:
    job = call("POST", "/jobs", type="t", args=[])["job"]["id"]
    wrong = job[:-1] + ("0" if job[-1] != "0" else "1")
    for verb in ("show", "cancel", "watch"):
        said = ojs("jobs", verb, wrong)
        assert (said.code, f"did you mean {job}?" in said.err) == (NOT_FOUND, True)


def test_jobs_are_cancelled_by_id_and_by_filter(ojs: Ojs, call: Call) -> None:
    ids = [call("POST", "/jobs", type=f"t{one}", args=[])["job"]["id"] for one in range(4)]
    assert ojs("jobs", "cancel", ids[0]).code == OK
    again = ojs("jobs", "cancel", ids[0])
    assert again.code == CONFLICT
    part = ojs("jobs", "cancel", ids[0], ids[1])
    assert (part.code, ids[0] in part.err) == (PART_DONE, True)
    asked = ojs("jobs", "cancel", "type:t*")
    assert (asked.code, "--yes" in asked.err) == (MISUSED, True)
    assert "would cancel 1 job" in ojs("jobs", "cancel", "type:t2", "--dry-run").err
    tried = ojs("jobs", "cancel", *ids, "--dry-run")
    assert (tried.code, "2 jobs of these could not be cancelled" in tried.err) == (OK, True)
    assert f"ojs: {ids[0]}: " in tried.err
    assert states(call) == ["available", "available", "cancelled", "cancelled"]
    assert ojs("jobs", "cancel", "type:t*", "--yes").out == "cancelled 2 jobs\n"
    assert states(call) == ["cancelled"] * 4
    assert ojs("jobs", "cancel", ids[0], "type:x").code == MISUSED
    assert ojs("jobs", "cancel").code == MISUSED


def test_finished_jobs_are_deleted_after_a_question(ojs: Ojs, call: Call) -> None:
    job = call("POST", "/jobs", type="t", args=[])["job"]["id"]
    call("DELETE", f"/jobs/{job}")
    assert ojs("jobs", "delete", job).code == MISUSED
    assert ojs("jobs", "delete", job, "--yes").code == OK
    assert states(call) == []


@pytest.mark.parametrize("words", [("jobs", "retry"), ("dead", "retry")])
def test_dead_jobs_are_retried(
    ojs: Ojs, call: Call, failed: list[str], words: tuple[str, str]
) -> None:
    assert ojs(*words, failed[0]).code == OK
    assert states(call) == ["available", "discarded", "discarded"]
    assert ojs(*words, "type:print.page", "--yes").code == OK
    assert states(call) == ["available", "available", "discarded"]
    assert ojs(*words, "error:TIMEOUT", "--yes", "-o", "json").code == OK
    assert states(call) == ["available"] * 3


def test_dead_jobs_are_listed_grouped_and_deleted(ojs: Ojs, call: Call, failed: list[str]) -> None:
    assert {row[0] for row in ojs("dead").rows} == set(failed)
    assert len(ojs("dead", "type:mail.*").rows) == 2
    groups = ojs("dead", "--by-error").rows
    assert [row[:3] for row in groups] == [
        ["mail.send", "Timeout", "2"],
        ["print.page", "Timeout", "1"],
    ]
    assert ojs("dead", "delete", failed[0], "--yes").code == OK
    assert ojs("dead", "delete", "queue:default", "--yes").code == OK
    assert states(call) == []


def test_jobs_are_watched_until_they_have_ended(
    ojs: Ojs, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = call("POST", "/jobs", type="t", args=[], options=ONE_TRY)["job"]["id"]
    steps = [
        lambda: call("POST", "/workers/fetch", queues=["default"], worker_id="w1"),
        lambda: call("POST", "/workers/ack", job_id=job, worker_id="w1", result={"a": 1}),
    ]
    looked = finding.job

    def look(server: Any, text: str) -> Any:
        found = looked(server, text)
        if steps:
            steps.pop(0)()
        return found

    monkeypatch.setattr(finding, "job", look)
    said = ojs("jobs", "watch", job, "--interval", "0.05")
    assert [row[2] for row in said.rows] == ["available", "active", "completed"]
    assert said.code == OK
    assert json.loads(ojs("jobs", "result", job).out) == {"a": 1}


def test_what_did_not_complete_is_told_by_the_exit_code(
    ojs: Ojs, call: Call, failed: list[str]
) -> None:
    assert ojs("jobs", "watch", *failed).code == NOT_SO
    assert ojs("jobs", "result", failed[0], "--wait").code == NOT_SO
    waiting = call("POST", "/jobs", type="t", args=[])["job"]["id"]
    assert "--wait" in ojs("jobs", "result", waiting).err


def test_a_job_that_waits_is_given_another_priority(ojs: Ojs, call: Call) -> None:
    job = call("POST", "/jobs", type="t", args=[])["job"]["id"]
    assert ojs("jobs", "move", job, "--priority", "9").code == OK
    assert call("GET", f"/jobs/{job}")["job"]["priority"] == 9
