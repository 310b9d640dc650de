"""One case as the published runner plays it: what it does not know, it silently leaves out."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from conformance.compat import match
from conformance.compat.paths import PathError, fill, fill_json, resolve
from conformance.exchange import DEFAULT_CONTENT_TYPE
from conformance.execute import described
from conformance.model import CaseFile
from conformance.order import groups
from conformance.reset import Reset, ResetError
from conformance.values import show
from conformance.verdict import CaseResult, FailedCheck, Verdict
from conformance.wire import Broken, Received, Wire, parse_body


class _Step(msgspec.Struct):
    action: str = ""
    id: str = ""
    path: str = ""
    headers: dict[str, str] = {}
    body: msgspec.Raw = msgspec.Raw()
    delay_ms: float = 0
    duration_ms: float = 0
    parallel_with: str | None = None
    assertions: dict[str, Any] | None = None


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
        with suppress(ResetError):  # as published: a reset that fails is not noticed
            await reset()
    play = _Play(wire, sleep)
    if failures := await play.steps(case.setup.steps if case.setup else []):
        return result(Verdict.ERROR, "setup failed", failures)
    failures = await play.steps(case.steps)
    await play.steps(case.teardown.steps if case.teardown else [])
    await wire.check()
    return result(Verdict.FAIL if failures else Verdict.PASS, "", failures)


class _Play:
    def __init__(self, wire: Wire, sleep: Callable[[float], Awaitable[object]]) -> None:
        self._wire = wire
        self._sleep = sleep
        self._bodies: dict[str, object] = {}

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
            await self._sleep((step.duration_ms or step.delay_ms) / 1000)
            self._bodies[step.id] = None
            return []
        body = bytes(step.body)
        content = fill(body.decode(), self._bodies).encode() if body not in (b"", b"null") else None
        headers = [(name.encode(), value.encode()) for name, value in step.headers.items()]
        if content is not None and b"content-type" not in {name.lower() for name, _ in headers}:
            headers.append((b"Content-Type", DEFAULT_CONTENT_TYPE.encode()))
        path = fill(step.path, self._bodies)
        try:
            received, number = await self._wire.send(step.action or "GET", path, headers, content)
        except Broken as error:
            return [_failure(step, "request", "an answer", error.why, None)]
        parsed = parse_body(received.content)
        # Only an object counts as a body; anything else makes every check of the body pass.
        self._bodies[step.id] = parsed if isinstance(parsed, dict) else None
        return [
            _failure(step, field, expected, actual, number)
            for field, expected, actual in self._failed(step, received, parsed)
        ]

    def _failed(
        self, step: _Step, received: Received, parsed: object
    ) -> Iterator[tuple[str, str, str]]:
        wanted = step.assertions or {}
        if wanted.get("status") is not None and not match.status_matches(
            wanted["status"], received.status
        ):
            yield "status", show(wanted["status"]), str(received.status)
        if wanted.get("status_in") and received.status not in wanted["status_in"]:
            yield "status", f"one of {show(wanted['status_in'])}", str(received.status)
        body = wanted.get("body") or {}
        document = parsed if isinstance(parsed, dict) else {}
        if isinstance(body.get("$or"), list) and not any(
            isinstance(each, dict) and not list(self._entries(each, document))
            for each in body["$or"]
        ):
            yield "$or", "any alternative", "none"
        if isinstance(parsed, dict):
            yield from self._entries(body, parsed)
            for path in wanted.get("body_absent") or ():
                yield from self._entries({path: "absent"}, parsed)
        for name, value in (wanted.get("headers") or {}).items():
            yield from _header(name, value, received)
        yield from _timing(wanted.get("timing_ms") or {}, received.duration_ms)
        text = received.content.decode(errors="replace")
        for part in wanted.get("body_contains") or ():
            if part not in text:
                yield "body_contains", part, text

    def _entries(
        self, body: dict[str, object], document: dict[str, object]
    ) -> Iterator[tuple[str, str, str]]:
        for path, matcher in body.items():
            if path.startswith("$") and not path.startswith("$."):
                continue
            try:
                filled = fill_json(matcher, self._bodies)
                value = resolve(fill(path, self._bodies), document)
            except PathError as error:
                if matcher != "absent":
                    yield path, show(matcher), str(error)
                continue
            if not match.matches(filled, value):
                yield path, show(filled), show(value)


def _header(name: str, wanted: object, received: Received) -> Iterator[tuple[str, str, str]]:
    value = received.headers.get(name.lower(), "")
    if isinstance(wanted, dict):
        # As published: `$exists` is dropped without a word.
        wrong = "$match" in wanted and not match.matches({"$match": wanted["$match"]}, value)
        if wrong or wanted.get("$eq", value) != value:
            yield f"header:{name}", show(wanted), value
    elif wanted != value:
        yield f"header:{name}", show(wanted), value


def _timing(wanted: dict[str, float], took: int) -> Iterator[tuple[str, str, str]]:
    if (most := wanted.get("less_than")) is not None and took >= most:
        yield "timing", f"< {most:g} ms", f"{took} ms"
    if (least := wanted.get("greater_than")) is not None and took <= least:
        yield "timing", f"> {least:g} ms", f"{took} ms"
    if (around := wanted.get("approximate")) is not None:
        margin = max(around * 0.5, 100)
        if abs(took - around) > margin:
            yield "timing", f"~{around:g} ms", f"{took} ms"


def _failure(
    step: _Step, field: str, expected: str, actual: str, number: int | None
) -> FailedCheck:
    return FailedCheck(
        step_id=step.id, field=field, expected=expected, actual=actual, exchange=number
    )
