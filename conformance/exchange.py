"""Sends the request of one step and reads the answer, with transport trouble as a value."""

from collections.abc import Callable

import httpx
import msgspec

from conformance.judge import Answer, parse_body
from conformance.model import Step
from conformance.template import Scope, Unresolved, fill_json, fill_path, has_reference
from conformance.verdict import FailedCheck

DEFAULT_CONTENT_TYPE = "application/openjobspec+json"

Clock = Callable[[], float]


class Trouble(msgspec.Struct, frozen=True):
    """Why a request has no answer; an unreachable server ends the case."""

    failure: FailedCheck
    unreachable: bool = False


async def exchange(
    step: Step, scope: Scope, client: httpx.AsyncClient, clock: Clock
) -> Answer | Trouble:
    """Send the step's request once; the duration runs until the response headers are there."""
    try:
        request = _request(step, scope, client)
        started = clock()
        response = await client.send(request, stream=True)
        duration = clock() - started
        try:
            content = await response.aread()
        finally:
            await response.aclose()
    except Unresolved as error:
        reason = f"nothing ({error.why})"
        return Trouble(_failure(step, "template", f"a value for {error.reference}", reason))
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        return Trouble(_failure(step, "transport", "an answer", _told(error)), unreachable=True)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Trouble(_failure(step, "transport", "an answer", _told(error)))
    return Answer(
        status=response.status_code,
        headers={name.lower(): value for name, value in response.headers.items()},
        text=content.decode(errors="replace"),
        json=parse_body(content),
        duration_ms=int(duration * 1000),
        unwrap=step.unwrap,
    )


def _request(step: Step, scope: Scope, client: httpx.AsyncClient) -> httpx.Request:
    headers = [(name.encode(), value.encode()) for name, value in step.headers.items()]
    content = _content(step, scope)
    if content is not None and b"content-type" not in {name.lower() for name, _ in headers}:
        headers.append((b"Content-Type", DEFAULT_CONTENT_TYPE.encode()))
    path = fill_path(step.path or "", scope)
    return client.build_request(step.action, path, headers=headers, content=content)


def _content(step: Step, scope: Scope) -> bytes | None:
    if step.raw_body is not None:
        return step.raw_body.encode()
    if not step.body_json:
        return None
    # Without references the original text goes out, so that its spelling reaches the server.
    if not has_reference(step.body_json):
        return step.body_json.encode()
    return msgspec.json.encode(fill_json(msgspec.json.decode(step.body_json), scope))


def _failure(step: Step, field: str, expected: str, actual: str) -> FailedCheck:
    return FailedCheck(step_id=step.id, field=field, expected=expected, actual=actual)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
