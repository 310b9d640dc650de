"""Reads YAML as the JSON that it stands for, and finds the lines of both.

Only what JSON has is read: `yes` and `12:30` are texts, and numbers keep their spelling.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

import yaml

from conformance.language.model import Place

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_WORDS: Final = {"": "null", "null": "null", "~": "null", "true": "true", "false": "false"}
_DEEPEST: Final = 100


class BadText(ValueError):
    """A text that is no YAML, or has what JSON has not."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


class Lines:
    """The lines of the members and items of a text."""

    def __init__(self, places: Mapping[Place, int]) -> None:
        self._places = places

    def line_at(self, place: Place) -> int:
        """Return the line of a place, or of the nearest one around it that the text has."""
        while place and place not in self._places:
            place = place[:-1]
        return self._places.get(place, 1)


def json_of(text: str) -> str:
    """Return the JSON that a text in YAML stands for."""
    return _json(_root(text), 0)


def lines_of(text: str) -> Lines:
    """Return the lines of a text in YAML or JSON."""
    # YAML has no tabs between values. JSON has them, and none inside its texts.
    return Lines(dict(_places(_root(text.replace("\t", " ")), ())))


def _root(text: str) -> yaml.Node:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise BadText(mark.line + 1 if mark else 1, f"is not YAML: {what}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadText(line, f"is not YAML: {error.reason}") from error
    except RecursionError as error:
        raise BadText(1, "is not YAML: it is nested too deeply") from error
    if node is None:
        raise BadText(1, "is empty: a mapping with the members of a case is expected")
    return node


def _json(node: yaml.Node, depth: int) -> str:
    if depth > _DEEPEST:
        raise BadText(_line(node), f"is nested more than {_DEEPEST} deep, or contains itself")
    if not node.tag.startswith("tag:yaml.org,2002:"):
        raise BadText(_line(node), f"has the tag {node.tag}: JSON has no tags")
    if isinstance(node, yaml.MappingNode):
        members = (
            f"{json.dumps(name)}:{_json(value, depth + 1)}" for name, _, value in _members(node)
        )
        return f"{{{','.join(members)}}}"
    if isinstance(node, yaml.SequenceNode):
        return f"[{','.join(_json(item, depth + 1) for item in node.value)}]"
    text = str(node.value)
    is_plain = isinstance(node, yaml.ScalarNode) and node.style is None
    if is_plain and text in _WORDS:
        return _WORDS[text]
    return text if is_plain and _NUMBER.fullmatch(text) else json.dumps(text)


def _members(node: yaml.MappingNode) -> Iterator[tuple[str, int, yaml.Node]]:
    """Yield the name, the line and the value of each member."""
    seen: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise BadText(_line(key), "has a member whose name is no text")
        if key.value in seen:
            first = seen[key.value]
            raise BadText(_line(key), f"has the member {key.value!r} again, as on line {first}")
        seen[key.value] = _line(key)
        yield key.value, _line(key), value


def _places(node: yaml.Node, at: Place) -> Iterator[tuple[Place, int]]:
    if len(at) > _DEEPEST:
        return
    if isinstance(node, yaml.MappingNode):
        for name, line, value in _members(node):
            yield (*at, name), line
            yield from _places(value, (*at, name))
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*at, number), _line(item)
            yield from _places(item, (*at, number))


def _line(node: yaml.Node) -> int:
    line: int = node.start_mark.line
    return line + 1
