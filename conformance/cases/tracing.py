"""Cases of traces: the context of a job, and repeated requests with another span."""

from typing import Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record

SPAN = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "vendor=a:1,other=b",
    "baggage": "user=ada%20l,tier=gold;kept",
}


def _kept(stage: Stage, job: Record, where: str) -> None:
    """Require that a job has its trace context, whatever else is in its `meta`."""
    shown = {name: job["meta"].get(name) for name in SPAN}
    stage.equal(shown, SPAN, f"trace context in {where}")


@case("OJS-TRC-001", level=1)
async def contexts(stage: Stage) -> None:
    """A job keeps its trace context as it was given, through failed attempts to its end."""
    queue = stage.name()
    retry = {"max_attempts": 2, "initial_interval": "PT1S"}
    job = await stage.enqueue(queue, meta=SPAN, retry=retry)
    _kept(stage, job, "the enqueue's answer")
    _kept(stage, await stage.take(queue), "the first FETCH")
    (await stage.fail(job)).expect(200)
    found: list[Record] = []

    async def is_there() -> bool:
        found.extend(await stage.fetch(queue))
        return bool(found)

    await stage.until(is_there, 10, "the job is handed out again")
    _kept(stage, found[0], "the second FETCH")
    (await stage.ack(job)).expect(200)
    _kept(stage, await stage.look(job), "the completed job")


@case("OJS-TRC-002", "OJS-IDM-006", level=1)
async def another_span(stage: Stage) -> None:
    """A request that is sent again in another span is the same request."""
    queue, other = stage.name(), {**SPAN, "tracestate": "vendor=a:2"}
    other["traceparent"] = SPAN["traceparent"].replace("b7ad", "c8be")
    body: dict[str, Any] = {"queue": queue, "type": "test.case", "args": [1]}
    names: tuple[dict[str, str], ...] = ({"id": stage.new_id()}, {})
    for named in names:
        headers = {} if named else {"Idempotency_Key": stage.name("key")}
        sent: list[dict[str, Any]] = [
            {**body, **named, "meta": meta} for meta in (SPAN, other, {**SPAN, "baggage": "a=1"})
        ]
        first = (await stage.post("jobs", sent[0], **headers)).expect(201)
        again = (await stage.post("jobs", sent[1], **headers)).expect(200)
        stage.equal(again["job.id"], first["job.id"], "the job of the first request")
        stage.equal(again["job.meta"], SPAN, "its meta")
        (await stage.post("jobs", sent[2], **headers)).error(409, "duplicate")
