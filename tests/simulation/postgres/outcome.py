"""The outcome of a duel, in a form in which two plays can be compared."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from ojs_server.ops.engine.batch import Committed
from ojs_server.store.records import POSITION_BITS
from ojs_wire import codec
from tests.simulation.postgres.duel import Played
from tests.simulation.postgres.world import Rows

# Not in a number of other digits, as in bytes.
_LONG: Final = re.compile(r"(?<!\w)\d{7,19}(?!\w)")
# These are made of the database's clock.
_OF_CLOCK: Final = re.compile(r'"(token|seen_at)":("[^"]*"|\d+)')

# The transactions of both sides, by their numbers.
Transactions = Mapping[int, str]


class Outcome(msgspec.Struct, frozen=True):
    """Results and rows, without what differs from play to play."""

    results: tuple[str, str]
    rows: tuple[str, ...]

    def differences(self, other: "Outcome") -> list[str]:
        """The lines that this one has and the other has not, and the other way round."""
        lines: list[str] = []
        for one, another, sign in ((self, other, "+"), (other, self, "-")):
            theirs = {*another.rows, *another.results}
            lines += [f"{sign} {line}" for line in (*one.results, *one.rows) if line not in theirs]
        return lines

    def apart_from(self, tables: tuple[str, ...]) -> "Outcome":
        """Leave the rows of some tables out."""
        words = {word for table in tables for word in (f"{table} ", f"gone: {table} ")}
        kept = (row for row in self.rows if not row.startswith(tuple(words)))
        return Outcome(self.results, tuple(kept))

    def without(self, side: int) -> "Outcome":
        """Leave the results of one side out."""
        first, second = self.results
        return Outcome(("a: ", second) if side == 0 else (first, "b: "), self.rows)


def transactions_of(bases: Iterable[tuple[str, Iterable[int]]]) -> Transactions:
    """Name the side of each transaction; of several that it has begun, one was committed."""
    return {number: name for name, numbers in bases for number in numbers}


def outcome_of(played: Played, rows: Rows, before: Rows, named: Transactions) -> Outcome:
    """Compare rows with those before, and keep what was added or is gone."""
    # A row stays of each time that the outcome of a COMMIT was asked for.
    asked = {row for row in rows["outcomes"] if '"carried_out":false' in row}
    lines = [
        f"{table} {_plain(row, named)}"
        for table, found in rows.items()
        for row in found
        if row not in before[table] and row not in asked
    ]
    lines += [
        f"gone: {table} {row}"
        for table, found in before.items()
        for row in found
        if row not in rows[table]
    ]
    lines += _histories(rows["events"], before["events"])
    first, second = (result_text(one, named) for one in played.results)
    return Outcome((f"a: {first}", f"b: {second}"), tuple(sorted(lines)))


def result_text(result: Committed, named: Transactions) -> str:
    """The outcomes of a batch as text."""
    texts = (
        f"{type(one).__name__}: {one}" if isinstance(one, BaseException) else repr(one)
        for one in result.outcomes
    )
    return _plain("; ".join(texts), named)


def _histories(rows: Iterable[str], before: Iterable[str]) -> list[str]:
    """The events of each job in the order of the log, which positions do not show here.

    Those of workflows and workers are promised in no order between nodes.
    """
    old = {*before}
    found: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in rows:
        if row not in old:
            event = codec.decode(row.encode())
            if not event["type"].startswith("job."):
                continue
            found[event["subject"]].append((event["pos"], event["type"]))
    return [
        f"history of {subject}: {', '.join(kind for _, kind in sorted(events))}"
        for subject, events in found.items()
    ]


def _plain(text: str, named: Transactions) -> str:
    def position(found: re.Match[str]) -> str:
        number = int(found[0])
        owner = named.get(number >> POSITION_BITS)
        return found[0] if owner is None else f"{owner}+{number & ((1 << POSITION_BITS) - 1)}"

    return _LONG.sub(position, _OF_CLOCK.sub(r'"\1":-', text))
