"""Sends the request of one step and reads the answer, with transport trouble as a value."""

import msgspec

from conformance.language.model import Step
from conformance.language.template import Scope, Unresolved, fill_json, fill_path, has_reference
from conformance.play.wire import Broken, Headers, Wire
from conformance.verdicts.assertions import Answer
from conformance.verdicts.exchanges import parse_body
from conformance.verdicts.result import FailedCheck

DEFAULT_CONTENT_TYPE = "application/openjobspec+json"


class Trouble(msgspec.Struct, frozen=True):
    """The reason why a request has no answer; an unreachable server ends the case."""

    failure: FailedCheck
    unreachable: bool = False


async def exchange(step: Step, scope: Scope, wire: Wire) -> Answer | Trouble:
    """Send the step's request once; the duration runs until the response headers are there."""
    try:
        content = _content(step, scope)
        path = fill_path(step.path or "", scope)
        received, number = await wire.send(step.action, path, _headers(step, content), content)
    except Unresolved as error:
        reason = f"nothing ({error.why})"
        return Trouble(_failure(step, "template", f"a value for {error.reference}", reason))
    except Broken as error:
        failure = _failure(step, "transport", "an answer", error.why, len(wire.exchanges) - 1)
        return Trouble(failure, unreachable=error.unreachable)
    return Answer(
        status=received.status,
        headers=received.headers,
        text=received.content.decode(errors="replace"),
        json=parse_body(received.content),
        duration_ms=received.duration_ms,
        unwrap=step.unwrap,
        exchange=number,
    )


def _headers(step: Step, content: bytes | None) -> Headers:
    headers = [(name.encode(), value.encode()) for name, value in step.headers.items()]
    if content is not None and b"content-type" not in {name.lower() for name, _ in headers}:
        headers.append((b"Content-Type", DEFAULT_CONTENT_TYPE.encode()))
    return headers


def _content(step: Step, scope: Scope) -> bytes | None:
    if step.raw_body is not None:
        return step.raw_body.encode()
    if not step.body_json:
        return None
    # Without references the original text goes out, so that its spelling reaches the server.
    if not has_reference(step.body_json):
        return step.body_json.encode()
    return msgspec.json.encode(fill_json(msgspec.json.decode(step.body_json), scope))


def _failure(
    step: Step, field: str, expected: str, actual: str, number: int | None = None
) -> FailedCheck:
    return FailedCheck(
        step_id=step.id, field=field, expected=expected, actual=actual, exchange=number
    )
