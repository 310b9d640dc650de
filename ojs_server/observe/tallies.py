"""Lock-free counters and histograms for every request.

Prometheus' own take a lock and look up a child for each observation. These are used by the event
loop alone, so that a dictionary and an addition are enough.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

# Number of durations that are added to the counts at a time.
MOST_TAKEN: Final = 100
# Numbers are formatted when they are read.
Labels = tuple[str | int, ...]


class Tally(Collector):
    """A counter for each combination of labels."""

    def __init__(
        self, name: str, text: str, labels: Sequence[str], *, registry: CollectorRegistry
    ) -> None:
        self._family: Final = (name, text, labels)
        self._counts: Counter[Labels] = Counter()
        registry.register(self)

    def add(self, labels: Labels, count: int = 1) -> None:
        """Add to the count."""
        self._counts[labels] += count

    def collect(self) -> Iterator[CounterMetricFamily]:
        """All counts, for the registry."""
        name, text, labels = self._family
        family = CounterMetricFamily(name, text, labels=labels)
        for values, count in self._counts.items():
            family.add_metric(tuple(map(str, values)), count)
        yield family


class Times(Collector):
    """A histogram of seconds for each combination of labels."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        *,
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self._family: Final = (name, text, labels)
        self._bounds: Final = tuple(buckets)
        # The count of each bucket by itself, with one more for longer durations; then the sum.
        self._counts: dict[Labels, list[float]] = {}
        # Durations not counted yet: counting many at a time is much cheaper.
        self._taken: defaultdict[Labels, list[float]] = defaultdict(list)
        registry.register(self)

    def observe(self, labels: Labels, seconds: float) -> None:
        """Add a duration."""
        taken = self._taken[labels]
        taken.append(seconds)
        if len(taken) == MOST_TAKEN:
            self._count(labels, self._taken.pop(labels))

    def _count(self, labels: Labels, taken: list[float]) -> None:
        counts = self._counts.setdefault(labels, [0] * (len(self._bounds) + 2))
        taken.sort()
        ends = [*(bisect_right(taken, bound) for bound in self._bounds), len(taken)]
        for place, (start, end) in enumerate(pairwise((0, *ends))):
            counts[place] += end - start
        counts[-1] += sum(taken)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """All buckets, for the registry."""
        name, text, labels = self._family
        family = HistogramMetricFamily(name, text, labels=labels)
        while self._taken:
            self._count(*self._taken.popitem())
        bounds = [*(str(float(bound)) for bound in self._bounds), "+Inf"]
        for values, (*counts, total) in self._counts.items():
            rising = zip(bounds, accumulate(counts), strict=True)
            family.add_metric(tuple(map(str, values)), buckets=list(rising), sum_value=total)
        yield family
