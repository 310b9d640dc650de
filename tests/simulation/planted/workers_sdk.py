"""Bugs of the SDK's worker and client."""

import json
from copy import copy
from random import Random
from typing import Any

import msgspec

from ojs_wire.values import uuid7
from ojs_worker.client import own_calls
from ojs_worker.context import StopReason
from ojs_worker.errors import Unreachable
from ojs_worker.handlers.outcomes import Verdict
from ojs_worker.running.beats import Beats
from ojs_worker.running.bulk_settling import BulkSettler
from ojs_worker.running.engine import Engine
from ojs_worker.running.fetch_loop import FetchLoop
from ojs_worker.running.fetching import Fetched, Fetcher
from ojs_worker.running.lease_check import LeaseCheck
from ojs_worker.running.lifetime import Running
from ojs_worker.running.settling import SingleSettler
from ojs_worker.transport import Reply, Request, Transport
from tests.faulty.planting import put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="settlements", needs="an ACK that does not arrive")
def outcomes_are_dropped_with_the_connection() -> None:
    """A worker that has sent an outcome and hears no answer takes it for settled."""

    class Once:
        """A transport whose answer is good where there is none."""

        def __init__(self, transport: Transport) -> None:
            self._transport = transport

        async def send(self, request: Request) -> Reply:
            try:
                return await self._transport.send(request)
            except Unreachable:
                return Reply(204)

    def make_single(settle: Any) -> Any:
        async def settled(self: SingleSettler, *outcome: Any, **named: Any) -> Any:
            one = copy(self)
            one._transport = Once(self._transport)  # type: ignore[assignment]
            return await settle(one, *outcome, **named)

        return settled

    def make_bulk(send: Any) -> Any:
        async def sent(self: BulkSettler, batch: Any, body: bytes) -> Any:
            class Dropped(Exception):
                pass

            class Raising(Once):
                async def send(self, request: Request) -> Reply:
                    try:
                        return await self._transport.send(request)
                    except Unreachable as error:
                        raise Dropped from error

            one = copy(self)
            one._transport = Raising(self._transport)  # type: ignore[assignment]
            try:
                return await send(one, batch, body)
            except Dropped:
                for pending in batch:
                    pending.end(Verdict.SETTLED)
                return None

        return sent

    wrap(SingleSettler, "settle", make_single)
    wrap(BulkSettler, "_send", make_bulk)


@planted(sees="settlements", needs="an ACK whose answer is lost")
def repeated_outcomes_name_the_next_attempt() -> None:
    """An outcome that is sent again counts its tries in the number of the delivery."""

    class Counting:
        """A transport that raises the attempts in what is sent again."""

        def __init__(self, transport: Transport) -> None:
            self._transport = transport
            self._tries = 0

        async def send(self, request: Request) -> Reply:
            body = json.loads(request.body or b"{}")
            for one in body.get("results", [body]):
                if "attempt" in one:
                    one["attempt"] += self._tries
            self._tries += 1
            body = json.dumps(body).encode()
            return await self._transport.send(msgspec.structs.replace(request, body=body))

    def make(settle: Any) -> Any:
        async def settled(self: Any, *outcome: Any, **named: Any) -> Any:
            one = copy(self)
            one._transport = Counting(self._transport)
            return await settle(one, *outcome, **named)

        return settled

    wrap(SingleSettler, "settle", make)
    wrap(BulkSettler, "_send", make)


@planted(sees="told workers let go", needs="a lapse while the handler runs")
def lost_jobs_run_on() -> None:
    """A worker runs on with a job that it was told it has lost, and reports its outcome."""

    def make(withdraw: Any) -> Any:
        def unless_lost(self: Engine, delivery: Any, reason: StopReason) -> None:
            if reason is not StopReason.LOST:
                withdraw(self, delivery, reason)

        return unless_lost

    wrap(Engine, "_withdraw", make)


@planted(
    sees="exclusion", needs="a worker that freezes with a FETCH in its socket", like="1577ee58"
)
def old_answers_are_believed() -> None:
    """A worker that was suspended starts the jobs of an old answer without asking."""
    put(LeaseCheck, "_sure", lambda self, delivery: True)


@planted(sees="living workers", needs="a blocking handler that runs longer than a lease")
def no_beats_beside_a_blocking_handler() -> None:
    """A worker sends no BEAT while a handler that blocks is running."""

    def make(send: Any) -> Any:
        async def unless_blocked(self: Beats, report: Any) -> Any:
            engine = self._report.__self__  # type: ignore[attr-defined]
            for delivery in engine._ledger:
                if delivery.handler is not None and delivery.handler.runs == "thread":
                    return None
            return await send(self, report)

        return unless_blocked

    wrap(Beats, "_send", make)


@planted(sees="living workers", needs="a job that is fetched while its worker becomes quiet")
def jobs_fetched_while_quitting_are_dropped() -> None:
    """A worker that takes no more jobs neither runs nor gives back what it still gets."""

    def make(accept: Any) -> Any:
        def dropping(self: Engine, fetched: Fetched) -> None:
            if self.machine.may_fetch:
                accept(self, fetched)

        return dropping

    wrap(Engine, "accept", make)


@planted(sees="living workers", needs="a FETCH that brings a job")
def a_fetch_keeps_its_id() -> None:
    """A worker uses the id of its first FETCH for all that follow."""

    def answered(self: Fetcher, fetched: Fetched) -> Fetched:
        return msgspec.structs.replace(fetched, sent_at=self._sent_at)

    put(Fetcher, "answered", answered)


@planted(sees="lost jobs", needs="a FETCH whose answer is lost", like="bfb1b0ec")
def a_repeated_fetch_has_a_new_id() -> None:
    """A worker that sends a FETCH again gives it another id, and never gets the first jobs."""

    def make(terms: Any) -> Any:
        def anew(self: Fetcher, count: int) -> Any:
            self._pending = None
            return terms(self, count)

        return anew

    wrap(Fetcher, "terms", make)


@planted(sees="enqueues", needs="two clients that enqueue in one second", like="0034")
def clients_make_the_same_ids() -> None:
    """All clients make the ids of jobs from the second in which they enqueue."""

    def make(job_request: Any) -> Any:
        def request(kind: Any, args: Any, options: Any, now: Any, new_id: Any) -> Any:
            def seeded(moment: int) -> str:
                second = moment // 1000 * 1000
                return uuid7(second, Random(second).getrandbits)

            return job_request(kind, args, options, now, seeded)

        return request

    wrap(own_calls, "job_request", make)


@planted(sees="living workers", needs="a worker that the server has removed", like="65134d58")
def refused_workers_do_not_register_anew() -> None:
    """A worker whose FETCH is refused goes on asking under the same registration."""

    async def nothing(self: Running) -> None:
        """Do not register."""

    put(Running, "register_again", nothing)


@planted(sees="living workers", needs="a worker that was quiet and runs again")
def a_resumed_worker_fetches_nothing() -> None:
    """A worker that was quiet does not fetch again when it is to run."""

    def make(start: Any) -> Any:
        def once(self: FetchLoop) -> None:
            if self._enabled:
                start(self)

        return once

    wrap(FetchLoop, "start", make)


@planted(sees="living workers", needs="a worker that runs again while its last FETCH is awaited")
def the_last_fetch_ends_a_worker_that_runs_again() -> None:
    """A worker that is to run again while it awaits its last FETCH gives that up all the same."""

    def make(quiesce: Any) -> Any:
        async def ended(self: FetchLoop, limit_s: float) -> None:
            await quiesce(self, limit_s)
            self.stop()

        return ended

    wrap(FetchLoop, "quiesce", make)
