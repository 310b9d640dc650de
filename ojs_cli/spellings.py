"""Aliases of commands: singular and plural, and those of the protocol's own program."""

from collections.abc import Sequence
from typing import Final

from ojs_cli.nouns import ALIASES, FLAGS

_FILTERS: Final = ("--state", "--queue", "--type")


def understood(arguments: Sequence[str]) -> tuple[list[str], str]:
    """Translate an alias into the command's own words; a changed verb is told to the user."""
    line = list(arguments)
    if not line:
        return line, ""
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
