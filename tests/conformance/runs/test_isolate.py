"""Without a reset each published case gets queues and ids of its own."""

import re

import msgspec

from conformance.language.model import CaseFile
from conformance.play.wire import Wire
from conformance.runs.isolate import drain, isolated, uses_common_queue
from tests.conformance.cases import case_file, step
from tests.conformance.fake_server import FakeServer, Reply

UUID = "019539a4-aaaa-7000-8000-111111111111"


def made() -> CaseFile:
    return case_file(
        step(
            "POST",
            id="push",
            body={
                "type": "a",
                "args": ["email"],
                "id": UUID,
                "options": {"queue": "email"},
                "meta": {"queue": "email-x"},
            },
            assertions={"body": {"$.job.queue": "email", "$.job.id": UUID}},
        ),
        step(
            "POST",
            id="fetch",
            path="/workers/fetch",
            body={"queues": ["email", "email-high", "default"]},
            assertions={"body": {"$.jobs[?(@.queue=='email')].state": "active"}},
        ),
        step(id="stats", path="/queues/email/stats?queue=email", assertions={"status": 200}),
    )


def texts(file: CaseFile) -> list[str]:
    assert file.case is not None
    return [msgspec.json.encode(each).decode() for each in file.case.steps]


def test_names_are_changed_wherever_they_mean_the_queue() -> None:
    push, fetch, stats = texts(isolated(made()))
    (name,) = set(re.findall(r'"queue":"(email-[0-9a-f]{6})"', push))
    assert f'"$.job.queue":"{name}"' in push
    assert f'"queues":["{name}","email-high{name[5:]}","default"]' in fetch
    assert f"@.queue=='{name}'" in fetch
    assert f"/queues/{name}/stats?queue={name}" in stats
    assert '"meta":{"queue":"email-x"}' in push


def test_ids_are_changed_and_stay_of_their_form() -> None:
    push = texts(isolated(made()))[0]
    found = set(re.findall(r"019539a4-aaaa-7000-8000-[0-9a-f]{12}", push))
    assert len(found) == 1
    assert UUID not in found


def test_each_run_has_other_names() -> None:
    assert texts(isolated(made())) != texts(isolated(made()))


def test_the_common_queue_is_noticed() -> None:
    assert uses_common_queue(made())
    lonely = step("POST", body={"type": "a", "args": []}, assertions={"status": 201})
    assert uses_common_queue(case_file(lonely))
    other = step("POST", body={"type": "a", "args": [], "queue": "q"}, assertions={"status": 201})
    assert not uses_common_queue(case_file(other))


def test_workers_cron_entries_and_types_of_unique_jobs_are_changed() -> None:
    made = case_file(
        step("POST", path="/ojs/v1/cron", id="cron", body={"name": "nightly", "expression": "x"}),
        step(
            "POST",
            id="push",
            body={"type": "report.daily", "args": [], "options": {"unique": {"keys": ["type"]}}},
            assertions={"body": {"$.crons[*].name": "contains:nightly", "$.job.type": "report"}},
        ),
        step(
            "POST",
            id="beat",
            path="/workers/worker-1/health",
            body={"worker_id": "worker-1"},
            assertions={"status": 200},
        ),
    )
    cron, push, beat = texts(isolated(made))
    (token,) = set(re.findall(r'"name":"nightly-([0-9a-f]{6})"', cron))
    assert f'"type":"report.daily_{token}"' in push
    assert f'"contains:nightly-{token}"' in push
    assert '"$.job.type":"report"' in push
    assert f'"worker_id":"worker-1-{token}"' in beat
    assert f"/workers/worker-1-{token}/health" in beat


def test_the_file_itself_has_the_other_names() -> None:
    given = case_file(
        step("POST", body={"type": "a", "queue": "q"}, assertions={"status": 201}),
        setup={"steps": [step(id="s0", path="/queues/q", assertions={"status": 200})]},
    )
    found = isolated(given)
    assert msgspec.json.decode(found.raw)["setup"]["steps"][0]["path"].startswith("/queues/q-")
    assert found.case is not None
    assert found.case.setup.steps[0].path != "/queues/q"
    assert (found.test_id, found.problems) == ("T-1", ())


async def test_leftovers_are_taken_away() -> None:
    fetches = [Reply(json={"jobs": [{"id": "a"}, {"id": "b"}]}), Reply(json={"jobs": []})]
    server = FakeServer(
        {"POST /ojs/v1/workers/fetch": fetches, "POST /ojs/v1/workers/ack": Reply(json={})}
    )
    async with server.client() as client:
        await drain(Wire(client))
    assert [line.rpartition("/")[2] for line in server.lines] == ["fetch", "ack", "ack", "fetch"]


async def test_draining_a_strange_server_ends() -> None:
    server = FakeServer({"POST /ojs/v1/workers/fetch": Reply(500, body=b"<p>")})
    async with server.client() as client:
        await drain(Wire(client))
    assert len(server.requests) == 1
