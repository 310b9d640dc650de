"""The metrics as JSON: every family, and at the top the figures that command lines show."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from prometheus_client import Metric

_COUNTED: Final = {
    "jobs_enqueued_total": "ojs_job_enqueued_total",
    "jobs_completed_total": "ojs_job_completed_total",
    "jobs_failed_total": "ojs_job_failed_total",
}
_RUN: Final = "ojs_job_duration_seconds"
# The creation time of a series; the text format omits it, too.
_BEGAN: Final = "_created"


class StoredFigures(msgspec.Struct, frozen=True):
    """Figures that are read from the store, null while it cannot be read."""

    jobs_active: int | None = None
    queues_active: int | None = None
    workers_active: int | None = None
    throughput_per_second: float | None = None


def in_json(families: Iterable[Metric], stored: StoredFigures, uptime_s: int) -> dict[str, Any]:
    """Build the answer. Counters and run times are those of this node since its start."""
    shown = [_family(family) for family in families]
    totals: defaultdict[str, float] = defaultdict(float)
    for family in shown:
        for sample in family["samples"]:
            totals[sample["name"]] += sample["value"]
    runs = totals[f"{_RUN}_count"]
    return {
        "uptime_seconds": uptime_s,
        **{name: int(totals[sample]) for name, sample in _COUNTED.items()},
        **msgspec.structs.asdict(stored),
        "avg_latency_ms": round(totals[f"{_RUN}_sum"] * 1000 / runs, 3) if runs else 0,
        "metrics": shown,
    }


def _family(family: Metric) -> dict[str, Any]:
    return {
        "name": family.name,
        "type": family.type,
        "help": family.documentation,
        "samples": [
            {"name": sample.name, "labels": sample.labels, "value": sample.value}
            for sample in family.samples
            if not sample.name.endswith(_BEGAN)
        ],
    }
