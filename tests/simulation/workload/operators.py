"""Draw what operators do to queues, limits and the whole system, and workers written by hand."""

from typing import Any

from tests.simulation.acts.foreign import MANNERS
from tests.simulation.scenario import Act, Options, stream
from tests.simulation.workload.options import QUEUES, RATE_LIMITS
from tests.simulation.workload.times import Drawing


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts."""
    operators = Drawing(stream(seed, "operators"), options)
    for _ in range(operators.some(0, 0, 2, 6)):
        _operate(operators)
    foreign = Drawing(stream(seed, "foreign"), options)
    manners = [manner for manner in MANNERS if foreign.maybe(0.5)] or ["well"]
    for number in range(foreign.some(0, 3, 10, 30)):
        _foreign(foreign, manners, number)
    return [*operators.acts, *foreign.acts]


def _operate(drawing: Drawing) -> None:
    at, queue = drawing.moment(), drawing.some(*QUEUES)
    later = drawing.moment(at, drawing.some(1, 5, 30))
    match drawing.some("pause", "pause", "configure", "override", "maintenance", "stats"):
        case "pause":
            drawing.act(at, "pause", queue=queue)
            drawing.act(later, "resume", queue=queue)
        case "configure":
            config: dict[str, Any] = drawing.some(
                {"concurrency": 1},
                {"concurrency": 3},
                {"rate_limit": {"limit": 4, "period": 4}},
                {"throttle": {"limit": 4, "period": 4}},
                {"visibility_timeout": 10},
                {"default_timeout": 5},
            )
            drawing.act(at, "configure", queue=queue, config=config)
            drawing.act(later, "configure", queue=queue, config={})
        case "override":
            key = drawing.some(*RATE_LIMITS)
            limit = drawing.some({"concurrency": 1}, {"rate": {"limit": 2, "period": 6}})
            drawing.act(at, "override", key=key, limit=limit)
            drawing.act(later, "restore", key=key)
        case "maintenance":
            drawing.act(at, "begin maintenance", reason="work on the database")
            drawing.act(later, "end maintenance")
        case "stats":
            drawing.act(at, "queue stats", queue=queue)


def _foreign(drawing: Drawing, manners: list[str], number: int) -> None:
    more: dict[str, Any] = {}
    if drawing.maybe(0.3):
        more["fetch_id"] = f"fetch-{number}"
    if drawing.maybe(0.1):
        more["late_ack"] = "accept_unfinished"
    drawing.act(
        drawing.moment(),
        "foreign work",
        # Few names, so that one of them holds several deliveries of a job.
        worker_id=f"foreign{drawing.some(1, 2)}",
        queues=drawing.some(["default"], ["other", "default"]),
        count=drawing.some(1, 1, 3),
        lease_s=drawing.some(1, 4, 10),
        wait_ms=drawing.some(0, 0, 3000),
        fetches=drawing.some(1, 1, 2),
        work_s=round(drawing.chance.random() * 4, 3),
        by=drawing.some(1, -1),
        beats=drawing.some(1, 4),
        alien=drawing.new_id(0),
        manners=[drawing.some(*manners) for _ in range(3)],
        more=more,
    )
