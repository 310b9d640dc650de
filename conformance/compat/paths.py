"""Paths and templates of the published runner: no dotted keys, no quoted brackets, only `steps.`"""

import re
from collections.abc import Mapping
from contextlib import suppress

from conformance.language.values import text_form

_FILTER = re.compile(r"\?\(\s*@\.([^=\s]+)\s*==\s*(.*?)\s*\)", re.DOTALL)
_PLACE = re.compile(r"\{\{\s*steps\.([^.}]+)\.response\.body\.([^}]+?)\s*\}\}")

_Part = tuple[str, list[str]]  # a name, and the brackets behind it


class PathError(Exception):
    """The runner reports these as failures, except where `absent` is wanted."""


def resolve(path: str, document: object) -> object:
    """Return the value at a path, None for a missing key; a step into nothing is an error."""
    return _walk(_split(path.removeprefix("$").removeprefix(".")), document)


def has_quoted_key(path: str) -> bool:
    """Tell whether a path has a key in brackets and quotes, which is no index."""
    return '["' in path or "['" in path


def fill(text: str, bodies: Mapping[str, object]) -> str:
    """Insert values of earlier answers into text; unknown references stay as they are written."""

    def insert(place: re.Match[str]) -> str:
        if place[1] not in bodies:
            return place[0]
        try:
            found = resolve(place[2], bodies[place[1]])
        except PathError:
            return place[0]
        return place[0] if found is None else text_form(found)

    return _PLACE.sub(insert, text)


def _walk(parts: list[_Part], value: object) -> object:
    for number, (name, brackets) in enumerate(parts):
        if name:
            if not isinstance(value, dict):
                raise PathError(f"cannot access field {name!r} on non-object")
            value = value.get(name)
            if value is None:
                return None
        for at, bracket in enumerate(brackets):
            if bracket == "*":
                return _each(value, [("", brackets[at + 1 :]), *parts[number + 1 :]])
            value = _bracket(value, bracket)
    return value


def _each(value: object, rest: list[_Part]) -> list[object]:
    if not isinstance(value, list):
        raise PathError("[*] on a value that is no array")
    found = []
    for item in value:
        with suppress(PathError):
            found.append(_walk(rest, item))
    return [item for item in found if item is not None]


def _bracket(value: object, bracket: str) -> object:
    if not isinstance(value, list):
        raise PathError(f"[{bracket}] on a value that is no array")
    if found := _FILTER.fullmatch(bracket):
        expected = found[2].strip("'\"")
        for item in value:
            if isinstance(item, dict) and text_form(item.get(found[1])) == expected:
                return item
        return None
    if not bracket.isdecimal():
        raise PathError(f"[{bracket}] is no index")
    if int(bracket) >= len(value):
        raise PathError(f"index {bracket} of an array with {len(value)} elements")
    return value[int(bracket)]


def _split(path: str) -> list[_Part]:
    parts: list[_Part] = []
    name, brackets, depth, inner = "", list[str](), 0, ""
    for sign in path:
        if depth:
            depth += (sign == "[") - (sign == "]")
            if depth:
                inner += sign
            else:
                brackets.append(inner)
        elif sign == "[":
            depth, inner = 1, ""
        elif sign == ".":
            parts.append((name, brackets))
            name, brackets = "", []
        else:
            name += sign
    if name or brackets:
        parts.append((name, brackets))
    return parts
