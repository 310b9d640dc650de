"""The events of one transaction, in order; a run that differs only in job ids is kept as one."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec.structs import replace

from ojs_server.domain.jobs.job import Event

# An event's type and queue, the type of its job, and its tenant.
Labels = tuple[str, str | None, str | None, str | None]


class UniformEvents(Sequence[Event]):
    """Events that differ only in their job ids, each made on access."""

    __slots__ = ("subjects", "template")

    def __init__(self, template: Event, subjects: Sequence[str]) -> None:
        self.template = template
        self.subjects = subjects

    def __len__(self) -> int:
        return len(self.subjects)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return UniformEvents(self.template, self.subjects[place])
        return replace(self.template, subject=self.subjects[place])


class EventBuffer:
    """Events one after the other, in runs of which each is a list or UniformEvents."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        listed = list(events)
        self.runs: list[Sequence[Event]] = [listed] if listed else []

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(self.runs)

    def counts(self) -> Counter[Labels]:
        """Count the events by the labels of the metrics."""
        counts: Counter[Labels] = Counter()
        for run in self.runs:
            if isinstance(run, UniformEvents):
                one = run.template
                counts[one.type, one.queue, one.job_type, one.tenant] += len(run)
            else:
                counts.update([(one.type, one.queue, one.job_type, one.tenant) for one in run])
        return counts

    def of(self, kinds: Container[str]) -> list[Event]:
        """Return the events of some types."""
        found: list[Event] = []
        for run in self.runs:
            if not isinstance(run, UniformEvents):
                found += [event for event in run if event.type in kinds]
            elif run.template.type in kinds:
                found += run
        return found

    def add(self, events: Sequence[Event]) -> None:
        """Append events."""
        # Not isinstance, which is slow for an abstract base class such as Sequence.
        if type(events) is UniformEvents:
            self.runs.append(events)
        elif not events:
            return
        elif self.runs and type(last := self.runs[-1]) is list:
            last += events
        else:
            self.runs.append(list(events))
