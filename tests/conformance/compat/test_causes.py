"""Tests of causes of failures in the published runner: claims, defects, and each quirk."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.compat.play import play_as_published
from conformance.compat.quirks import RULES, Quirk, Quirks
from conformance.language.load import decode_case
from conformance.language.model import CaseFile
from conformance.play.wire import Wire
from conformance.report.console import summary_lines
from conformance.report.document import build_report, read_report
from conformance.report.junit import junit_xml
from conformance.report.page import html_page
from conformance.runs.runner import Plan, run
from conformance.verdicts.result import CaseResult, Cause, Verdict
from tests.conformance.cases import case_file, step
from tests.conformance.fake_server import FakeServer, FakeTime, Reply, Request
from tests.conformance.unpack import unpacked

MANIFEST = Reply(json={"specversion": "1.0", "conformance_level": 4})
ANSWER = {"n": 5, "list": [], "job": {"error": None}, "meta": {"a.b": 1}}


class Counting(FakeServer):
    """A server that counts jobs by queue and BEATs by worker, and hands out no jobs."""

    def __init__(self, **counts: int) -> None:
        super().__init__({"GET /ojs/manifest": MANIFEST, "GET /answer": Reply(json=ANSWER)})
        self.counts = counts

    async def _reply(self, request: Request) -> Reply:
        if request.line == "POST /reset":
            self.counts.clear()
            return Reply()
        if request.body == b"{":
            return Reply(400)
        if request.method == "POST" and request.body:
            body = msgspec.json.decode(request.body)
            name = body.get("queue") or body.get("worker_id")
            self.counts[name] = self.counts.get(name, 0) + 1
            return Reply(json={"n": self.counts[name], "name": name})
        name = request.path.rpartition("/")[2]
        return (
            Reply(json={"n": self.counts[name]})
            if name in self.counts
            else await super()._reply(request)
        )


async def played(file: CaseFile, server: FakeServer, reset: str | None = None) -> CaseResult:
    plan = Plan(files=[file], url="http://server", compat=True, reset_url=reset)
    (result,) = (await run(plan, transport=server.transport())).results
    return result


async def causes(file: CaseFile, server: FakeServer, reset: str | None = None) -> list[Cause]:
    result = await played(file, server, reset)
    assert result.is_bad
    return list(result.causes)


def pushed(**keys: Any) -> dict[str, Any]:
    """A step that makes a job in the queue `q`."""
    body = {"type": "a", "queue": "q"}
    return step("POST", body=body, **{"assertions": {"status": 200}, **keys})


def send_fetch(path: str = "/jobs/q", **wanted: Any) -> dict[str, Any]:
    return step(id="s2", path=path, assertions=wanted)


def answer(**body: Any) -> list[dict[str, Any]]:
    return [send_fetch("/answer", body={f"$.{path}": wanted for path, wanted in body.items()})]


@pytest.mark.parametrize(
    ("steps", "quirk", "place"),
    [
        ([send_fetch("/answer", status=[200])], Quirk.STATUS_LIST, "[s2] status [200]"),
        (answer(n={"$type": "number"}), Quirk.OPERATORS, "[s2] $.n"),
        (answer(n={"$gte": 5}), Quirk.OPERATORS, "[s2] $.n"),
        (answer(list={"$size": {"$lt": 1}}), Quirk.OPERATORS, "[s2] $.list"),
        (answer(job={"error": "absent"}), Quirk.NULL_INSIDE, "[s2] $.job"),
        (answer(job={"other": None}), Quirk.NULL_INSIDE, "[s2] $.job"),
        (answer(**{"meta.a.b": 1}), Quirk.DOTTED_KEYS, "[s2] $.meta.a.b"),
        (answer(**{'meta["a.b"]': 1}), Quirk.QUOTED_KEYS, '[s2] $.meta["a.b"]'),
        (answer(**{"list[3]": None}), Quirk.DEAD_END, "[s2] $.list[3]"),
        (
            [
                step(path="/answer", assertions={"status": 200}),
                *answer(n="{{steps.s1.response.body.n}}"),
            ],
            Quirk.FILLING,
            "[s2] $.n",
        ),
        (
            [
                pushed(capture={"name": "$.name"}),
                send_fetch("/jobs/{{name}}", status=200),
            ],
            Quirk.CAPTURES,
            "[s2] path: name",
        ),
        ([pushed(repeat=3), send_fetch(body={"$.n": 3})], Quirk.REPEAT, "[s1] repeat 3"),
        (
            [step("POST", raw_body="{", assertions={"status": 400})],
            Quirk.RAW_BODY,
            "[s1] raw_body",
        ),
    ],
)
async def test_each_quirk_is_named_with_its_rule_and_place(
    steps: list[dict[str, Any]], quirk: Quirk, place: str
) -> None:
    (cause,) = await causes(case_file(*steps), Counting(), "/reset")
    told = (cause.kind, cause.name, cause.why, cause.places)
    assert told == ("quirk", quirk, RULES[quirk], (place,))


def test_every_quirk_is_in_the_documentation() -> None:
    told = (Path(__file__).parents[3] / "docs/conformance.md").read_text(encoding="utf-8")
    assert [quirk for quirk in Quirk if f"`{quirk}`" not in told] == []


async def test_a_wait_that_is_slept_twice_can_be_mended() -> None:
    file = case_file(step("WAIT", id="w", delay_ms=300), send_fetch("/answer", status=200))
    naps = []
    for mended in (frozenset[Quirk](), frozenset({Quirk.WAIT})):
        time = FakeTime()
        async with Counting().client() as client:
            await play_as_published(file, Wire(client), None, Quirks(mended), sleep=time.sleep)
        naps.append(time.now)
    assert naps == [0.6, 0.3]


async def test_what_others_left_behind_is_told_where_it_came_to_light() -> None:
    file = case_file(pushed(assertions={"body": {"$.n": 1}}))
    (cause,) = await causes(file, Counting(q=7))
    assert (cause.name, cause.places) == (Quirk.NAMES, ("[s1] $.n",))
    assert not (await played(file, Counting())).is_bad


async def test_several_quirks_are_told_together_and_none_that_makes_no_difference() -> None:
    file = case_file(
        pushed(repeat=2, assertions={"body": {"$.n": {"$in": [1, 2]}}}),
        send_fetch("/answer", status=[200], body={"$.meta.a.b": 1}),
    )
    found = await causes(file, Counting(q=7))
    assert [cause.name for cause in found] == [
        Quirk.DOTTED_KEYS,
        Quirk.NAMES,
        Quirk.STATUS_LIST,
    ]


@pytest.mark.parametrize(
    "steps",
    [
        answer(n=6),
        [send_fetch("/answer", status=[404])],
        [
            pushed(capture={"name": "$.name"}),
            send_fetch("/jobs/{{name}}", status=200, body={"$.n": 9}),
        ],
        [pushed(repeat=3), send_fetch(body={"$.n": 9})],
        answer(n={"$type": "string"}, **{"meta.a.b": 1}),
    ],
)
async def test_what_is_wrong_without_any_quirk_has_no_cause(steps: list[dict[str, Any]]) -> None:
    result = await played(case_file(*steps), Counting())
    assert (result.verdict, result.causes) == (Verdict.FAIL, ())


async def test_what_fails_once_and_holds_then_has_no_cause() -> None:
    file = case_file(pushed(), send_fetch("/once", status=200))
    replies = [Reply(500), *(Reply() for _ in range(9))]
    server = Counting()
    server._replies["GET /once"] = replies
    assert (await played(file, server)).causes == ()


async def test_a_worker_that_was_known_before_tells_what_a_case_met() -> None:
    beat = step("POST", body={"worker_id": "w-1"}, assertions={"status": 200})
    replies = [Reply(500), *(Reply() for _ in range(9))]
    server = Counting()
    server._replies |= {"GET /once": replies, "GET /ojs/v1/workers/w-1": Reply(json={})}
    (cause,) = (await played(case_file(beat, send_fetch("/once", status=200)), server)).causes
    assert (cause.name, cause.places) == (Quirk.NAMES, ("[s2] status",))


async def test_what_is_not_claimed_or_defective_is_no_quirk() -> None:
    fails = [step(assertions={"status": 200})]
    for keys, kind, why in (
        ({"level": 5}, "not supported", "level 5 not claimed; the manifest says 4"),
        ({"deprecated": True, "deprecated_reason": "old"}, "defective", "deprecated: old"),
        ({"mystery": 1}, "defective", "unknown key 'mystery' in the case"),
    ):
        (cause,) = await causes(case_file(*fails, **keys), Counting())
        assert cause.kind == kind
        assert cause.why.startswith(why)
    reported = step(
        "POST", body={"queue": "q", "error": {"type": "Mine"}}, assertions={"status": 200}
    )
    history = {"status": [200], "body": {"$.errors[0].type": "Theirs"}}
    server = Counting()
    server._replies["GET /errors"] = Reply(json={"errors": [{"type": "Mine"}]})
    file = case_file(reported, step(id="s2", path="/errors", assertions=history))
    assert [cause.kind for cause in await causes(file, server)] == ["defective", "quirk"]


@pytest.mark.parametrize(
    "assertions",
    [
        {"status_in": 200},
        {"headers": ["x"]},
        {"timing_ms": {"less_than": "x"}},
        {"body": {"$.n": {"range": {"min": "x"}}}},
        {"body": []},
        7,
    ],
)
async def test_broken_assertions_have_a_verdict(assertions: Any) -> None:
    content = msgspec.json.encode(
        {"test_id": "T", "steps": [step(path="/answer", assertions=assertions)]}
    )
    (cause,) = await causes(decode_case(content, Path("broken.json")), Counting())
    assert cause.kind == "defective"


async def test_every_report_tells_the_causes(tmp_path: Path) -> None:
    file = case_file(*answer(n={"$gte": 5}), test_id="T-9")
    result = await played(file, Counting())
    report = build_report([result], target="t", run_at="2026-01-02T03:04:05Z", duration_ms=1)
    told = "quirk unknown-operators: `$type` alone"
    out = "\n".join(summary_lines([result]))
    assert f"    because: {told}" in out
    assert "1 of 1 failures are no fault of the server: 1 quirk" in out
    assert told in junit_xml(report).decode()
    (shown,) = unpacked(html_page(report, {}))["cases"].values()
    assert [one for one in shown["causes"] if one.startswith(told)]
    place = tmp_path / "report.json"
    place.write_bytes(msgspec.json.encode(report))
    assert read_report(place).cases[0].causes == result.causes
