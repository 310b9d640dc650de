"""Compares exchanges that texts show with the OpenAPI document beside them."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from conformance.spec.facts import Call
from conformance.spec.texts.page import Page
from conformance.verdicts.contract import Contract, escaped

_CALL: Final = re.compile(
    r"(?:^|[\s`])(?:-X )?(GET|POST|PUT|PATCH|DELETE) (?:https?://[^/\s]+)?(/ojs/[^\s`?\\]*)"
)
_GET: Final = re.compile(
    r"^curl (?!.*-X)(?:-\w+ )*(?:-s )?(?:'|\")?https?://[^/\s]+(/ojs/[^\s'\"?]*)"
)
_ANSWER: Final = re.compile(r"^HTTP/1\.1 (\d{3})[^\n]*\n?(.*)$", re.DOTALL)


def exchange_problems(pages: Iterable[Page], contract: Contract) -> Iterator[str]:
    """Yield answers whose status the document does not have, or whose body does not fit it."""
    calls = [Call(method, path) for method, path in contract.operations()]
    for page in pages:
        starts = sorted(heading.line for heading in page.headings)
        call, section = None, 0
        for block in page.blocks:
            begin = max((line for line in starts if line < block.line), default=0)
            if begin != section and not _continues(page, section, begin):
                call = None
            section = begin
            answer = _ANSWER.match(block.text)
            if answer is None:
                call = _called(block.text, calls) or call
            elif call is not None:
                place = f"{page.name}:{block.line}"
                yield from _answer(contract, call, place, int(answer[1]), answer[2])


def _continues(page: Page, mine: int, other: int) -> bool:
    """Return True if a heading is deeper than, or beside, one that belongs to the same call."""
    numbers = {heading.line: heading.number for heading in page.headings}
    return not any(numbers[line] for line in numbers if mine < line <= other)


def _called(text: str, calls: Iterable[Call]) -> Call | None:
    match = _CALL.search(text)
    get = _GET.search(text)
    method, path = (match[1], match[2]) if match else ("GET", get[1]) if get else ("", "")
    for call in calls:
        pattern = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(call.path))
        if call.method == method and re.fullmatch(pattern, path.rstrip("'\"")):
            return call
    return None


def _answer(contract: Contract, call: Call, place: str, status: int, text: str) -> Iterator[str]:
    own = f"#/paths/{escaped(call.path)}/{call.method.lower()}"
    responses: dict[Any, Any] = contract.at(own).get("responses") or {}
    found = {str(name): name for name in responses}
    if "default" in found or f"{status // 100}XX" in found:
        return
    if str(status) not in found:
        if status < 400:
            listed = ", ".join(sorted(found))
            yield f"{place}: {call} answers {status}; the OpenAPI document has {listed}"
        return
    body = _body(text)
    response = responses[found[str(status)]]
    pointer = response.get("$ref", f"{own}/responses/{status}")
    content = contract.at(pointer).get("content") or {}
    for media in content:
        if body is not None and "schema" in content[media]:
            schema = f"{pointer}/content/{escaped(media)}/schema"
            for at, message in contract.misfits(schema, body):
                where = f" at {at}" if at else ""
                yield f"{place}: answer {status} of {call} does not fit {schema}{where}: {message}"
            return


def _body(text: str) -> Any:
    try:
        return json.loads(text.partition("\n\n")[2])
    except ValueError:
        return None
