"""The order of steps: groups that run one after another, of steps that run together."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar


class Linked(Protocol):
    """The members of a step that decide its order."""

    @property
    def id(self) -> str:
        """Its name within the case."""

    @property
    def parallel_with(self) -> str | None:
        """The step that it is to start together with."""


AnyStep = TypeVar("AnyStep", bound=Linked)


def groups(steps: Sequence[AnyStep]) -> list[Sequence[AnyStep]]:
    """Cut the steps into runs; the members of a run start together."""
    links = _links(steps)
    found: list[Sequence[AnyStep]] = []
    start = 0
    while start < len(steps):
        end = at = start
        while at <= end:
            end = max({end, *links[at]})
            at += 1
        found.append(steps[start : end + 1])
        start = end + 1
    return found


def loose_parallel_steps(steps: Sequence[Linked]) -> Iterator[str]:
    """Return a message for each ``parallel_with`` that a step in between makes impossible."""
    names = {step.id for step in steps}
    for step in steps:
        if step.parallel_with is not None and step.parallel_with not in names - {step.id}:
            yield f"step {step.id!r}: parallel_with names no other step: {step.parallel_with!r}"
    linked = {steps[at].id for at, others in enumerate(_links(steps)) if others}
    for group in groups(steps):
        if len(group) > 1:
            for step in group:
                if step.id not in linked:
                    yield f"step {step.id!r} stands between steps that are to run in parallel"


def _links(steps: Sequence[Linked]) -> list[set[int]]:
    place = {step.id: at for at, step in enumerate(steps)}
    links: list[set[int]] = [set() for _ in steps]
    for at, step in enumerate(steps):
        other = place.get(step.parallel_with) if step.parallel_with else None
        if other is not None and other != at:
            links[at].add(other)
            links[other].add(at)
    return links
