"""Draw the acts about jobs: enqueues of all forms, then changes and reads of these jobs."""

from typing import Any

from tests.simulation.scenario import Act, Options, stream
from tests.simulation.workload.options import Taste
from tests.simulation.workload.times import Drawing

# The jobs that are enqueued: when, and their ids.
Known = list[tuple[float, str]]


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts."""
    enqueues = Drawing(stream(seed, "workload"), options)
    jobs = _enqueues(enqueues)
    changes = Drawing(stream(seed, "changes"), options)
    _changes(changes, jobs)
    reads = Drawing(stream(seed, "reads"), options)
    _reads(reads, jobs)
    return [*enqueues.acts, *changes.acts, *reads.acts]


def _enqueues(drawing: Drawing) -> Known:
    taste = Taste(drawing)
    known: Known = []
    number = 0
    left = drawing.some(20, 60, 150)
    # Some come one by one, some as a burst.
    bursts = [drawing.moment() for _ in range(drawing.some(1, 4))]
    while left > 0:
        at = drawing.moment()
        if drawing.maybe(0.3):
            at = round(drawing.some(*bursts) + drawing.chance.random() * 0.5, 3)
        count = drawing.some(2, 5, 12) if drawing.maybe(0.06) else 1
        jobs = [taste.job(at, f"k{number + offset}") for offset in range(count)]
        number, left = number + count, left - count
        known += [(at, job["options"]["id"]) for job in jobs]
        if count == 1 and drawing.maybe(0.05):
            drawing.act(at, "enqueue by hand", job=wire_form(jobs[0], drawing))
        elif count == 1:
            drawing.act(at, "enqueue", **jobs[0])
            if drawing.maybe(0.03):
                drawing.act(drawing.moment(at, 5), "enqueue", **jobs[0])
            elif jobs[0]["options"].get("pending"):
                drawing.act(drawing.moment(at, 30), "activate", job=known[-1][1])
        elif drawing.maybe(0.5):
            drawing.act(at, "batch", jobs=jobs)
        else:
            drawing.act(at, "enqueue each", jobs=[wire_form(job, drawing) for job in jobs])
    return known


def wire_form(job: dict[str, Any], drawing: Drawing) -> dict[str, Any]:
    """Return a job as it is written by hand, without what needs a clock, and with other limits."""
    options = job["options"]
    kept = {
        name: options[name] for name in ("queue", "priority", "tags", "unique") if name in options
    }
    if "period" in kept.get("unique", {}):
        kept["unique"] = {**kept["unique"], "period": f"PT{kept['unique']['period']}S"}
    if drawing.maybe(0.3):
        kept["enqueue_ttl"] = drawing.some(0.5, 5, 60)
    if drawing.maybe(0.3):
        kept["total_timeout"] = drawing.some(3, 20, 100)
    if drawing.maybe(0.3):
        kept["heartbeat_timeout"] = drawing.some(3, 15)
    wire = {"id": options["id"], "type": job["type"], "args": job["args"], "options": kept}
    return wire | ({"meta": options["meta"]} if "meta" in options else {})


def _changes(drawing: Drawing, known: Known) -> None:
    most = drawing.some(0, 5, 20, 60)
    kinds = [
        kind
        for kind in (
            "cancel",
            "cancel many",
            "prioritize",
            "activate",
            "retry",
            "retry many",
            "delete many",
            "revive",
            "revive dead",
            "delete dead",
        )
        if drawing.maybe(0.5)
    ]
    for _ in range(most if kinds else 0):
        kind = drawing.some(*kinds)
        enqueued_at, job_id = drawing.some(*known)
        at = drawing.moment(enqueued_at, drawing.some(3, 20, 100))
        match kind:
            case "prioritize":
                drawing.act(at, kind, job=job_id, priority=drawing.some(-5, 2, 7))
            case "revive dead":
                drawing.act(at, kind, count=drawing.some(1, 5))
            case "cancel many" | "retry many" | "delete many" if drawing.maybe(0.5):
                ids = [drawing.some(*known)[1] for _ in range(drawing.some(2, 6))]
                drawing.act(at, kind, jobs=list(dict.fromkeys(ids)))
            case "cancel many" | "retry many" | "delete many":
                drawing.act(at, kind, filter={"queue": drawing.some("default", "other")})
            case _:
                drawing.act(at, kind, job=job_id)


def _reads(drawing: Drawing, known: Known) -> None:
    for _ in range(drawing.some(0, 10, 40)):
        enqueued_at, job_id = drawing.some(*known)
        at = drawing.moment(enqueued_at, drawing.some(1, 5, 60))
        match kind := drawing.some("get", "get", "watch", "result", "list", "search", "history"):
            case "watch":
                pause_s = drawing.some(0, 0.05, 1)
                drawing.act(at, kind, job=job_id, times=drawing.some(2, 8), pause_s=pause_s)
            case "result":
                drawing.act(at, kind, job=job_id, timeout_s=drawing.some(1, 15, 60))
            case "list" | "search":
                chosen = drawing.some({}, {"state": "active"}, {"queue": "other"})
                drawing.act(at, kind, filter=chosen)
            case _:
                drawing.act(at, kind, job=job_id)
