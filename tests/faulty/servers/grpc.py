"""Faults of the calls over gRPC."""

import os
from collections.abc import Callable
from typing import Any

import msgspec

from ojs_server.domain.errors import Unavailable
from ojs_server.grpc import calls, errors, events, messages, ojs_v1, reflection, values
from ojs_server.grpc.serving import GrpcServer
from ojs_server.http.system import manifest
from ojs_server.ops.jobs.settle import Cancel
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, put_member


def _call(name: str, make: Callable[[Any], Any]) -> None:
    """Put another behaviour in the place of that of a call."""
    known = ojs_v1.BEHAVIOURS
    put_member(known, name, msgspec.structs.replace(known[name], act=make(known[name].act)))


def _asking(name: str, change: Callable[[Any], None]) -> None:
    """Change the request of a call."""

    def make(behave: Any) -> Any:
        async def changed(rpc: Any, message: Any) -> Any:
            change(message)
            return await behave(rpc, message)

        return changed

    _call(name, make)


@fault("OJS-GRP-001")
def priorities_are_lost_over_grpc() -> None:
    """A job of gRPC has the usual priority, whatever was wished."""
    after(
        messages,
        "options_in",
        lambda told, *_: (told[0], {name: told[1][name] for name in told[1] if name != "priority"}),
    )


@fault("OJS-GRP-001")
def revived_jobs_are_shown_dead() -> None:
    """RetryDeadLetter answers with the job as it was."""

    def make(behave: Any) -> Any:
        async def changed(rpc: Any, message: Any) -> Any:
            answer = await behave(rpc, message)
            answer.job.state = messages.STATES.number("discarded")
            return answer

        return changed

    _call("RetryDeadLetter", make)


@fault("OJS-GRP-001")
def next_runs_are_not_told() -> None:
    """A cron entry that was registered over gRPC says nothing of its next run."""

    def make(behave: Any) -> Any:
        async def changed(rpc: Any, message: Any) -> Any:
            answer = await behave(rpc, message)
            answer.ClearField("next_run_at")
            return answer

        return changed

    _call("RegisterCron", make)


@fault("OJS-GRP-002")
def grpc_is_not_named() -> None:
    """The manifest says nothing of gRPC."""
    put(manifest, "_protocols", lambda call: ["http", "socketio"])


@fault("OJS-GRP-003")
def refused_jobs_of_a_batch_are_not_told() -> None:
    """Of a batch only what was stored is told."""

    def make(behave: Any) -> Any:
        async def changed(rpc: Any, message: Any) -> Any:
            answer = await behave(rpc, message)
            answer.errors.clear()
            return answer

        return changed

    _call("EnqueueBatch", make)


@fault("OJS-GRP-004")
def retry_policies_always_jitter() -> None:
    """The jitter of a retry policy is not read, and is always on."""
    after(messages, "_retry_in", lambda said, *_: {**said, "jitter": True})


@fault("OJS-GRP-005")
def numbers_are_rounded() -> None:
    """A number that doubles do not have is carried as the next one."""
    put(values, "EXACT", 2**200)


@fault("OJS-GRP-006")
def results_that_are_no_objects_are_called_otherwise() -> None:
    """A list or a text as a result stands under another name."""
    after(
        messages,
        "_wrapped",
        lambda told, result: told if isinstance(result, dict) else {"result": result},
    )


@fault("OJS-GRP-007")
def streams_push_all_there_is() -> None:
    """A stream of jobs takes no notice of how many its client can do at a time."""

    def change(message: Any) -> None:
        message.max_concurrent = 100

    _asking("StreamJobs", change)


@fault("OJS-GRP-008")
def streams_bring_events_of_all_queues() -> None:
    """A stream of events takes no notice of queues."""
    _asking("StreamEvents", lambda message: message.ClearField("queues"))


@fault("OJS-GRP-019")
def silent_streams_stay_silent() -> None:
    """A stream without events is never told that it is alive."""
    put(events, "KEEPALIVE_S", 3600.0)


@fault("OJS-GRP-024")
def missed_events_are_not_told() -> None:
    """A client that was too slow is not told that it has missed events."""

    def make(behave: Any) -> Any:
        async def changed(rpc: Any, message: Any) -> None:
            write = rpc.write

            async def silent(event: Any) -> bool:
                return event.type == events.DROPPED or bool(await write(event))

            rpc.write = silent
            await behave(rpc, message)

        return changed

    _call("StreamEvents", make)


@fault("OJS-GRP-024")
def missed_events_count_as_one() -> None:
    """All events that a slow client has missed count as one."""
    after(
        events,
        "_own",
        lambda event, kind, *_: (
            event.data.update(count=1) or event if kind == events.DROPPED else event
        ),
    )


@fault("OJS-GRP-020")
def dead_letters_keep_the_name_of_http() -> None:
    """The event of a dead letter is called as over HTTP."""
    put(events, "NAMES", {})


@fault("OJS-GRP-025")
def connections_are_cut() -> None:
    """A server that stops is gone without a farewell to those that are connected."""

    async def gone(_: GrpcServer) -> None:
        os._exit(0)

    put(GrpcServer, "begin_stop", lambda server: None)
    put(GrpcServer, "stop", gone)


@fault("OJS-GRP-009")
def streams_end_without_a_word() -> None:
    """Streams of a server that stops end as if all had been said."""

    def make(behave: Any) -> Any:
        async def changed(rpc: Any, message: Any) -> None:
            try:
                await behave(rpc, message)
            except Unavailable:
                return

        return changed

    for name in ("StreamJobs", "StreamEvents"):
        _call(name, make)


@fault("OJS-GRP-026")
def duplicates_are_preconditions() -> None:
    """A job that exists already is refused as one in a wrong state is."""
    put(errors, "_BY_CODE", {})


@fault("OJS-GRP-010")
def refusals_name_no_domain() -> None:
    """A refusal does not say whose code it has."""
    put(errors, "DOMAIN", "")


@fault("OJS-GRP-011")
def keys_of_their_own_name_are_not_read() -> None:
    """A key that is shown as x-ojs-api-key is no key."""
    put(calls, "_KEY", "x-api-key")


@fault("OJS-GRP-011")
def every_tenant_is_nobody() -> None:
    """Metadata that name a tenant are not read."""
    known = calls._METADATA
    put(calls, "_METADATA", {name: known[name] for name in known if b"tenant" not in name})


@fault("OJS-GRP-012")
def requests_are_named_anew() -> None:
    """The id that a client gave its request is not echoed."""
    put(calls, "sent_request_id", lambda rpc: None)


@fault("OJS-GRP-014")
def cancelled_jobs_cannot_be_cancelled() -> None:
    """A job that is cancelled already is refused as one that has ended in another way."""
    put(ojs_v1, "CancelOnce", Cancel)


@fault("OJS-GRP-028")
def heartbeats_say_nothing_of_cancelled_jobs() -> None:
    """A heartbeat for a cancelled job does not say what became of it."""
    put(ojs_v1, "_name_cancelled", lambda *_: None)


@fault("OJS-GRP-016")
def services_are_listed_and_not_described() -> None:
    """Reflection knows the names of services, and no file."""

    def unknown(*_: object) -> None:
        raise KeyError

    put(reflection._Described, "file_of", unknown)
