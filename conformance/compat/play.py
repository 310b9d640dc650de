"""Plays one case like the published runner, which silently skips what it does not know."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from conformance.compat import match
from conformance.compat.meaning import Meaning
from conformance.compat.paths import PathError
from conformance.compat.quirks import Quirks
from conformance.language.match import Mismatch
from conformance.language.model import CaseFile
from conformance.language.order import groups
from conformance.language.values import show
from conformance.play.published_case import described
from conformance.play.published_step import DEFAULT_CONTENT_TYPE
from conformance.play.reset import Reset, ResetError
from conformance.play.wire import Broken, Wire
from conformance.verdicts.exchanges import Received, parse_body
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict

_Wrong = tuple[str, Mismatch]  # the field, and its mismatch


class _Assertions(msgspec.Struct):
    status: Any = None
    status_in: list[int] | None = None
    body: dict[str, Any] | None = None
    body_absent: list[str] | None = None
    body_contains: list[str] | None = None
    headers: dict[str, Any] | None = None
    timing_ms: dict[str, float] | None = None


class _Step(msgspec.Struct):
    action: str = ""
    id: str = ""
    path: str = ""
    headers: dict[str, str] = {}
    body: msgspec.Raw = msgspec.Raw()
    delay_ms: float = 0
    duration_ms: float = 0
    parallel_with: str | None = None
    assertions: _Assertions | None = None


class _Section(msgspec.Struct):
    steps: list[_Step] = []


class _Case(msgspec.Struct):
    steps: list[_Step] = []
    setup: _Section | None = None
    teardown: _Section | None = None


async def play_as_published(
    file: CaseFile,
    wire: Wire,
    reset: Reset | None = None,
    quirks: Quirks | None = None,
    *,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> CaseResult:
    """Play one case; there is no verdict but pass, fail, and error when the setup fails."""
    started = time.perf_counter()

    def result(verdict: Verdict, reason: str, failures: Sequence[FailedCheck]) -> CaseResult:
        return described(
            file,
            verdict=verdict,
            reason=reason,
            failures=tuple(failures),
            findings=tuple(wire.findings),
            exchanges=tuple(wire.exchanges),
            duration_ms=int((time.perf_counter() - started) * 1000),
        )

    try:
        case = msgspec.json.decode(bytes(file.raw), type=_Case)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return result(Verdict.ERROR, f"file cannot be decoded: {error}", [])
    if reset is not None:
        with suppress(ResetError):  # as published: a failed reset is ignored
            await reset()
    play = _Play(wire, sleep, Meaning(None if file.problems else file.case, quirks or Quirks()))
    if failures := await play.steps(case.setup.steps if case.setup else []):
        return result(Verdict.ERROR, "setup failed", failures)
    failures = await play.steps(case.steps)
    await play.steps(case.teardown.steps if case.teardown else [])
    await wire.check()
    return result(Verdict.FAIL if failures else Verdict.PASS, "", failures)


class _Play:
    def __init__(
        self, wire: Wire, sleep: Callable[[float], Awaitable[object]], meaning: Meaning
    ) -> None:
        self._wire = wire
        self._sleep = sleep
        self._meaning = meaning

    async def steps(self, steps: list[_Step]) -> list[FailedCheck]:
        failures: list[FailedCheck] = []
        for group in groups(steps):
            for found in await asyncio.gather(*map(self._step, group)):
                failures += found
        return failures

    async def _step(self, step: _Step) -> list[FailedCheck]:
        if step.delay_ms > 0:
            await self._sleep(step.delay_ms / 1000)
        if step.action == "WAIT":
            # As published: without a duration the delay is slept a second time.
            again = not step.duration_ms and self._meaning.waits_twice(step.id, step.delay_ms)
            await self._sleep((step.delay_ms if again else step.duration_ms) / 1000)
            self._meaning.received(step.id, None)
            return []
        failures = []
        for _ in range(self._meaning.times(step.id)):
            failures += await self._send(step)
        return failures

    async def _send(self, step: _Step) -> list[FailedCheck]:
        content = self._meaning.content(step.id, bytes(step.body))
        headers = [(name.encode(), value.encode()) for name, value in step.headers.items()]
        if content is not None and b"content-type" not in {name.lower() for name, _ in headers}:
            headers.append((b"Content-Type", DEFAULT_CONTENT_TYPE.encode()))
        path = self._meaning.text(step.path, f"[{step.id}] path")
        try:
            received, number = await self._wire.send(step.action or "GET", path, headers, content)
        except Broken as error:
            return [_failure(step, "request", Mismatch("", "an answer", error.why), None)]
        parsed = parse_body(received.content)
        # As published: a body that is no object passes every check of the body.
        self._meaning.received(step.id, parsed if isinstance(parsed, dict) else None)
        return [
            _failure(step, field, bad, number)
            for field, bad in self._failed(step, received, parsed)
        ]

    def _failed(self, step: _Step, received: Received, parsed: object) -> Iterator[_Wrong]:
        expected = step.assertions or _Assertions()
        in_force = self._meaning.at(f"[{step.id}] status {show(expected.status)}")
        if expected.status is not None and not match.status_matches(
            expected.status, received.status, in_force
        ):
            yield "status", Mismatch("", show(expected.status), str(received.status))
        if expected.status_in and received.status not in expected.status_in:
            allowed = f"one of {show(expected.status_in)}"
            yield "status", Mismatch("", allowed, str(received.status))
        body = expected.body or {}
        document = parsed if isinstance(parsed, dict) else {}
        if isinstance(body.get("$or"), list) and not any(
            isinstance(each, dict) and not list(self._entries(step, each, document))
            for each in body["$or"]
        ):
            yield "$or", Mismatch("", "any alternative", "none")
        if isinstance(parsed, dict):
            yield from self._entries(step, body, parsed)
            for path in expected.body_absent or ():
                yield from self._entries(step, {path: "absent"}, parsed)
        for name, value in (expected.headers or {}).items():
            yield from _header(name, value, received)
        yield from _timing(expected.timing_ms or {}, received.duration_ms)
        text = received.content.decode(errors="replace")
        for part in expected.body_contains or ():
            if part not in text:
                yield "body_contains", Mismatch("", part, text)

    def _entries(
        self, step: _Step, body: dict[str, object], document: dict[str, object]
    ) -> Iterator[_Wrong]:
        for path, matcher in body.items():
            if path.startswith("$") and not path.startswith("$."):
                continue
            place = f"[{step.id}] {path}"
            try:
                filled = self._meaning.matcher(matcher, place)
                value = self._meaning.find(self._meaning.text(path, place), document, place)
            except PathError as error:
                if self._meaning.is_wrong_at_a_dead_end(matcher, place):
                    yield path, Mismatch("", show(matcher), str(error), absent=True)
                continue
            if not match.matches(filled, value, self._meaning.at(place)):
                yield path, Mismatch("", show(filled), show(value), absent=value is None)


def _header(name: str, expected: object, received: Received) -> Iterator[_Wrong]:
    value = received.headers.get(name.lower(), "")
    if isinstance(expected, dict):
        # As published: `$exists` is ignored.
        wrong = "$match" in expected and not match.matches({"$match": expected["$match"]}, value)
        if wrong or expected.get("$eq", value) != value:
            yield f"header:{name}", Mismatch("", show(expected), value)
    elif expected != value:
        yield f"header:{name}", Mismatch("", show(expected), value)


def _timing(expected: dict[str, float], took: int) -> Iterator[_Wrong]:
    if (most := expected.get("less_than")) is not None and took >= most:
        yield "timing", Mismatch("", f"< {most:g} ms", f"{took} ms")
    if (least := expected.get("greater_than")) is not None and took <= least:
        yield "timing", Mismatch("", f"> {least:g} ms", f"{took} ms")
    if (around := expected.get("approximate")) is not None:
        margin = max(around * 0.5, 100)
        if abs(took - around) > margin:
            yield "timing", Mismatch("", f"~{around:g} ms", f"{took} ms")


def _failure(step: _Step, field: str, bad: Mismatch, number: int | None) -> FailedCheck:
    return FailedCheck(
        step_id=step.id,
        field=field,
        expected=bad.expected,
        actual=bad.actual,
        absent=bad.absent,
        exchange=number,
    )
