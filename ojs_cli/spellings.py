"""Aliases of commands: singular and plural, and those of the protocol's own program."""

from collections.abc import Sequence
from typing import Final

from ojs_cli.nouns import ALIASES, FLAGS, SECTIONS

_FILTERS: Final = ("--state", "--queue", "--type")
# The verbs that stand before the noun in kubectl.
_VERBS: Final = {"get": "list", "list": "list", "describe": "show", "show": "show"}


def understood(arguments: Sequence[str]) -> tuple[list[str], str]:
    """Translate an alias into the command's own words; a changed verb is told to the user."""
    line = list(arguments)
    if not line:
        return line, ""
    if line[0] in _VERBS and (noun := _listed(line[1:2])):
        return _with_note([noun, _VERBS[line[0]], *line[2:]])
    line[0] = ALIASES.get(line[0], line[0])
    if line[0] == "status" and len(line) > 1 and not line[1].startswith("-"):
        return _with_note(["jobs", "show", *line[1:]])
    if line[0] == "cancel" and len(line) > 1:
        return _with_note(["jobs", "cancel", *line[1:]])
    if line[0] == "worker" and line[1:2] and line[1] in ("list", "show", "quiet", "terminate"):
        line[0] = "workers"
    if line[1:2] == ["rm"]:
        return _with_note([line[0], "delete", *line[2:]])
    verbs = FLAGS.get(line[0], {})
    for place, word in enumerate(line[1:], 1):
        flag, equals, value = word.partition("=")
        if flag in verbs:
            rest = [*line[1:place], *([value] if equals else []), *line[place + 1 :]]
            return _with_note([line[0], verbs[flag], *rest])
    if line[0] in ("jobs", "dead"):
        line = _with_filters(line)
    return line, ""


def _listed(words: Sequence[str]) -> str | None:
    """Return the noun that a word means, as in `get job`; None if it is none."""
    for word in words:
        nouns = {noun for section in SECTIONS.values() for noun in section}
        for name in (f"{word}s", word, ALIASES.get(word, "")):
            if name in nouns:
                return name
    return None


def _with_filters(line: list[str]) -> list[str]:
    """Write `--state active` and `--state=active` as `state:active`."""
    found: list[str] = []
    words = iter(line)
    for word in words:
        flag, equals, value = word.partition("=")
        if flag in _FILTERS:
            found.append(f"{flag[2:]}:{value if equals else next(words, '')}")
        else:
            found.append(word)
    return found


def _with_note(line: list[str]) -> tuple[list[str], str]:
    return line, f"this is now written: ojs {' '.join(line)}"
