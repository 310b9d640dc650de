"""Gives a published case names of its own, for servers that cannot be reset between cases."""

import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from conformance.language.load import decode_case
from conformance.language.model import CaseFile, Step
from conformance.play.wire import Wire
from conformance.verdicts.exchanges import parse_body

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_.-]*[a-z0-9])?")
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_IN_PATH = re.compile(r"/queues/([^/?{$]+)")
_TYPE_IN_PATH = re.compile(r"/schemas/([^/?{$]+)")
_COMMON = "default"
_SAYING = ("body", "assertions", "request", "expect")  # the members of a step that contain names
_JSON = [(b"Content-Type", b"application/json")]
_DRAIN_ROUNDS = 100


def uses_common_queue(file: CaseFile) -> bool:
    """Tell whether a case uses the queue that jobs without a queue go to, and others share."""
    if file.case is None:
        return False
    for step in file.case.all_steps:
        body = _body(step)
        if isinstance(body, dict) and "type" in body and not _option(body, "queue"):
            return True
    return _COMMON in _names(file.case.all_steps)


async def known_workers(file: CaseFile, wire: Wire) -> list[str]:
    """The workers of a case that the server knows already, as far as it tells."""
    bodies = [_body(step) for step in file.case.all_steps] if file.case else []
    named = {
        str(body["worker_id"]) for body in bodies if isinstance(body, dict) and "worker_id" in body
    }
    known = []
    for name in sorted(named):
        received, _ = await wire.send("GET", f"/ojs/v1/workers/{quote(name, safe='')}")
        if received.status == 200:
            known.append(name)
    return known


def isolated(file: CaseFile) -> CaseFile:
    """Return the case with unused names; `default` stays, because that name has a meaning."""
    if file.case is None:
        return file
    token = secrets.token_hex(3)
    steps = file.case.all_steps
    names = {name: f"{name}-{token}" for name in _names(steps) - {_COMMON}}
    names |= {name: f"{name}_{token}" for name in _unique_types(steps)}
    names |= {found: _fresh(found) for found in _ids(steps)}
    if not names:
        return file
    content = msgspec.json.encode(_renamed(msgspec.json.decode(file.raw), names))
    again = decode_case(content, Path(file.path))
    return msgspec.structs.replace(again, suite=file.suite)


async def drain(wire: Wire) -> None:
    """Fetch and settle jobs that other cases left in the common queue, and ignore failures."""
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


def _renamed(case: Any, names: Mapping[str, str]) -> Any:
    """The raw case with other names wherever its steps send, read or compare them."""
    whole = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    bounded = re.compile(rf"(?<![\w.-])(?:{whole.pattern})(?![\w.-])")

    def text(value: str) -> str:
        return bounded.sub(lambda found: names[found[0]], value)

    def deep(value: Any) -> Any:
        if isinstance(value, str):
            # Rename only whole values, and operands of matchers such as `contains:x`, but not the
            # same word inside a sentence.
            kind, colon, name = value.rpartition(":")
            return f"{kind}{colon}{names.get(name, name)}"
        if isinstance(value, list):
            return [deep(item) for item in value]
        if isinstance(value, dict):
            return {text(key) if "=" in key else key: deep(item) for key, item in value.items()}
        return value

    def step(given: dict[str, Any]) -> dict[str, Any]:
        changed = {name: deep(given[name]) for name in _SAYING if name in given}
        path = {"path": text(given["path"])} if isinstance(given.get("path"), str) else {}
        return {**given, **changed, **path}

    def section(given: Any) -> Any:
        steps = given.get("steps") if isinstance(given, dict) else None
        return given if steps is None else {**given, "steps": [step(each) for each in steps]}

    around = {name: section(case[name]) for name in ("setup", "teardown") if name in case}
    return {**section(case), **around}


def _names(steps: Iterable[Step]) -> set[str]:
    """Names of queues, workers and cron entries."""
    found: set[str] = set()
    for step in steps:
        body = _body(step)
        found.update(_IN_PATH.findall(step.path or ""))
        found.update(_named(body))
        if isinstance(body, dict) and (step.path or "").endswith("/cron"):
            found.add(str(body.get("name", "")))
    return {name for name in found if _NAME.fullmatch(name)}


def _named(value: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("queue", "worker_id") and isinstance(item, str):
                found.add(item)
            elif key == "queues" and isinstance(item, list):
                found.update(name for name in item if isinstance(name, str))
            elif key not in ("args", "meta"):
                found |= _named(item)
    elif isinstance(value, list):
        for item in value:
            found |= _named(item)
    return found


def _unique_types(steps: Iterable[Step]) -> set[str]:
    """Types of jobs of which there may be one only, in whichever queue it is, or one schema."""
    found: set[str] = set()
    for step in steps:
        body = _body(step)
        found.update(_TYPE_IN_PATH.findall(step.path or ""))
        if isinstance(body, dict) and (_option(body, "unique") or _option(body, "unique_policy")):
            found.add(str(body.get("type", "")))
    return found - {""}


def _ids(steps: Iterable[Step]) -> set[str]:
    bodies = map(_body, steps)
    ids = [body.get("id") for body in bodies if isinstance(body, dict)]
    return {found for found in ids if isinstance(found, str) and _UUID7.fullmatch(found)}


def _fresh(found: str) -> str:
    return f"{found[:-12]}{secrets.token_hex(6)}"


def _option(body: dict[str, Any], name: str) -> Any:
    options = body.get("options")
    return body.get(name) or (options.get(name) if isinstance(options, dict) else None)


def _body(step: Step) -> Any:
    return msgspec.json.decode(step.body_json) if step.body_json else None
