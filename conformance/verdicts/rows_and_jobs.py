"""Compares rows that a program has committed with the jobs about them that were handed out."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from conformance.verdicts.result import FailedCheck

_SHOWN = 5


class Arrival(msgspec.Struct, frozen=True):
    """A job that was handed out: the row that it is about, its id, and the FETCH that had it."""

    row: str
    job_id: str
    exchange: int


def disagreements(
    kept: Mapping[str, bool], arrivals: Sequence[Arrival], where: str, *, ordered: bool
) -> Iterator[FailedCheck]:
    """Yield what must never be: jobs without rows, several jobs of a row, a wrong order.

    `kept` has all rows in the order in which they were written, with True for those that are there.
    """
    orphans = [arrival for arrival in arrivals if not kept.get(arrival.row, False)]
    if orphans:
        yield FailedCheck(
            step_id=where,
            field="orphans",
            expected="a row for every job",
            actual=f"no row for {_listed([_job(each) for each in orphans])}",
            exchange=orphans[0].exchange,
        )
    first: dict[str, Arrival] = {}
    doubles = [each for each in arrivals if first.setdefault(each.row, each) is not each]
    if doubles:
        pairs = [f"{_job(each)} after {_job(first[each.row])}" for each in doubles]
        yield FailedCheck(
            step_id=where,
            field="doubles",
            expected="one job for each row",
            actual=_listed(pairs),
            exchange=doubles[0].exchange,
        )
    if ordered:
        came = [row for row in first if kept.get(row, False)]
        due = [row for row in kept if row in first and kept[row]]
        wrong = [row for row, expected in zip(came, due, strict=True) if row != expected]
        if wrong:
            yield FailedCheck(
                step_id=where,
                field="order",
                expected=_listed([row for row in due if row in wrong]),
                actual=_listed(wrong),
                exchange=first[wrong[0]].exchange,
            )


def losses(kept: Mapping[str, bool], arrivals: Sequence[Arrival]) -> list[str]:
    """Return the rows that are there and of which no job was handed out."""
    came = {arrival.row for arrival in arrivals}
    return [row for row, there in kept.items() if there and row not in came]


def lost(rows: Sequence[str], where: str, within_s: float, hint: str = "") -> FailedCheck:
    """Return the failure that jobs of these rows have not come."""
    return FailedCheck(
        step_id=where,
        field="losses",
        expected=f"a job for every row, within {within_s:g} s of the last one",
        actual=f"no job for {_listed(rows)}{hint}",
    )


def _job(arrival: Arrival) -> str:
    return f"{arrival.row} (job {arrival.job_id})"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
