"""Faults of events, streams, progress, checkpoints and statistics."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.event_buffer import EventBuffer
from ojs_server.domain.jobs import progress, validate
from ojs_server.domain.jobs.job import Event
from ojs_server.http import dialects, paging
from ojs_server.http.admin import statistics
from ojs_server.http.call import Call
from ojs_server.http.jobs import progress as reports
from ojs_server.http.jobs import read
from ojs_server.http.streams import event_feed, event_stream, statistics_stream
from ojs_server.http.system import metrics
from ojs_server.observe import job_metrics
from ojs_server.observe.job_metrics import JobMetrics
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers import claim
from ojs_server.store.tables.attachments import AttachmentWrites
from ojs_server.store.tables.events import EventReads, EventWrites
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer, change_query, drop_header

EVENTS = f"{V1}/events"


@fault("OJS-EVT-027")
def newest_events_come_first() -> None:
    """Events are answered newest first."""
    change_answer(EVENTS, lambda body: body["events"].reverse(), status=200)


@fault("OJS-EVT-008")
def cursors_skip_an_event() -> None:
    """Each page of several events loses its last one."""
    change_answer(EVENTS, lambda body: len(body["events"]) > 1 and body["events"].pop(), status=200)


@fault("OJS-EVT-016")
def old_places_are_the_end() -> None:
    """A cursor that is no longer kept continues at the end of the log."""

    def make(read: Callable[..., Any]) -> Callable[..., Any]:
        def page(self: EventReads, after: int, *given: Any) -> Any:
            first, last = self.log_span()
            return read(self, last if 0 < after < first else after, *given)

        return page

    wrap(EventReads, "events", make)


@fault("OJS-ADM-015")
def a_start_counts_all_again() -> None:
    """The statistics count the whole log once more after each start."""
    begun: list[int] = []

    def make(count: Callable[..., None]) -> Callable[..., None]:
        def counted(self: EventWrites, after: int, upto: int) -> None:
            count(self, after if begun else 0, upto)
            begun.append(upto)

        return counted

    wrap(EventWrites, "count_happenings", make)


@fault("OJS-EVT-021")
def pages_begin_with_their_oldest_event() -> None:
    """A page by its number has its events oldest first."""
    change_answer(EVENTS, lambda body: body["items"].reverse(), status=200)


@fault("OJS-EVT-029")
def stars_are_letters() -> None:
    """A star at the end of a type stands for nothing."""

    def strip(query: dict[str, str]) -> None:
        if "types" in query:
            query["types"] = query["types"].replace("*", "")

    change_query(strip)


def _logged(choose: Callable[[EventBuffer], Iterable[Event]]) -> None:
    """Log some of the events of each transaction."""

    def make(flush: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(self: Any) -> None:
            self.events = EventBuffer(choose(self.events))
            flush(self)

        return chosen

    wrap(Work, "flush", make)


def _silent(kinds: str) -> None:
    """Log no events of certain types."""
    _logged(lambda events: (event for event in events if not event.type.startswith(kinds)))


@fault("OJS-EVT-005")
def retries_are_not_told() -> None:
    """A failure that will be retried has no job.retrying."""
    _silent("job.retrying")


@fault("OJS-EVT-003")
def batches_are_one_event() -> None:
    """Of jobs that join one queue together only the first has an event."""

    def first(events: EventBuffer) -> Iterator[Event]:
        queues = set[str | None]()
        for event in events:
            if event.type != "job.enqueued" or event.queue not in queues:
                yield event
            if event.type == "job.enqueued":
                queues.add(event.queue)

    _logged(first)


@fault("OJS-WFL-035")
def ends_of_batches_are_not_told() -> None:
    """A batch that completes has no event that says so."""

    def ends_a_batch(event: Event) -> bool:
        return event.type == "workflow.completed" and b'"workflow_type":"batch"' in event.own

    _logged(lambda events: (event for event in events if not ends_a_batch(event)))


@fault("OJS-EVT-004")
def pauses_are_not_told() -> None:
    """A queue that is paused or resumed has no event."""
    _silent("queue.")


@fault("OJS-WFL-035")
def workflows_are_not_told() -> None:
    """The steps of a workflow end without an event."""
    _silent("workflow.step")


def _data(change: Callable[[dict[str, Any]], object]) -> None:
    change_answer(
        EVENTS, lambda body: [change(event["data"]) for event in body["events"]], status=200
    )


@fault("OJS-EVT-003")
def events_name_no_attempt() -> None:
    """The data of events do not say which delivery they are about."""
    _data(lambda data: data.pop("attempt", None))


@fault("OJS-EVT-014")
def traces_are_dropped() -> None:
    """Events do not name the trace of their job."""
    _data(lambda data: data.pop("trace_id", None))


@fault("OJS-STR-014")
def coming_back_is_beginning() -> None:
    """`Last-Event-ID` is ignored."""
    drop_header("last-event-id")


@fault("OJS-STR-006")
def frames_have_no_id() -> None:
    """The frames of a stream do not name their event."""
    wrap(event_feed, "frame", lambda frame: lambda name, data, *_: frame(name, data))


@fault("OJS-STR-026")
def events_have_no_copies() -> None:
    """Events of streams have the members of the log alone."""
    put(event_feed, "with_copies", lambda data, event: data)


@fault("OJS-STR-027")
def the_emitters_filter_is_unknown() -> None:
    """The parameter `events` is ignored."""
    change_query(lambda query: query.pop("events", None))


@fault("OJS-ADM-030")
def statistics_are_numbers_for_all() -> None:
    """The stream of statistics lists no queues, whoever asks."""
    put(event_stream, "LiveStatsStream", statistics_stream.StatsStream)


@fault("OJS-ADM-022")
def statistics_are_told_once() -> None:
    """A stream of statistics has them at its beginning and never again."""
    put(statistics_stream, "EVERY_S", 3600.0)


@fault("OJS-STR-005")
def streams_are_not_sifted() -> None:
    """Types that a stream asks for are ignored."""

    def all_types(query: dict[str, str]) -> None:
        query.pop("types", None)
        query.pop("event_types", None)

    change_query(all_types)


@fault("OJS-STR-017")
def streams_outlive_their_job() -> None:
    """The stream of a job goes on when the job has ended."""
    put(event_feed, "_ENDS", frozenset())


def _advances(value: Callable[[float, float], float]) -> None:
    """Store another progress value, computed from the right one and the reported one."""

    def change(kept: Any, job: Any, lease: Any, before: Any, report: Any, **_: Any) -> Any:
        if kept is None or report.value is None:
            return kept
        return msgspec.structs.replace(kept, value=value(kept.value, report.value))

    after(progress, "advance", change)


@fault("OJS-PRG-004")
def progress_passes_the_end() -> None:
    """A value above 1 is kept."""
    _advances(max)


@fault("OJS-PRG-005")
def progress_falls() -> None:
    """A lower value replaces a higher one."""
    _advances(lambda kept, reported: min(1.0, max(0.0, reported)))


@fault("OJS-PRG-027")
def progress_is_rounded() -> None:
    """Progress is kept in whole hundredths."""
    _advances(lambda kept, reported: round(kept, 2))


@fault("OJS-PRG-012")
def progress_outlives_the_attempt() -> None:
    """A new attempt shows the progress of the one before it."""

    def show(shown: Callable[..., Any]) -> Callable[..., Any]:
        return lambda job, known: shown(
            job, known and msgspec.structs.replace(known, attempt=job.attempt)
        )

    for module in (read, reports):
        wrap(module, "shown", show)


@fault("OJS-CHK-011")
def checkpoints_get_lost() -> None:
    """A job is handed out without its checkpoint."""
    put(claim, "_with_left", lambda work, answers: [*answers])


@fault("OJS-CHK-004")
def checkpoints_are_not_counted() -> None:
    """Every checkpoint is the first."""

    def first(body: dict[str, Any]) -> None:
        for part in (body, body.get("checkpoint")):
            if isinstance(part, dict) and "sequence" in part:
                part["sequence"] = 1

    change_answer(f"{V1}/jobs/[^/]+/checkpoint", first, status=200)


@fault("OJS-CHK-015")
def notes_of_checkpoints_get_lost() -> None:
    """A checkpoint comes back without the metadata that was saved with it."""
    change_answer(
        f"{V1}/checkpoints/[^/]+/resume",
        lambda body: body.get("checkpoint", {}).pop("metadata", None),
        status=200,
    )


@fault("OJS-CHK-016")
def first_attempts_find_no_checkpoint() -> None:
    """The resume call of a job without a checkpoint lacks `has_checkpoint`."""

    def missing(body: dict[str, Any]) -> None:
        if not body.get("has_checkpoint"):
            body.pop("has_checkpoint", None)

    change_answer(f"{V1}/checkpoints/[^/]+/resume", missing, status=200)


@fault("OJS-CHK-013")
def deleted_checkpoints_stay() -> None:
    """A delete is answered, and the checkpoint is still there."""
    put(AttachmentWrites, "drop_checkpoints", lambda tx, ids: None)


@fault("OJS-TRC-002")
def another_span_is_another_request() -> None:
    """A request that is repeated in another span is refused."""
    put(validate, "_untraced", lambda body: body)


@fault("OJS-MAN-014")
def jobs_are_not_counted() -> None:
    """The metrics do not count jobs."""
    put(JobMetrics, "observe", lambda *_: None)


@fault("OJS-MAN-015")
def jobs_of_tenants_are_not_counted() -> None:
    """The metrics do not count jobs by tenant."""
    put(job_metrics, "_OF_TENANT", {})


@fault("OJS-ADM-002")
def unknown_parameters_are_wrong() -> None:
    """A list refuses a parameter that it does not know, and does not say which one."""

    def refuse(found: dict[str, str], _: Call, known: Collection[str]) -> dict[str, str]:
        if not found.keys() <= set(known):
            raise InvalidRequest("there are parameters that this call does not know")
        return found

    after(paging, "checked_query", refuse)


@fault("OJS-ADM-036")
def statistics_are_of_all_queues() -> None:
    """The statistics of a queue are those of all."""
    wrap(statistics, "look", lambda look: lambda engine, queue="": look(engine))


@fault("OJS-ADM-014")
def history_has_one_name() -> None:
    """The history of statistics stands in `data` alone."""
    put(dialects, "statistics", lambda period, spans: {"period": period, "data": spans})


@fault("OJS-ADM-026")
def searches_pass_the_text_over() -> None:
    """A search for a text lists every job."""
    change_query(lambda query: query.pop("text", None))


@fault("OJS-ADM-027")
def retries_are_not_in_the_depth() -> None:
    """The history of statistics says nothing of jobs that wait for another attempt."""

    def forget(body: dict[str, Any]) -> None:
        for span in body["data"]:
            span.pop("retryable")

    change_answer(f"{V1}/admin/stats/history", forget, status=200)


@fault("OJS-ADM-028")
def no_node_is_the_one_asked() -> None:
    """The list of servers does not say which one answers."""

    def forget(body: dict[str, Any]) -> None:
        for node in body["items"]:
            node["is_this"] = False

    change_answer(f"{V1}/admin/nodes", forget, status=200)


@fault("OJS-ADM-025")
def waits_are_not_told() -> None:
    """The history of statistics knows no job that waited."""

    def blank(body: dict[str, Any]) -> None:
        for span in body["data"]:
            span["wait_p50_ms"] = None

    change_answer(f"{V1}/admin/stats/history", blank, status=200)


@fault("OJS-MAN-018")
def metrics_are_text() -> None:
    """The metrics are text, whatever is asked for."""
    put(metrics, "preferred", lambda accept, offers: offers[0])


@fault("OJS-MAN-018")
def weights_do_not_matter() -> None:
    """The metrics are JSON wherever that is named."""
    put(metrics, "preferred", lambda accept, offers: offers["json" in (accept or "")])


@fault("OJS-ADM-024")
def scheduled_jobs_stand_as_they_were_made() -> None:
    """Jobs that are asked for by their time are listed in the order of their making."""
    change_query(lambda query: query.pop("sort", None) and query.pop("order", None))


@fault("OJS-ADM-023")
def steps_are_in_no_order() -> None:
    """The steps of an enqueue are listed from the last to the first."""
    change_answer(f"{V1}/middleware", lambda body: body["items"].reverse(), status=200)
