"""Checks of a worker's requests against the OpenAPI document."""

from collections.abc import Sequence
from typing import Final

import httpx
import msgspec

from conformance.contract import Contract
from conformance.played.record import Asked
from conformance.wire import Finding

_CHECKED_OF_A_KIND: Final = 50


def request_of(asked: Asked) -> httpx.Request:
    """Return a recorded request in the form that the contract checks."""
    url = httpx.URL(f"http://played{asked.path}").copy_with(query=asked.query.encode() or None)
    return httpx.Request(asked.method, url, headers=asked.headers, content=asked.content)


def request_findings(checker: Contract, all_asked: Sequence[Asked]) -> list[Finding]:
    """Return the deviations of requests from the contract, each once."""
    found: dict[tuple[str, str, str], Finding] = {}
    seen: dict[str, int] = {}
    for asked in all_asked:
        seen[asked.kind] = seen.get(asked.kind, 0) + 1
        # Equal calls by the thousand show nothing new.
        if seen[asked.kind] > _CHECKED_OF_A_KIND:
            continue
        for finding in _of_one(checker, asked):
            key = (finding.pointer, finding.at, finding.message)
            found.setdefault(key, msgspec.structs.replace(finding, exchange=asked.number))
    return list(found.values())


def _of_one(checker: Contract, asked: Asked) -> list[Finding]:
    try:
        sent = request_of(asked)
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        message = f"the request's line or headers cannot be read: {error}"
        return [Finding(operation=asked.label, pointer="#", message=message, side="request")]
    return checker.request_findings(sent)
