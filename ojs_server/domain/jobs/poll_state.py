"""The states of jobs for workers that poll them and push results.

PENDING ── poll ──▶ POLLED ── result, time limit, or the worker's end ──▶ PUSHED
"""

from ojs_server.domain.errors import invalid
from ojs_server.domain.jobs.job import STATES, TERMINAL, State
from ojs_server.domain.suggestions import nearest


def states_of(word: str) -> frozenset[str]:
    """Return the job states for a state of polled jobs, or for the name of a job state."""
    places = {place_of(state).lower() for state in STATES}
    if word.lower() not in {*places, *STATES}:
        allowed = sorted(places | {*STATES})
        raise invalid("status", f"must be one of {', '.join(allowed)}{nearest(word, allowed)}")
    return frozenset(state for state in STATES if word.lower() in (state, place_of(state).lower()))


def place_of(state: str) -> str:
    """Return the name of a job state for workers that poll."""
    if state == State.ACTIVE:
        return "POLLED"
    return "PUSHED" if state in TERMINAL else "PENDING"
