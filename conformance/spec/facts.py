"""Facts of clauses that can be compared: calls, statuses, names and bounds.

`spec/README.md` says how clauses write them.
"""

import http
import re
from typing import Final

import msgspec

CALL: Final = re.compile(r"(GET|POST|PUT|PATCH|DELETE|HEAD) (/[^\s?]*)[^\s]*")
_SPAN: Final = re.compile(r"`([^`]+)`")
# Members and words such as `details.limit`, codes in capitals, and headers.
_NAME: Final = re.compile(
    r"[a-z][a-z0-9_]{2,}(\.[a-z0-9_]+)*|[A-Z]+(_[A-Z]+)+|[A-Z][A-Za-z]*(-[A-Z][A-Za-z]*)+"
)
_STATUS: Final = re.compile(r"(?<![\d.,`-])\b([1-5]\d\d)\b(?![\d.,]\d)(?: `(\w+)`)?( [a-z]+)?")
# A number before one of these words is a quantity, not a status.
_COUNTED: Final = {
    *("at", "bytes", "channels", "characters", "days", "events", "frames", "jobs", "letters", "ms"),
    *("milliseconds", "names", "of", "printable", "results", "seconds", "strings"),
    "subscriptions",
}
_STATUSES: Final = {int(each) for each in http.HTTPStatus if each >= 200}
_BOUND: Final = re.compile(r"`([\w.-]+)` \(([^()]+)\)")
_BEGINS: Final = re.compile(r"-?\d[\d,.]* to |at (?:least|most) [-\d]|`?[\w.-]+`? by default")
_NUMBER: Final = r"-?\d[\d,]*(?:\.\d+)?"
_RANGE: Final = re.compile(rf"({_NUMBER}) to ({_NUMBER})(?: [a-z ]+)?")
_LEAST: Final = re.compile(rf"at least ({_NUMBER})(?: [a-z ]+)?")
_MOST: Final = re.compile(rf"at most ({_NUMBER})(?: [a-z ]+)?")
_DEFAULT: Final = re.compile(r"`?([\w.-]+)`? by default")


class Call(msgspec.Struct, frozen=True, order=True):
    """An operation: method and path."""

    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


# The words for the four calls of the worker protocol.
WORDS: Final = {
    "FETCH": Call("POST", "/ojs/v1/workers/fetch"),
    "ACK": Call("POST", "/ojs/v1/workers/ack"),
    "FAIL": Call("POST", "/ojs/v1/workers/nack"),
    "BEAT": Call("POST", "/ojs/v1/workers/heartbeat"),
}


class Status(msgspec.Struct, frozen=True, order=True):
    """A status that an answer has, with the error code beside it, if there is one."""

    status: int
    code: str = ""

    def __str__(self) -> str:
        return f"{self.status} {self.code}".rstrip()


class Bounds(msgspec.Struct, frozen=True):
    """Least and greatest value, length or number of items of a member, and its default."""

    member: str
    least: float | None = None
    most: float | None = None
    default: str | None = None

    def __str__(self) -> str:
        parts = [f"at least {self.least:g}"] if self.least is not None else []
        parts += [f"at most {self.most:g}"] if self.most is not None else []
        parts += [f"{self.default} by default"] if self.default is not None else []
        return ", ".join(parts) or "without bounds"


class Facts(msgspec.Struct, frozen=True):
    """All facts of one text, and what looks like a bound and cannot be read as one."""

    calls: tuple[Call, ...]
    statuses: tuple[Status, ...]
    names: tuple[str, ...]
    bounds: tuple[Bounds, ...]
    unread: tuple[str, ...]


def facts_of(text: str) -> Facts:
    """Read the facts of a clause."""
    line = " ".join(text.split())
    spans = _SPAN.findall(line)
    found = [Call(match[1], match[2]) for span in spans if (match := CALL.fullmatch(span))]
    prose = _SPAN.sub("", line)
    found += [call for word, call in WORDS.items() if re.search(rf"\b{word}(?:s|es)?\b", prose)]
    bounds = [(match[0], _bounds(match[1], match[2])) for match in _BOUND.finditer(line)
              if _BEGINS.match(match[2])]  # fmt: skip
    return Facts(
        calls=tuple(dict.fromkeys(found)),
        statuses=tuple(dict.fromkeys(_statuses(line))),
        names=tuple(dict.fromkeys(span for span in spans if _NAME.fullmatch(span))),
        bounds=tuple(read for _, read in bounds if read is not None),
        unread=tuple(bound for bound, read in bounds if read is None),
    )


def _statuses(line: str) -> list[Status]:
    return [
        Status(int(match[1]), match[2] or "")
        for match in _STATUS.finditer(line)
        if int(match[1]) in _STATUSES and (match[3] or "").strip() not in _COUNTED
    ]


def _bounds(member: str, text: str) -> Bounds | None:
    read: dict[str, float | str] = {}
    for part in text.split(", "):
        if match := _RANGE.fullmatch(part):
            read.update(least=number(match[1]), most=number(match[2]))
        elif match := _LEAST.fullmatch(part):
            read.update(least=number(match[1]))
        elif match := _MOST.fullmatch(part):
            read.update(most=number(match[1]))
        elif match := _DEFAULT.fullmatch(part):
            read.update(default=plain(match[1]))
        else:
            return None
    return msgspec.convert({"member": member, **read}, Bounds)


def number(text: str) -> float:
    """Read a number as clauses write it."""
    return float(text.replace(",", ""))


def plain(text: str) -> str:
    """Return a default in one spelling: 2.0 is 2."""
    return f"{float(text):g}" if re.fullmatch(_NUMBER, text) else text
