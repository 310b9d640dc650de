"""Histograms count as Prometheus' own do, however many times are counted together."""

from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from ojs_server.observe.tallies import MOST_TAKEN, Times

BOUNDS = (0.1, 1.0, 10.0)
# Each can be added up without rounding, in any order.
seconds = st.sampled_from([0.0, 0.0625, 0.5, 1.0, 10.0, 10.5, 64.0])


@given(st.lists(st.lists(st.tuples(st.sampled_from("ab"), seconds), max_size=30), max_size=4))
@example([[("a", 1.0)] * (MOST_TAKEN + 1), [("a", 10.5), ("b", 0.0)]])
def test_times_are_told_as_prometheus_tells_them(
    rounds: Sequence[Sequence[tuple[str, float]]],
) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    times = Times("t_seconds", "Text.", ("of",), buckets=BOUNDS, registry=ours)
    histogram = Histogram("t_seconds", "Text.", ("of",), buckets=BOUNDS, registry=theirs)
    for taken in rounds:
        for name, lasted in taken:
            times.observe((name,), lasted)
            histogram.labels(name).observe(lasted)
        assert told(ours) == told(theirs)


def told(registry: CollectorRegistry) -> list[str]:
    lines = generate_latest(registry).decode().splitlines()
    return sorted(line for line in lines if "_created" not in line)
