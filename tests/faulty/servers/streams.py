"""Faults of streams that are many or slow."""

from collections.abc import Callable
from typing import Any

from ojs_server.domain.errors import NotFound
from ojs_server.http.streams import event_stream
from ojs_server.http.streams.channels import ChannelStream
from ojs_server.http.streams.event_feed import EventStream
from ojs_server.ops.engine.event_log_reader import EventLogReader
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap


def _with(**others: int) -> None:
    """Follow the event log by other limits than those that are set."""

    def make(begin: Callable[..., None]) -> Callable[..., None]:
        return lambda self, *given, **named: begin(self, *given, **{**named, **others})

    wrap(EventLogReader, "__init__", make)


def _silent(stream: type[Any]) -> None:
    put(stream, "_dropped", lambda self, lost: b"")


@fault("OJS-STR-021")
def few_events_wait() -> None:
    """Five events wait for a slow stream, whatever is set."""
    _with(buffer=5)


@fault("OJS-STR-022")
def dropped_events_are_not_told() -> None:
    """A stream that was too slow goes on as if nothing had happened."""
    _silent(EventStream)


@fault("OJS-STR-024")
def any_number_of_streams() -> None:
    """Every stream that is asked for is opened."""
    _with(most=1 << 20)


@fault("OJS-WSK-011")
def channels_drop_without_a_word() -> None:
    """A channel that was too slow goes on as if nothing had happened."""
    _silent(ChannelStream)


@fault("OJS-STR-029")
def channels_of_queues_are_refused() -> None:
    """A channel of a queue is refused as if the queue had never had a job."""

    def refuse(field: str, name: object) -> str:
        raise NotFound(f"there is no queue {name}")

    put(event_stream, "parse_queue", refuse)
