"""Faults of registering and of BEATs: their times and their content."""

import asyncio
import os
from typing import Any

import msgspec

from ojs_worker.running.beats import BEAT, Beats, Report
from ojs_worker.running.delivery import Delivery, Ledger
from ojs_worker.running.engine import Engine
from ojs_worker.running.machine import State
from ojs_worker.transport import Reply, pauses
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap


def _every(factor: float) -> None:
    """Beat in another interval than the one that the server told."""

    def make(learn: Any) -> Any:
        def otherwise(self: Beats, body: bytes) -> None:
            learn(self, body)
            self._interval_s *= factor

        return otherwise

    wrap(Beats, "_learn", make)


@fault("OJS-WRK-017")
def refused_beats_are_obeyed() -> None:
    """The answer to a BEAT is obeyed even if it refuses the BEAT."""

    def make(post: Any) -> Any:
        async def pleased(self: Beats, path: str, *more: Any, **named: Any) -> Any:
            reply = await post(self, path, *more, **named)
            return Reply(200, reply.body) if path == BEAT else reply

        return pleased

    wrap(Beats, "_post", make)


@fault("OJS-WPR-043")
def beats_are_rare() -> None:
    """BEATs come three times as seldom as they should."""
    _every(3)


@fault("OJS-WPR-043")
def beats_are_frequent() -> None:
    """BEATs come twenty times as often as they should."""
    _every(0.05)


@fault("OJS-WPR-004")
def first_beat_comes_late() -> None:
    """A worker fetches before it has sent a BEAT."""

    def make(run: Any) -> Any:
        async def late(self: Beats) -> None:
            self.introduced.set()
            await asyncio.sleep(self._interval_s / 2)
            await run(self)

        return late

    wrap(Beats, "run", make)


@fault("OJS-WRK-023")
def nobody_registers() -> None:
    """A worker begins without a registration."""

    async def nothing(self: Beats) -> None:
        self._send_profile = True

    put(Beats, "_register", nothing)


@fault("OJS-WPR-005")
def registrations_boast() -> None:
    """A worker registers one place more than it has."""

    def make(register: Any) -> Any:
        async def boast(self: Beats) -> None:
            known = dict(self._profile)
            self._profile = {**known, "concurrency": known["concurrency"] + 1}
            await register(self)

        return boast

    wrap(Beats, "_register", make)


def _reports(change: Any) -> None:
    after(
        Engine,
        "report",
        lambda report, engine: msgspec.structs.replace(report, **change(report, engine)),
    )


@fault("OJS-WRK-002")
def beats_list_nothing() -> None:
    """A BEAT names none of the jobs that are held."""
    _reports(lambda report, engine: {"held": {}})


@fault("OJS-WPR-012")
def beats_list_what_is_finished() -> None:
    """A BEAT names every job that the worker ever had."""
    ever: dict[str, int] = {}

    def noting(add: Any) -> Any:
        def noted(self: Ledger, delivery: Delivery) -> None:
            ever[delivery.job.id] = delivery.job.attempt
            add(self, delivery)

        return noted

    wrap(Ledger, "add", noting)
    _reports(lambda report, engine: {"held": dict(ever)})


@fault("OJS-WPR-012")
def beats_list_what_has_just_finished() -> None:
    """A BEAT names jobs that the BEAT before named, and that have been settled since."""
    before: dict[str, int] = {}

    def longer(report: Report, engine: Engine) -> dict[str, Any]:
        held = {**before, **report.held}
        before.clear()
        before.update(report.held)
        return {"held": held}

    _reports(longer)


@fault("OJS-WPR-006")
def a_server_that_is_late_is_not_waited_for() -> None:
    """A worker that cannot register ends after its fifth try."""

    def make(register: Any) -> Any:
        async def impatient(self: Beats) -> Any:
            limit_s = sum(pauses.pause(failures, 1.0) for failures in range(1, 5))
            try:
                return await asyncio.wait_for(register(self), limit_s)
            except TimeoutError:
                os._exit(1)

        return impatient

    wrap(Beats, "_register", make)


@fault("OJS-WPR-027")
def eight_lost_beats_are_the_end() -> None:
    """A worker ends when eight of its BEATs in a row had no answer."""

    def make(failed: Any) -> Any:
        def counted(self: Beats, reason: str) -> None:
            failed(self, reason)
            if self._failures >= 8:
                os._exit(1)

        return counted

    wrap(Beats, "_failed", make)


@fault("OJS-WPR-044")
def beats_forget_what_is_being_told() -> None:
    """A job whose ACK is on its way is listed no more."""

    def others(report: Report, engine: Engine) -> dict[str, Any]:
        telling = {one.job.id for one in engine._ledger if one.settling}
        return {"held": {job: n for job, n in report.held.items() if job not in telling}}

    _reports(others)


@fault("OJS-WPR-013")
def beats_always_say_running() -> None:
    """A quiet worker says that it is running."""
    _reports(lambda report, engine: {"state": State.RUNNING})


@fault("OJS-WPR-001")
def names_change() -> None:
    """A worker gives another name in each BEAT."""

    def make(send: Any) -> Any:
        async def renamed(self: Beats, report: Report) -> Any:
            self._worker_id += "x"
            return await send(self, report)

        return renamed

    wrap(Beats, "_send", make)
