"""Checks of a worker's requests against the OpenAPI document."""

from collections.abc import Sequence
from typing import Final

import httpx
import msgspec

from conformance.played.record import WorkerRequest
from conformance.verdicts.contract import Contract
from conformance.verdicts.exchanges import Finding

_CHECKED_OF_A_KIND: Final = 50


def request_of(request: WorkerRequest) -> httpx.Request:
    """Return a recorded request in the form that the contract checks."""
    url = httpx.URL(f"http://played{request.path}").copy_with(query=request.query.encode() or None)
    return httpx.Request(request.method, url, headers=request.headers, content=request.content)


def request_findings(checker: Contract, requests: Sequence[WorkerRequest]) -> list[Finding]:
    """Return the deviations of requests from the contract, each once."""
    found: dict[tuple[str, str, str], Finding] = {}
    seen: dict[str, int] = {}
    for request in requests:
        seen[request.kind] = seen.get(request.kind, 0) + 1
        # Equal calls by the thousand show nothing new.
        if seen[request.kind] > _CHECKED_OF_A_KIND:
            continue
        for finding in _of_one(checker, request):
            key = (finding.pointer, finding.at, finding.message)
            found.setdefault(key, msgspec.structs.replace(finding, exchange=request.number))
    return list(found.values())


def _of_one(checker: Contract, request: WorkerRequest) -> list[Finding]:
    try:
        sent = request_of(request)
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        message = f"the request's line or headers cannot be read: {error}"
        return [Finding(operation=request.label, pointer="#", message=message, side="request")]
    return checker.request_findings(sent)
