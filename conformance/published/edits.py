"""Edits of a JSON text by JSON pointers, which leave the rest of the text as it is written."""

import json
from typing import Any, Final, NamedTuple

import msgspec

_DECODER: Final = json.JSONDecoder()


class BadEdit(ValueError):
    """An edit that does not fit the text."""


class Replace(msgspec.Struct, tag="replace", tag_field="op", forbid_unknown_fields=True):
    """Puts another value in the place of one."""

    at: str
    was: Any
    now: Any


class Remove(msgspec.Struct, tag="remove", tag_field="op", forbid_unknown_fields=True):
    """Takes a member away."""

    at: str
    was: Any


class Add(msgspec.Struct, tag="add", tag_field="op", forbid_unknown_fields=True):
    """Adds a member behind the others of its object."""

    at: str
    now: Any


Edit = Replace | Remove | Add


class _Child(NamedTuple):
    """A member or element in the text: its key, and where the key, the value and its end are."""

    key: str
    start: int
    value: int
    end: int


def edited(text: str, edit: Edit) -> str:
    """Return a JSON text with one edit; BadEdit where the text is not the one it was made for."""
    try:
        opening, key = _parent(text, edit.at)
        children = _children(text, opening)
        place = next((at for at, child in enumerate(children) if child.key == key), None)
        if isinstance(edit, Add):
            if place is not None or text[opening] != "{":
                raise BadEdit(f"{edit.at} is there already, or is no member")
            return _with_member(text, opening, children, f"{_json(key)}: {_json(edit.now)}")
        if place is None:
            raise BadEdit(f"there is nothing at {edit.at}")
    except json.JSONDecodeError as error:
        raise BadEdit(f"is no JSON: {error}") from error
    child = children[place]
    found = json.loads(text[child.value : child.end])
    if _json(found) != _json(edit.was):
        raise BadEdit(f"{edit.at} is {_json(found)} instead of {_json(edit.was)}")
    if isinstance(edit, Replace):
        return text[: child.value] + _json(edit.now) + text[child.end :]
    return _without(text, children, place)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parent(text: str, pointer: str) -> tuple[int, str]:
    """Return where the object or array that holds a place begins, and the key of the place."""
    keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")]
    at = _past_space(text, 0)
    for number, key in enumerate(keys[1:-1], start=2):
        values = [child.value for child in _children(text, at) if child.key == key]
        if not values:
            raise BadEdit(f"there is nothing at {'/'.join(pointer.split('/')[:number])}")
        at = values[0]
    return at, keys[-1]


def _children(text: str, opening: int) -> list[_Child]:
    if text[opening] not in "{[":
        return []
    found: list[_Child] = []
    at = _past_space(text, opening + 1)
    while text[at] not in "}]":
        start, key = at, str(len(found))
        if text[opening] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _past_space(text, _past_space(text, at) + 1)
        value = at
        at = _DECODER.raw_decode(text, at)[1]
        found.append(_Child(key, start, value, at))
        at = _past_space(text, at)
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return found


def _past_space(text: str, at: int) -> int:
    while text[at].isspace():
        at += 1
    return at


def _with_member(text: str, opening: int, children: list[_Child], member: str) -> str:
    if not children:
        return text[: opening + 1] + member + text[opening + 1 :]
    last = children[-1]
    if len(children) > 1:
        between = text[children[-2].end : last.start]
    else:
        space = text[opening + 1 : last.start]
        between = f",{space}" if "\n" in space else ", "
    return text[: last.end] + between + member + text[last.end :]


def _without(text: str, children: list[_Child], place: int) -> str:
    child = children[place]
    if place:
        return text[: children[place - 1].end] + text[child.end :]
    if len(children) > 1:
        return text[: child.start] + text[children[1].start :]
    return text[: child.start] + text[child.end :]
