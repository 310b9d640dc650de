"""Gives a published case names of its own, for servers that cannot be wiped between cases."""

import re
import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from conformance.model import CaseFile, Step
from conformance.wire import Wire, parse_body

_QUEUE = re.compile(r"[a-z0-9](?:[a-z0-9_.-]*[a-z0-9])?")
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_IN_PATH = re.compile(r"/queues/([^/?{$]+)")
_COMMON = "default"
_JSON = [(b"Content-Type", b"application/json")]
_DRAIN_ROUNDS = 100


def uses_common_queue(file: CaseFile) -> bool:
    """Tell whether a case uses the queue that jobs without a queue go to, and others share."""
    if file.case is None:
        return False
    for step in file.case.all_steps:
        body = _body(step)
        if isinstance(body, dict) and "type" in body and not _queue_of(body):
            return True
    return _COMMON in _queues(file)


def isolated(file: CaseFile) -> CaseFile:
    """Return the case with fresh queue names and job ids; `default` stays, it has a meaning."""
    if file.case is None:
        return file
    token = secrets.token_hex(3)
    names = {name: f"{name}-{token}" for name in _queues(file) if name != _COMMON}
    names |= {found: _fresh(found) for found in _ids(file)}
    if not names:
        return file
    rename = _renamer(names)
    case = file.case
    changed = msgspec.structs.replace(
        case,
        steps=tuple(map(rename, case.steps)),
        setup=msgspec.structs.replace(case.setup, steps=tuple(map(rename, case.setup.steps))),
        teardown=msgspec.structs.replace(
            case.teardown, steps=tuple(map(rename, case.teardown.steps))
        ),
    )
    return msgspec.structs.replace(file, case=changed)


async def drain(wire: Wire) -> None:
    """Take away what other cases left in the common queue; a server that fails is judged later."""
    for _ in range(_DRAIN_ROUNDS):
        fetch = msgspec.json.encode({"queues": [_COMMON], "count": 100, "worker_id": "ojs-drain"})
        received, _number = await wire.send("POST", "/ojs/v1/workers/fetch", _JSON, fetch)
        body = parse_body(received.content)
        jobs = body.get("jobs") if isinstance(body, dict) else None
        if not isinstance(jobs, list) or not jobs:
            return
        for job in jobs:
            ack = {"job_id": job.get("id") if isinstance(job, dict) else None}
            content = msgspec.json.encode({**ack, "worker_id": "ojs-drain"})
            await wire.send("POST", "/ojs/v1/workers/ack", _JSON, content)


def _renamer(names: dict[str, str]) -> Callable[[Step], Step]:
    whole = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    bounded = re.compile(rf"(?<![\w.-])(?:{whole.pattern})(?![\w.-])")

    def text(value: str) -> str:
        return bounded.sub(lambda found: names[found[0]], value)

    def deep(value: Any) -> Any:
        if isinstance(value, str):
            # Only a whole value is a name: the same word inside a sentence is left alone.
            return names.get(value, value)
        if isinstance(value, list):
            return [deep(item) for item in value]
        if isinstance(value, dict):
            return {text(key) if "=" in key else key: deep(item) for key, item in value.items()}
        return value

    def rename(step: Step) -> Step:
        body = msgspec.Raw(msgspec.json.encode(deep(_body(step)))) if step.body_json else step.body
        checks = step.assertions
        if checks is not None:
            checks = msgspec.convert(deep(msgspec.to_builtins(checks)), type(checks))
        path = text(step.path) if step.path else step.path
        return msgspec.structs.replace(step, body=body, assertions=checks, path=path)

    return rename


def _queues(file: CaseFile) -> set[str]:
    found: set[str] = set()
    for step in file.case.all_steps if file.case else ():
        found.update(_IN_PATH.findall(step.path or ""))
        found.update(_named(_body(step)))
    return {name for name in found if _QUEUE.fullmatch(name)}


def _named(value: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "queue" and isinstance(item, str):
                found.add(item)
            elif key == "queues" and isinstance(item, list):
                found.update(name for name in item if isinstance(name, str))
            elif key not in ("args", "meta"):
                found |= _named(item)
    elif isinstance(value, list):
        for item in value:
            found |= _named(item)
    return found


def _ids(file: CaseFile) -> set[str]:
    bodies = [_body(step) for step in file.case.all_steps] if file.case else []
    ids = [body.get("id") for body in bodies if isinstance(body, dict)]
    return {found for found in ids if isinstance(found, str) and _UUID7.fullmatch(found)}


def _fresh(found: str) -> str:
    return f"{found[:-12]}{secrets.token_hex(6)}"


def _queue_of(body: dict[str, Any]) -> Any:
    options = body.get("options")
    return body.get("queue") or (options.get("queue") if isinstance(options, dict) else None)


def _body(step: Step) -> Any:
    return msgspec.json.decode(step.body_json) if step.body_json else None
