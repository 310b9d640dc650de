"""Faults in a worker's handling of the answers to its BEATs."""

import os
from typing import Any

import msgspec

from ojs_worker.running import engine
from ojs_worker.running.beats import Beats
from ojs_worker.running.engine import Engine
from ojs_worker.running.machine import NOTHING, Machine, State
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap


def _deaf_to(state: State) -> None:
    wrap(
        Machine,
        "directed",
        lambda directed: (
            lambda self, word, reported, now: (
                NOTHING if word is state else directed(self, word, reported, now)
            )
        ),
    )


@fault("OJS-WRK-016")
def quiet_is_not_heard() -> None:
    """A worker that is told `quiet` fetches on."""
    _deaf_to(State.QUIET)


@fault("OJS-WRK-016")
def terminate_is_not_heard() -> None:
    """A worker that is told `terminate` works on."""
    _deaf_to(State.TERMINATE)


@fault("OJS-WPR-047")
def running_is_not_heard() -> None:
    """A quiet that the server asked for is never lifted."""
    _deaf_to(State.RUNNING)


@fault("OJS-WPR-029")
def running_lifts_every_quiet() -> None:
    """The server's `running` also lifts a quiet that a signal asked for."""

    def make(directed: Any) -> Any:
        def lifted(self: Machine, word: State | None, reported: State, now: float) -> Any:
            if word is State.RUNNING:
                self._own_quiet = False
            return directed(self, word, reported, now)

        return lifted

    wrap(Machine, "directed", make)


@fault("OJS-WPR-015")
def unknown_words_end_the_worker() -> None:
    """A word that the worker does not know is taken for `terminate`."""
    wrap(
        engine,
        "directive_of",
        lambda directive_of: (
            lambda state, directive: directive_of(state, directive) or State.TERMINATE
        ),
    )


def _without(member: str) -> None:
    wrap(
        Engine,
        "beat_answered",
        lambda answered: (
            lambda self, answer, report: answered(
                self, msgspec.structs.replace(answer, **{member: None}), report
            )
        ),
    )


@fault("OJS-WRK-014")
def lost_jobs_run_on() -> None:
    """A job that the server took back is done and acknowledged."""
    _without("jobs_lost")


@fault("OJS-WRK-014")
def cancelled_jobs_run_on() -> None:
    """A job that was cancelled is done and acknowledged."""
    _without("cancelled_jobs")


@fault("OJS-WRK-017")
def a_beat_without_an_answer_is_the_end() -> None:
    """A worker whose BEAT is refused ends."""
    put(Beats, "_failed", lambda self, reason: os._exit(1))
