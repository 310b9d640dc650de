"""Orders in which the steps of two transactions are interleaved, with up to two switches."""

from collections.abc import Iterator

import msgspec


class Schedule(msgspec.Struct, frozen=True):
    """One side takes some steps, then the other takes some, and then both come to their ends.

    After the second switch the first side goes on to its end, and the other after it.
    """

    first: int
    before: int
    between: int

    def turn(self, taken: tuple[int, int]) -> int:
        """Return the side whose turn it is, by the numbers of the steps that both have taken."""
        other = 1 - self.first
        if taken[self.first] < self.before:
            return self.first
        if taken[other] < self.between:
            return other
        return self.first

    def __str__(self) -> str:
        one, other = "ab" if self.first == 0 else "ba"
        return f"{one}{self.before} {other}{self.between}"


def schedules(lengths: tuple[int, int]) -> Iterator[Schedule]:
    """Every schedule of two sides that take these numbers of steps, the serial ones left out."""
    for first in (0, 1):
        for before in range(1, lengths[first]):
            for between in range(1, lengths[1 - first] + 1):
                yield Schedule(first, before, between)


def serial(first: int) -> Schedule:
    """One side after the other has ended."""
    return Schedule(first, 1 << 20, 0)
