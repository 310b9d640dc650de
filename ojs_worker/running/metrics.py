"""Counts of what a worker does, and their text for Prometheus."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from ojs_worker.context import StopReason
from ojs_worker.handlers.outcomes import Done, Outcome, Released

# Upper bounds of the durations, in seconds.
BOUNDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0)
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# One label for all types without a handler, because clients may send any number of types.
UNKNOWN: Final = "unknown"
_ACTIONS: Final = {"snooze": "snoozed", "discard": "discarded", "dead_letter": "discarded"}
_DROPPED: Final = {StopReason.CANCELLED: "cancelled", StopReason.LOST: "lost"}


class Ended(msgspec.Struct):
    """The jobs of one type that have ended: by outcome, and by duration (in the first bound that
    is not less)."""

    outcomes: dict[str, int] = {}
    durations: list[int] = msgspec.field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


class Counts(msgspec.Struct):
    """The counts of one worker, or of several together."""

    types: dict[str, Ended] = {}
    fetch_errors: int = 0
    running: int = 0
    connected: int = 0

    def ended(self, type: str, outcome: str, seconds: float) -> None:
        """Count a job whose handler has ended."""
        known = self.types.setdefault(type, Ended())
        known.outcomes[outcome] = known.outcomes.get(outcome, 0) + 1
        known.durations[bisect_left(BOUNDS, seconds)] += 1
        known.seconds += seconds

    def add(self, other: "Counts") -> None:
        """Add the counts of another worker."""
        for type, more in other.types.items():
            known = self.types.setdefault(type, Ended())
            for outcome, number in more.outcomes.items():
                known.outcomes[outcome] = known.outcomes.get(outcome, 0) + number
            pairs = zip(known.durations, more.durations, strict=True)
            known.durations = [count + other for count, other in pairs]
            known.seconds += more.seconds
        self.fetch_errors += other.fetch_errors
        self.running += other.running
        self.connected += other.connected


def outcome_of(outcome: Outcome, reason: StopReason | None) -> str:
    """Return the word for the end of a handler: its outcome, or why it is dropped."""
    if (dropped := _DROPPED.get(reason) if reason is not None else None) is not None:
        return dropped
    if isinstance(outcome, Done):
        return "failed" if reason is StopReason.TIMEOUT else "completed"
    if isinstance(outcome, Released):
        return "released"
    action = (outcome.fault.details or {}).get("action")
    return _ACTIONS.get(str(action), "failed")


Sample = tuple[str, str, float]
# A metric: its name, type and help, and its samples.
Family = tuple[str, str, str, Iterable[Sample]]


def exposition(prefix: str, families: Iterable[Family]) -> str:
    """Write metrics in the text format of Prometheus."""
    lines: list[str] = []
    for name, kind, help, samples in families:
        full = f"{prefix}_{name}"
        lines += [f"# HELP {full} {help}", f"# TYPE {full} {kind}"]
        lines += [f"{full}{part}{labels} {value}" for part, labels, value in samples]
    return "\n".join(lines) + "\n"


def text_of(counts: Counts) -> str:
    """Write counts in the text format of Prometheus."""
    return exposition(
        "ojs_worker",
        (
            ("jobs_total", "counter", "Jobs by how their handlers ended.", _outcomes(counts)),
            ("job_duration_seconds", "histogram", "Run time of handlers.", _durations(counts)),
            ("jobs_running", "gauge", "Jobs that are held now.", [("", "", counts.running)]),
            (
                "fetch_errors_total",
                "counter",
                "FETCHes that failed.",
                [("", "", counts.fetch_errors)],
            ),
            (
                "connected",
                "gauge",
                "Worker processes whose last heartbeat was answered.",
                [("", "", counts.connected)],
            ),
        ),
    )


def _outcomes(counts: Counts) -> Iterator[Sample]:
    for type, ended in sorted(counts.types.items()):
        for outcome, number in sorted(ended.outcomes.items()):
            yield "", _labels((("type", type), ("outcome", outcome))), number


def _durations(counts: Counts) -> Iterator[Sample]:
    for type, ended in sorted(counts.types.items()):
        total = 0
        for bound, number in zip((*BOUNDS, "+Inf"), ended.durations, strict=True):
            total += number
            yield "_bucket", _labels((("type", type), ("le", str(bound)))), total
        yield "_sum", _labels((("type", type),)), round(ended.seconds, 6)
        yield "_count", _labels((("type", type),)), total


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    # The values need no escaping, because the types of handlers are checked.
    return "{" + ",".join(f'{name}="{value}"' for name, value in pairs) + "}"
