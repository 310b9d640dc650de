"""Faults of outcomes and their reporting: content and repetition of ACKs and FAILs."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

import msgspec

from ojs_worker import faults
from ojs_worker.errors import Unreachable
from ojs_worker.handlers.outcomes import Done, Outcome, Verdict
from ojs_worker.job import Job
from ojs_worker.running import bulk_settling, lifetime, settling
from ojs_worker.running.executing import Executor
from ojs_worker.running.settling import SingleSettler
from ojs_worker.transport import Reply, backoff
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.values import Change, composed, mapped, rounded, shortened


def _settles(otherwise: Callable[[Callable[[], Any]], Any]) -> None:
    """Replace the settling of outcomes; the replacement is given the original."""

    def make(settle: Any) -> Any:
        async def other(self: SingleSettler, *outcome: Any, **named: Any) -> Any:
            return await otherwise(lambda: settle(self, *outcome, **named))

        return other

    wrap(SingleSettler, "settle", make)


@fault("OJS-WPR-045")
def acks_are_sent_twice() -> None:
    """An outcome that was accepted is sent once more."""

    async def twice(settle: Callable[[], Any]) -> Any:
        await settle()
        return await settle()

    _settles(twice)


@fault("OJS-SET-010")
def refusals_are_not_believed() -> None:
    """An ACK that was refused with 409 is sent again."""

    async def insist(settle: Callable[[], Any]) -> Any:
        verdict = await settle()
        return await settle() if verdict is Verdict.GONE else verdict

    _settles(insist)


def _says(change: Callable[[dict[str, Any]], object]) -> None:
    """Change the body of every ACK and FAIL."""

    def changed(body: bytes, *_: object) -> bytes:
        said = json.loads(body)
        change(said)
        return json.dumps(said).encode()

    for module in (settling, bulk_settling):
        after(module, "written", changed)


@fault("OJS-WPR-045")
def results_are_kept_back() -> None:
    """An ACK carries null, whatever the handler returned."""
    _says(lambda said: said.update(result=None) if "result" in said else None)


@fault("OJS-WPR-045")
def an_empty_result_is_null() -> None:
    """A result that is an empty array is told as null."""
    _says(lambda said: said.update(result=said["result"] or None) if "result" in said else None)


def _results(change: Change) -> None:
    """Change each value in the results of handlers."""
    _says(
        lambda said: (
            said.update(result=mapped(said["result"], change)) if "result" in said else None
        )
    )


@fault("OJS-WPR-045")
def empty_members_are_dropped() -> None:
    """Members of a result that are null are left out."""

    def without(value: Any) -> Any:
        if isinstance(value, list):
            return [without(item) for item in value]
        if isinstance(value, dict):
            return {name: without(one) for name, one in value.items() if one is not None}
        return value

    _says(lambda said: said.update(result=without(said["result"])) if "result" in said else None)


@fault("OJS-WPR-045")
def workers_round_integers() -> None:
    """Integers in a result are sent with 15 digits."""
    _results(rounded)


@fault("OJS-WPR-045")
def workers_round_fractions() -> None:
    """Fractions in a result are sent with 15 digits."""
    _results(shortened)


@fault("OJS-WPR-045")
def workers_compose_texts() -> None:
    """Texts in a result are brought into the composed form of Unicode."""
    _results(composed)


@fault("OJS-SET-007")
def deliveries_are_not_named() -> None:
    """ACK and FAIL do not say which delivery they are about."""
    _says(lambda said: said.pop("attempt", None))


@fault("OJS-WPR-021")
def workers_are_not_named() -> None:
    """ACK and FAIL do not name the worker."""
    _says(lambda said: said.pop("worker_id", None))


@fault("OJS-WPR-017")
def failures_say_nothing() -> None:
    """A FAIL has no message."""
    _says(lambda said: said.get("error", {}).pop("message", None))


@fault("OJS-WPR-046")
def failures_are_final() -> None:
    """Every FAIL says that another try is of no use."""
    _says(lambda said: said.get("error", {}).update(retryable=False))


class _Pleased:
    """A transport that turns some failures into successful answers."""

    def __init__(self, transport: Any, pleases: Callable[[Reply | None], bool]) -> None:
        self._transport = transport
        self._pleases = pleases

    async def send(self, *arguments: Any, **named: Any) -> Any:
        """Send once."""
        try:
            reply = await self._transport.send(*arguments, **named)
        except Unreachable:
            if not self._pleases(None):
                raise
            reply = None
        return Reply(200) if self._pleases(reply) else reply


def pleased(pleases: Callable[[Reply | None], bool]) -> None:
    """Take some failures of settling calls for success; None is a call without an answer."""

    def make(begin: Any) -> Any:
        def easy(self: SingleSettler, transport: Any, *more: Any, **named: Any) -> None:
            begin(self, _Pleased(transport, pleases), *more, **named)

        return easy

    wrap(SingleSettler, "__init__", make)


@fault("OJS-WPR-027")
def outages_swallow_results() -> None:
    """The outcome of a job that ends while the server is away is never sent."""
    pleased(lambda reply: reply is None)


@fault("OJS-WPR-022")
def server_faults_end_the_telling() -> None:
    """An ACK that is answered with a status of 500 and above counts as heard."""
    pleased(lambda reply: reply is not None and reply.status >= 500)


@fault("OJS-WPR-022")
def a_timeout_is_final() -> None:
    """An ACK whose answer did not come in time is not sent again."""

    def make(send: Any) -> Any:
        async def once(self: _Pleased, request: Any, **named: Any) -> Any:
            begun = time.monotonic()
            try:
                return await send(self, request, **named)
            except Unreachable:
                if time.monotonic() - begun < request.timeout_s:
                    raise
                return Reply(200)

        return once

    wrap(_Pleased, "send", make)
    pleased(lambda reply: False)


@fault("OJS-WPR-022")
def five_tries_are_enough() -> None:
    """An ACK that was not heard five times counts as heard."""
    failed = 0

    def tired(reply: Reply | None) -> bool:
        nonlocal failed
        failed = 0 if reply is not None and reply.well else failed + 1
        return failed > 4

    pleased(tired)


def _pauses(change: Callable[..., float]) -> None:
    wrap(backoff, "pause", lambda pause: lambda failures, random: change(pause, failures, random))


@fault("OJS-WPR-024")
def tries_follow_without_a_pause() -> None:
    """A call that failed is repeated at once."""
    _pauses(lambda pause, failures, random: 0.0)


@fault("OJS-WPR-024")
def pauses_do_not_grow() -> None:
    """The pause after the tenth failure is that after the first."""
    _pauses(lambda pause, failures, random: pause(1, random))


@fault("OJS-WPR-025")
def pauses_are_left_to_no_chance() -> None:
    """The pauses after a failure have the same lengths in every worker."""
    _pauses(lambda pause, failures, random: pause(failures, 0.5))


@fault("OJS-WPR-026")
def retry_after_is_ignored() -> None:
    """A server that asks for patience is asked again soon."""
    put(Reply, "retry_after_s", None)


@fault("OJS-WPR-018")
def panics_end_the_worker() -> None:
    """A handler that raises SystemExit ends the worker."""

    def make(call: Any) -> Any:
        async def fragile(self: Executor, delivery: Any) -> Any:
            try:
                return await call(self, delivery)
            except SystemExit:
                os._exit(1)

        return fragile

    wrap(Executor, "_call", make)


@fault("OJS-WPR-019")
def unknown_types_are_done() -> None:
    """A job without a handler is acknowledged."""

    async def nothing(self: Executor, job: Job) -> Outcome:
        return Done(b"null")

    put(Executor, "_unknown", nothing)
    # A worker that asks for its own types would never be given another one.
    put(lifetime, "MAX_TYPES", 0)


@fault("OJS-WPR-020")
def timeouts_are_ignored() -> None:
    """A handler may run on when the job's time is over."""
    put(Job, "limit_s", None)


@fault("OJS-WPR-020")
def timeouts_are_looked_for_in_seconds() -> None:
    """A timeout counts only where the job has it in seconds, as no server shows it."""
    put(Job, "limit_s", property(lambda self: self.timeout))


@fault("OJS-WPR-042")
def leftovers_have_another_reason() -> None:
    """A job that outlasts the grace period is failed like any error of a handler."""
    after(
        faults,
        "shut_down",
        lambda given, *_: msgspec.structs.replace(given, type="error", code="error"),
    )
