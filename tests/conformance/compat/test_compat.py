"""The published runner's verdicts, its faults included."""

from typing import Any

import pytest

from conformance.compat.match import matches, status_matches
from conformance.compat.paths import PathError, fill, resolve
from conformance.compat.play import play_as_published
from conformance.language.model import CaseFile
from conformance.play.wire import Wire
from conformance.verdicts.result import CaseResult, Verdict
from tests.conformance.cases import case_file, step
from tests.conformance.fake_server import FakeServer, FakeTime, Reply
from tests.conformance.playing import failed_checks


async def played(file: CaseFile, server: FakeServer, time: FakeTime | None = None) -> CaseResult:
    async with server.client() as client:
        return await play_as_published(file, Wire(client), sleep=(time or FakeTime()).sleep)


@pytest.mark.parametrize(
    ("wanted", "value", "passes"),
    [
        ("any", None, True),
        ("exists", None, False),
        ("exists", 0, True),
        ({"$type": "number"}, 1, False),
        ({"$gte": 1}, 5, False),
        ({"$exists": True, "$type": "number"}, 1, True),
        ({"$exists": True, "$type": "number"}, "1", False),
        ({"$size": {"$gte": 2}}, [1, 2], True),
        ({"$size": {"$gt": 2}}, [1, 2, 3], False),
        ({"$empty": True}, [1], True),
        ({"$in": [1, "a"]}, "a", True),
        ({"$match": "b+"}, "abba", True),
        ({"range": {"min": 1}}, 0, False),
        ({"a": 1, "b": "absent"}, {"a": 1}, True),
        ({"a": 1, "b": "absent"}, {"a": 1, "b": None}, False),
        ("~100", 150, True),
        ("~100", 151, False),
        ("string:uuidv7", "01912e4a-bf80-7123-8e56-ef1234567890", True),
        ("string:datetime", "2026-99-99T00:00:00Z", True),
        ("number:range(1,2)", 2, True),
        ("array:length(1)", [1], True),
        ("array:min:2", [1], False),
        ("contains:1", [1.0], True),
        ("not_contains:1", [1.0], False),
        ([], [], True),
        (None, None, True),
        (1, 1.0, True),
        (1, "1", False),
        ("string:odd", "string:odd", True),
    ],
)
def test_matchers(wanted: Any, value: Any, passes: bool) -> None:
    assert matches(wanted, value) is passes


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [(200, True), ([200], False), ("one_of:200,201", True), ({"$in": [200]}, True), (201, False)],
)
def test_statuses(wanted: Any, passes: bool) -> None:
    assert status_matches(wanted, 200) is passes


DOCUMENT = {"a": {"b": [{"id": "x", "n": 1}, {"id": "y"}]}, "d.e": 1, "nothing": None}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a.b[0].id", "x"),
        ("a.b[*].id", ["x", "y"]),
        ("a.b[*].n", [1]),
        ("$.a.b[?(@.id=='y')].id", "y"),
        ("$.missing.deeper", None),
        ("$.d.e", None),
    ],
)
def test_paths(path: str, found: Any) -> None:
    assert resolve(path, DOCUMENT) == found


@pytest.mark.parametrize(
    "path", ["$.a.b[7]", "$.a.b.c", '$["d.e"]', "$.a[0]", "$.a.b[?(@.id=='z')].n"]
)
def test_paths_that_are_errors(path: str) -> None:
    with pytest.raises(PathError):
        resolve(path, DOCUMENT)


def test_only_answers_of_steps_are_inserted() -> None:
    text = "{{steps.s.response.body.a.b[0].id}} {{steps.s.response.body.nothing}} {{x}} ${y}"
    assert fill(text, {"s": DOCUMENT}) == "x {{steps.s.response.body.nothing}} {{x}} ${y}"


async def test_answers_that_are_no_objects_pass_every_check_of_the_body() -> None:
    wanted = {"body": {"$.job.id": "exists"}, "body_absent": ["$.x"]}
    for body in (b"[]", b"", b"<p>", b"7"):
        result = await played(
            case_file(step(assertions=wanted)), FakeServer({"GET /jobs": Reply(body=body)})
        )
        assert result.verdict is Verdict.PASS
    result = await played(
        case_file(step(assertions=wanted)), FakeServer({"GET /jobs": Reply(json={"x": 1})})
    )
    assert failed_checks(result) == [
        '[s1] $.job.id: expected "exists", got null',
        '[s1] $.x: expected "absent", got 1',
    ]


async def test_other_dialects_pass_on_nothing() -> None:
    b = case_file(
        step(expect={"status": 418}, capture={"id": "$.id"}), step(id="s2", path="/${id}")
    )
    server = FakeServer({"GET /jobs": Reply()})
    assert (await played(b, server)).verdict is Verdict.PASS
    assert server.lines == ["GET /jobs", "GET /${id}"]
    c = case_file({"action": "push", "request": {"type": "a"}, "expect": {"status": 418}})
    server = FakeServer()
    assert (await played(c, server)).verdict is Verdict.PASS
    assert server.lines == ["PUSH /"]


async def test_asserts_are_sent_and_waits_without_a_duration_sleep_twice() -> None:
    time = FakeTime()
    flags = {"job_id": "x", "fetches": ["a", "b"], "exactly_one_has_job": True}
    file = case_file(
        step("WAIT", id="w", delay_ms=300),
        step("WAIT", id="v", delay_ms=100, duration_ms=200),
        {"id": "a", "action": "ASSERT", "assertions": {"exclusive_claim": flags}},
    )
    server = FakeServer()
    assert (await played(file, server, time)).verdict is Verdict.PASS
    assert time.naps == [0.3, 0.3, 0.1, 0.2]
    assert server.lines == ["ASSERT /"]


async def test_raw_bodies_and_repeats_are_not_known() -> None:
    server = FakeServer({"POST /jobs": Reply()})
    await played(
        case_file(step("POST", raw_body="{", repeat=3, assertions={"status": 200})), server
    )
    assert [request.body for request in server.requests] == [b""]


async def test_header_exists_is_never_checked() -> None:
    headers = {"X-A": {"$exists": True}, "X-B": {"$match": "^b"}, "X-C": {"$eq": "c"}}
    server = FakeServer({"GET /jobs": Reply(headers={"X-B": "a", "X-C": "c"})})
    result = await played(case_file(step(assertions={"headers": headers})), server)
    assert [failure.field for failure in result.failures] == ["header:X-B"]


async def test_a_failed_setup_is_an_error() -> None:
    file = case_file(
        step(assertions={"status": 200}),
        setup={"steps": [step(id="s0", path="/setup", assertions={"status": 200})]},
    )
    result = await played(file, FakeServer())
    assert (result.verdict, result.reason) == (Verdict.ERROR, "setup failed")
