"""Path expressions into a JSON document, such as ``$.jobs[?(@.id=='x')].meta["a.b"]``."""

import re

import msgspec

from conformance.language.values import Missing, is_absent, kind, text_form


class BadPath(ValueError):
    """A path that the case language does not allow."""


class Key(msgspec.Struct, frozen=True):
    """A member by name; a bare name may join with its followers into one dotted key."""

    name: str
    quoted: bool = False


class Index(msgspec.Struct, frozen=True):
    """An array element by position."""

    at: int


class Each(msgspec.Struct, frozen=True):
    """Every element of an array."""


class First(msgspec.Struct, frozen=True):
    """The first array element whose member, as text, equals the wanted text."""

    key: tuple["Segment", ...]
    expected: str


Segment = Key | Index | Each | First
Path = tuple[Segment, ...]

_NAME = re.compile(r"[^.\[\]]+")
_BRACKET = re.compile(
    r"""\[(?:
        (?P<each>\*)
      | (?P<index>\d+)
      | "(?P<double>[^"]*)" | '(?P<single>[^']*)'
      | \?\(\s*@\.(?P<key>[^=!<>]+?)\s*==\s*
        (?: "(?P<in_double>[^"]*)" | '(?P<in_single>[^']*)' | (?P<bare>[^'")]*?) )\s*\)
    )\]""",
    re.VERBOSE,
)


def parse(text: str) -> Path:
    """Parse a path; the leading ``$`` or ``$.`` may be left out."""
    rest = text.removeprefix("$")
    at_start = rest == text
    path: list[Segment] = []
    while rest:
        found: re.Match[str] | None
        if rest.startswith("["):
            if (found := _BRACKET.match(rest)) is None:
                raise BadPath(
                    f'path {text!r}: {rest!r} is no bracket; allowed: [0], [*], ["key"], '
                    "[?(@.key=='value')]"
                )
            path.append(_bracket(found))
        else:
            dot = rest.startswith(".")
            found = _NAME.match(rest, int(dot))
            if found is None or not (dot or at_start):
                raise BadPath(f"path {text!r}: a key is expected at {rest!r}")
            path.append(Key(found.group()))
        rest = rest[found.end() :]
        at_start = False
    return tuple(path)


def _bracket(found: re.Match[str]) -> Segment:
    part = found.groupdict()
    if part["each"]:
        return Each()
    if part["index"]:
        return Index(int(part["index"]))
    if part["key"]:
        options = (part["in_double"], part["in_single"], part["bare"])
        return First(parse(part["key"]), next(text for text in options if text is not None))
    quoted = part["double"] if part["double"] is not None else part["single"]
    return Key(quoted, quoted=True)


def find(text: str, document: object) -> object:
    """Return the value at a path of the document, or a Missing that says where the path ended."""
    return _walk(parse(text), document, "$")


def _walk(path: Path, value: object, here: str) -> object:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(head, Key):
        return _member(path, value, here)
    if not isinstance(value, list):
        return Missing(f"{here} is {_with_article(kind(value))}, not an array")
    if isinstance(head, Each):
        found = (_walk(rest, item, f"{here}[*]") for item in value)
        return [item for item in found if not is_absent(item)]
    at = head.at if isinstance(head, Index) else _place_of(head, value)
    if at is None:
        return Missing(f"no element of {here} has the wanted key")
    if at >= len(value):
        return Missing(f"{here} has {len(value)} elements, no [{at}]")
    return _walk(rest, value[at], f"{here}[{at}]")


def _place_of(first: First, items: list[object]) -> int | None:
    for at, item in enumerate(items):
        member = _walk(first.key, item, "$")
        if not isinstance(member, Missing) and text_form(member) == first.expected:
            return at
    return None


def _member(path: Path, value: object, here: str) -> object:
    if not isinstance(value, dict):
        return Missing(f"{here} is {_with_article(kind(value))}, not an object")
    names = _joinable_names(path)
    # Published cases write keys that contain dots without quotes: the longest literal key wins.
    for length in range(len(names), 0, -1):
        name = ".".join(names[:length])
        if name in value:
            return _walk(path[length:], value[name], f"{here}.{name}")
    return Missing(f"{here} has no key {names[0]!r}")


def _joinable_names(path: Path) -> list[str]:
    names: list[str] = []
    for segment in path:
        if not isinstance(segment, Key) or (segment.quoted and names):
            break
        names.append(segment.name)
        if segment.quoted:
            break
    return names


def _with_article(name: str) -> str:
    if name in ("null", "nothing"):
        return name
    return f"an {name}" if name[0] in "ao" else f"a {name}"
