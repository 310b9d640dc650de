"""A workflow drawn in a terminal: each step below the last one that it waits for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

Json = dict[str, Any]
GLYPHS: Final[Mapping[str, str]] = {
    "completed": "✔",
    "active": "▶",
    "running": "▶",
    "pending": "●",
    "waiting": "○",
    "failed": "✘",
    "cancelled": "⊘",
}


class Line(msgspec.Struct, frozen=True):
    """A drawn step: its branches, the step itself, and further steps that it waits for."""

    branches: str
    step: Json
    also: tuple[str, ...] = ()


def drawn(steps: Sequence[Json]) -> list[Line]:
    """Draw steps and those of workflows within them."""
    by_id = {str(step.get("id")): step for step in steps}
    depths: dict[str, int] = {}
    for step in steps:
        _depth(step, by_id, depths, ())
    below: dict[str, list[Json]] = {}
    roots = []
    for step in steps:
        after = [id for id in map(str, step.get("depends_on") or ()) if id in by_id]
        if after:
            below.setdefault(max(after, key=lambda id: depths[id]), []).append(step)
        else:
            roots.append(step)
    return list(_branch(roots, below, depths, ""))


def _branch(
    steps: Sequence[Json],
    below: Mapping[str, list[Json]],
    depths: Mapping[str, int],
    indent: str,
) -> Iterator[Line]:
    for place, step in enumerate(steps):
        last = place == len(steps) - 1
        name = str(step.get("id"))
        after = [str(id) for id in step.get("depends_on") or ()]
        parent = max(after, key=lambda id: depths.get(id, 0), default=None)
        also = tuple(id for id in after if id != parent)
        yield Line(f"{indent}{'└─ ' if last else '├─ '}", step, also)
        further = indent + ("   " if last else "│  ")
        for nested in drawn(step.get("steps") or ()):
            yield msgspec.structs.replace(nested, branches=further + "┊ " + nested.branches)
        yield from _branch(below.get(name, ()), below, depths, further)


def _depth(
    step: Json, by_id: Mapping[str, Json], depths: dict[str, int], path: tuple[str, ...]
) -> int:
    """Return the number of steps on the longest path to one; a cycle, which no server stores, ends
    it."""
    name = str(step.get("id"))
    if name not in depths:
        before = [
            _depth(by_id[id], by_id, depths, (*path, name))
            for id in map(str, step.get("depends_on") or ())
            if id in by_id and id not in path and id != name
        ]
        depths[name] = 1 + max(before, default=-1)
    return depths[name]
