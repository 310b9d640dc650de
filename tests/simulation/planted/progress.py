"""Progress that goes back."""

from typing import Any

from msgspec.structs import replace

from ojs_server.domain.jobs import progress
from tests.faulty.planting import after
from tests.simulation.planted.registry import planted


@planted(sees="progress", needs="a report that is lower than the one before")
def progress_falls() -> None:
    """The last report counts, also where it is lower than the one before."""

    def last(known: Any, job: Any, lease: Any, before: Any, report: Any, **_: Any) -> Any:
        if known is None or report.value is None:
            return known
        return replace(known, value=report.value)

    after(progress, "advance", last)
