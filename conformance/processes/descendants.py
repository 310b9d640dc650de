"""The processes that a process has started, and those that they have started."""

from collections.abc import Iterator
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Return the ids of all processes below one; none where there is no `/proc`."""
    children: dict[int, list[int]] = {}
    for child, (_, parent) in _processes():
        children.setdefault(parent, []).append(child)
    found, parents = [], [pid]
    while parents:
        more = children.get(parents.pop(), [])
        found += more
        parents += more
    return found


def stands_still(pid: int) -> bool:
    """True if no thread of a process runs: it is stopped, or has ended."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(state in ("T", "Z", "X") for state, _ in map(_stat, threads))


def _processes() -> Iterator[tuple[int, tuple[str, int]]]:
    for place in Path("/proc").glob("[0-9]*/stat"):
        yield int(place.parent.name), _stat(place)


def _stat(place: Path) -> tuple[str, int]:
    """Return the state of a process or thread, and the process that started it."""
    try:
        # The name in brackets may contain any character, even a bracket.
        state, parent = place.read_text(errors="replace").rpartition(")")[2].split()[:2]
    except OSError:
        # The process has ended meanwhile.
        return "X", 0
    return state, int(parent)
