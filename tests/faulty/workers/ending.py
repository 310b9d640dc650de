"""Faults of signals, of the grace period and of the end."""

import asyncio
import signal
from typing import Any

from ojs_worker import cli
from ojs_worker.running import engine, lifetime, signals
from ojs_worker.running.beats import Beats
from ojs_worker.running.engine import Engine
from ojs_worker.running.machine import NOTHING, Action, Actions, Command, Machine, State
from ojs_worker.running.signals import SignalBox
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap
from tests.faulty.workers.settling import pleased


def _uncaught(which: signal.Signals) -> None:
    put(signals, "HANDLED", tuple(one for one in signals.HANDLED if one != which))


@fault("OJS-WPR-031")
def jobs_end_with_the_signal() -> None:
    """SIGTERM fails all jobs at once."""

    def make(shut_down: Any) -> Any:
        def at_once(self: Machine, deadline: float) -> Actions:
            actions: Actions = shut_down(self, deadline - self.grace_s)
            return actions

        return at_once

    wrap(Machine, "_shut_down", make)


@fault("OJS-WPR-033")
def sigint_is_ignored() -> None:
    """SIGINT does nothing."""
    _uncaught(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@fault("OJS-WPR-035")
def sigtstp_stops_the_process() -> None:
    """SIGTSTP is not caught, and stops the process."""
    _uncaught(signal.SIGTSTP)


@fault("OJS-WPR-036")
def sigcont_is_not_heard() -> None:
    """A worker that a signal made quiet stays so."""
    wrap(
        Machine,
        "handle",
        lambda handle: (
            lambda self, command, now: (
                NOTHING if command is Command.RESUME else handle(self, command, now)
            )
        ),
    )


@fault("OJS-WPR-034")
def second_signal_is_ignored() -> None:
    """A second SIGTERM or SIGINT changes nothing."""
    put(SignalBox, "is_forcing", lambda self, sig: False)
    put(signals, "exit_later", lambda seconds, code: None)


@fault("OJS-WPR-050")
def exit_code_is_always_0() -> None:
    """A worker that gave jobs up ends with 0."""
    put(Machine, "exit_code", 0)


@fault("OJS-WPR-050")
def forced_ends_look_like_any_other() -> None:
    """A forced end has the exit code 1."""
    for module in (signals, lifetime):
        put(module, "forced_code", lambda sig: 1)


@fault("OJS-WPR-048")
def grace_never_ends() -> None:
    """The worker waits for its jobs however long they take."""
    wrap(
        Machine,
        "at",
        lambda at: lambda self, now, held: at(self, min(now, self.deadline or now) - 1, held),
    )


@fault("OJS-WPR-048")
def grace_is_half_as_long_again() -> None:
    """The grace period takes one and a half times as long as it is set to."""

    def make(shut_down: Any) -> Any:
        def slowly(self: Machine, deadline: float) -> Actions:
            actions: Actions = shut_down(self, deadline + self.grace_s / 2)
            return actions

        return slowly

    wrap(Machine, "_shut_down", make)


def _grace_lasts(share: float) -> None:
    """Let the grace period take a share of the time that it is set to."""

    def make(shut_down: Any) -> Any:
        def shortly(self: Machine, deadline: float) -> Actions:
            actions: Actions = shut_down(self, deadline - (1 - share) * self.grace_s)
            return actions

        return shortly

    wrap(Machine, "_shut_down", make)


@fault("OJS-WPR-032")
def grace_is_half_as_long() -> None:
    """The grace period takes half the time that it is set to."""
    _grace_lasts(0.5)


@fault("OJS-WPR-032")
def grace_is_a_fifth_too_short() -> None:
    """The grace period takes four fifths of the time that it is set to."""
    _grace_lasts(0.8)


@fault("OJS-WRK-016")
def grace_of_servers_is_half_as_long() -> None:
    """The grace period after the directive `terminate` takes half the time that it is set to."""

    def make(directed: Any) -> Any:
        def earlier(self: Machine, word: State | None, reported: State, now: float) -> Any:
            return directed(self, word, reported, now - self.grace_s / 2)

        return earlier

    wrap(Machine, "directed", make)


@fault("OJS-WPR-031")
def the_end_waits_for_no_second_try() -> None:
    """A worker that is ending does not send again an ACK that was refused."""
    ending: list[Machine] = []

    def make(shut_down: Any) -> Any:
        def noted(self: Machine, deadline: float) -> Actions:
            ending.append(self)
            actions: Actions = shut_down(self, deadline)
            return actions

        return noted

    wrap(Machine, "_shut_down", make)
    pleased(lambda reply: bool(ending) and (reply is None or not reply.well))


@fault("OJS-WPR-048")
def leftovers_are_left() -> None:
    """A job that outlasts the grace period is neither failed nor given back."""

    async def give_up(self: Engine) -> None:
        self.machine.abandoned = True

    put(Engine, "_give_up", give_up)


@fault("OJS-WPR-031")
def fetching_goes_on_to_the_end() -> None:
    """A worker that is ending asks for jobs."""
    put(Machine, "may_fetch", True)

    def make(do: Any) -> Any:
        return lambda self, actions: do(
            self, tuple(one for one in actions if one is not Action.END_FETCH)
        )

    wrap(Engine, "_do", make)
    wrap(
        Machine,
        "_shut_down",
        lambda shut_down: lambda self, now: _without_waiting(self, shut_down(self, now)),
    )


def _without_waiting(machine: Machine, actions: Actions) -> Actions:
    machine.fetching = False
    return actions


@fault("OJS-WPR-030")
def running_lifts_the_end() -> None:
    """A worker that is ending runs on where the server says `running`."""

    def make(directed: Any) -> Any:
        def lifted(self: Machine, word: State | None, reported: State, now: float) -> Actions:
            if self.shutting_down and word is State.RUNNING and reported is State.QUIET:
                self.shutting_down, self.state = False, State.RUNNING
                return (Action.BEAT, Action.FETCH)
            actions: Actions = directed(self, word, reported, now)
            return actions

        return lifted

    wrap(Machine, "directed", make)


@fault("OJS-WPR-028")
def goodbye_waits_for_the_server() -> None:
    """A worker does not end before the server has heard its goodbye."""

    def make(goodbye: Any) -> Any:
        async def patient(self: Beats) -> None:
            await goodbye(self)
            while not self.connected:
                await asyncio.sleep(0.1)
                await self.beat()

        return patient

    wrap(Beats, "deregister", make)
    put(engine, "within", _patiently)
    put(cli, "exit_later", lambda seconds, code: None)


async def _patiently(limit_s: float, *work: Any) -> None:
    for one in work:
        await one


@fault("OJS-WRK-030")
def goodbye_comes_first() -> None:
    """A worker deregisters as soon as it is told to end."""

    def make(handle: Any) -> Any:
        def early(self: Engine, command: Command) -> None:
            if command is Command.STOP:
                self._background.begin(self._beats.deregister())
            handle(self, command)

        return early

    wrap(Engine, "handle", make)
