"""State of the screen of `ojs top` and the meaning of its keys, without terminal or server.

Small letters look, capitals change something and ask first.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from ojs_cli.text import count
from ojs_cli.top.snapshot import Snapshot

Json = dict[str, Any]
Table = Literal["queues", "workers", "failures"]
TABLES: Final[tuple[Table, ...]] = ("queues", "workers", "failures")
SORTS: Final = ("trouble", "name", "size")
QUIT: Final = "quit"
KEYS: Final = (
    ("up down j k", "move"),
    ("tab", "queues, workers, failures"),
    ("/", "filter by name, esc ends it"),
    ("s", "sort by trouble, name, size"),
    ("space", "tag more than one"),
    ("P", "pause or resume a queue, quiet or resume a worker"),
    ("R", "retry the dead jobs of a queue or of a failure"),
    ("C", "cancel the waiting jobs of a queue"),
    ("z", "freeze, and go on"),
    ("?", "these keys"),
    ("q", "quit"),
)


class Row(msgspec.Struct, frozen=True):
    """A line of the table: its key, its size and its severity."""

    key: str
    size: int
    trouble: int
    item: Any


class Act(msgspec.Struct, frozen=True):
    """A change to the server that needs a confirmation."""

    verb: Literal["pause", "resume", "quiet", "wake", "retry", "cancel"]
    targets: tuple[Any, ...]
    question: str


class View(msgspec.Struct):
    """The state of the screen: the table, the cursor, the filter and the question that is asked."""

    table: Table = "queues"
    selected: str | None = None
    tagged: set[str] = set()
    filter: str = ""
    typing: bool = False
    sort: str = "trouble"
    frozen: bool = False
    helping: bool = False
    to_confirm: Act | None = None
    message: str = ""

    def rows(self, snapshot: Snapshot) -> list[Row]:
        """Return the lines of the table in their order."""
        found = [row for row in _rows(self.table, snapshot) if self.filter in row.key.casefold()]
        orders: dict[str, Any] = {
            "trouble": lambda row: (-row.trouble, -row.size, row.key),
            "name": lambda row: row.key,
            "size": lambda row: (-row.size, row.key),
        }
        return sorted(found, key=orders[self.sort])

    def place(self, rows: Sequence[Row]) -> int:
        """Return the line of the cursor, which stays with its row when that moves."""
        keys = [row.key for row in rows]
        return keys.index(self.selected) if self.selected in keys else 0

    def press(self, key: str, snapshot: Snapshot) -> Act | str | None:
        """Handle a key; returns the action to carry out, or `QUIT`."""
        self.message = ""
        if self.to_confirm is not None:
            act, self.to_confirm = self.to_confirm, None
            if key in ("y", "Y"):
                return act
            self.message = "nothing was done"
            return None
        if self.typing:
            self._type(key)
            return None
        if self.helping:
            self.helping = False
            return None
        if key in ("q", "Q"):
            return QUIT
        self._look(key, snapshot)
        if key in ("P", "R", "C"):
            self.to_confirm = self._act(key, snapshot)
            if self.to_confirm is None:
                self.message = "there is nothing to do that to"
        return None

    def _type(self, key: str) -> None:
        if key == "esc":
            self.typing, self.filter = False, ""
        elif key == "enter":
            self.typing = False
        elif key == "backspace":
            self.filter = self.filter[:-1]
        elif len(key) == 1:
            self.filter += key.casefold()

    def _look(self, key: str, snapshot: Snapshot) -> None:
        rows = self.rows(snapshot)
        match key:
            case "down" | "j" | "up" | "k" | "home" | "end":
                steps = {"down": 1, "j": 1, "up": -1, "k": -1, "home": -len(rows), "end": len(rows)}
                if rows:
                    place = min(max(self.place(rows) + steps[key], 0), len(rows) - 1)
                    self.selected = rows[place].key
            case "tab":
                self.table = TABLES[(TABLES.index(self.table) + 1) % len(TABLES)]
                self.selected, self.filter = None, ""
                self.tagged.clear()
            case "/":
                self.typing, self.filter = True, ""
            case "esc":
                self.filter = ""
                self.tagged.clear()
            case "s":
                self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
            case " " if rows:
                self.selected = rows[self.place(rows)].key
                self.tagged ^= {self.selected}
            case "z" | "Z":
                self.frozen = not self.frozen
            case "?":
                self.helping = True

    def _selected(self, snapshot: Snapshot) -> list[Row]:
        """Return the tagged rows, or the one under the cursor."""
        rows = self.rows(snapshot)
        tagged = [row for row in rows if row.key in self.tagged]
        return tagged or rows[self.place(rows) :][:1]

    def _act(self, key: str, snapshot: Snapshot) -> Act | None:
        selected = self._selected(snapshot)
        if not selected:
            return None
        names = ", ".join(row.key for row in selected[:3]) + (", …" if len(selected) > 3 else "")
        keys = tuple(row.key for row in selected)
        if key == "P" and self.table == "queues":
            resumes = all(row.item.get("paused") for row in selected)
            verb = "resume" if resumes else "pause"
            return Act("resume" if resumes else "pause", keys, f"{verb} {names}")
        if key == "P" and self.table == "workers":
            wakes = all(row.item.get("state") == "quiet" for row in selected)
            call = f"let {names} take jobs again" if wakes else f"let {names} take no more jobs"
            return Act("wake" if wakes else "quiet", keys, call)
        if key == "R" and self.table == "failures":
            groups = tuple(row.item for row in selected)
            number = sum(group.dead for group in groups)
            question = f"retry {count(number, 'dead job')} or more of {names}"
            return Act("retry", groups, question) if number else None
        if self.table != "queues" or key == "P":
            return None
        member, verb = ("discarded", "retry") if key == "R" else ("available", "cancel")
        number = sum(_counts(row.item).get(member) or 0 for row in selected)
        if not number:
            return None
        kind = "dead job" if key == "R" else "waiting job"
        question = f"{verb} {count(number, kind)} of {names}"
        return Act("retry" if key == "R" else "cancel", keys, question)


def _rows(table: Table, snapshot: Snapshot) -> list[Row]:
    if table == "workers":
        return [
            Row(str(worker["id"]), int(worker.get("active_jobs") or 0), _unwell(worker), worker)
            for worker in snapshot.workers
        ]
    if table == "failures":
        return [
            # The latest failure ranks as the worst.
            Row(one.key, one.dead + one.waiting, len(snapshot.failing) - place, one)
            for place, one in enumerate(snapshot.failing)
        ]
    served = {str(name) for worker in snapshot.workers for name in worker.get("queues") or ()}
    return [
        Row(
            str(queue["name"]),
            int(_counts(queue).get("available") or 0),
            _stuck(queue, served),
            queue,
        )
        for queue in snapshot.queues
    ]


def _counts(queue: Json) -> Json:
    counts = queue.get("counts")
    return counts if isinstance(counts, dict) else {}


def _stuck(queue: Json, served: set[str]) -> int:
    if queue.get("paused"):
        return 2
    waits = bool(_counts(queue).get("available"))
    return 1 if waits and not {str(queue["name"]), "*"} & served else 0


def _unwell(worker: Json) -> int:
    if worker.get("presence", "online") != "online":
        return 2
    return int(worker.get("state") != "running")
