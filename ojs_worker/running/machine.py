"""The states of a worker, as a pure machine: messages and times go in, actions come out.

    running ◀──▶ quiet ──▶ terminate ──▶ terminated
       └──────────────────────▲

A quiet that came from SIGTSTP is lifted by SIGCONT alone; one that the server asked for also by
the server. Once a shutdown began nothing moves back: the worker is quiet while it drains, and
`terminate` once its grace period is over or nothing is left to do. A worker that is recycled ends
in the same way, but waits for its jobs without a limit. No time is read here.
"""

import math
from enum import StrEnum
from typing import Final

import msgspec


class State(StrEnum):
    """The state of a worker, as it is reported in every BEAT."""

    RUNNING = "running"
    QUIET = "quiet"
    TERMINATE = "terminate"
    TERMINATED = "terminated"


class Command(StrEnum):
    """A request to the worker from a signal or from its program."""

    STOP = "stop"  # SIGTERM, SIGINT, stop()
    RECYCLE = "recycle"  # its process has reached its limit of jobs or memory
    QUIET = "quiet"  # SIGTSTP
    RESUME = "resume"  # SIGCONT


class Action(StrEnum):
    """An action that follows from a change of state."""

    BEAT = "beat"  # tell the server the new state, without waiting for the interval
    END_FETCH = "end_fetch"  # no more jobs are wanted; report when no FETCH can bring one
    FETCH = "fetch"  # jobs are wanted again
    CANCEL_ALL = "cancel_all"  # the grace period is over: stop every handler, give its job back
    LEAVE = "leave"  # say goodbye and end


Actions = tuple[Action, ...]
NOTHING: Final[Actions] = ()
# Directives of servers; other words are ignored.
DIRECTIVES: Final = {
    "running": State.RUNNING,
    "quiet": State.QUIET,
    "terminate": State.TERMINATE,
}


def directive_of(state: object, directive: object) -> State | None:
    """Return the state that a BEAT's answer requests. Some servers repeat the worker's own state in
    `state`, and send the request in `directive`."""
    for command in (directive, state):
        if isinstance(command, str) and command in DIRECTIVES:
            return DIRECTIVES[command]
    return State.RUNNING if state is None and not directive else None


class Machine(msgspec.Struct):
    """The state of one worker. `grace_s` is how long handlers may go on after a shutdown has
    begun."""

    grace_s: float
    state: State = State.RUNNING
    shutting_down: bool = False
    forced: bool = False
    deadline: float | None = None
    # True if a job was given up.
    abandoned: bool = False
    # True while a FETCH may bring jobs, and the server may not know that none are wanted.
    fetching: bool = False
    _own_quiet: bool = False
    _server_quiet: bool = False

    @property
    def may_fetch(self) -> bool:
        """True if the worker may fetch jobs."""
        return self.state is State.RUNNING

    @property
    def ready(self) -> bool:
        """True if a readiness probe should succeed."""
        return self.state is State.RUNNING

    @property
    def exit_code(self) -> int:
        """The exit code: 0 if every job has ended by itself, 1 if some were given up."""
        return 1 if self.abandoned else 0

    def handle(self, command: Command, now: float) -> Actions:
        """Handle a signal, or a call of the program."""
        match command:
            case Command.STOP:
                return self._shut_down(now + self.grace_s)
            case Command.RECYCLE:
                return self._shut_down(math.inf)
            case Command.QUIET:
                if self.shutting_down:
                    return NOTHING
                self._own_quiet = True
                return self._settle()
            case Command.RESUME:
                if self.shutting_down:
                    return NOTHING
                # If the server still wants quiet, its next answer says so.
                self._own_quiet = self._server_quiet = False
                return self._settle()

    def directed(self, command: State | None, reported: State, now: float) -> Actions:
        """Handle the answer to a BEAT that reported the state `reported`."""
        if command is State.TERMINATE:
            return self._shut_down(now + self.grace_s)
        if self.shutting_down or command is None:
            return NOTHING
        if command is State.RUNNING:
            # The answer is to an older state.
            if reported is not State.QUIET:
                return NOTHING
            self._server_quiet = False
        elif reported is State.RUNNING:
            # If the worker reported quiet itself, the answer only repeats that.
            self._server_quiet = True
        return self._settle()

    def force(self, now: float) -> Actions:
        """End now, after the second signal, without waiting for jobs."""
        if self.forced or self.state is State.TERMINATED:
            return NOTHING
        self.shutting_down = self.forced = True
        self.deadline = now
        before, self.state = self.state, State.TERMINATE
        if before is State.TERMINATE:
            return (Action.LEAVE,)
        return (Action.END_FETCH, Action.CANCEL_ALL)

    def fetch_ended(self, now: float, held: int) -> Actions:
        """Note that no FETCH is under way and that the server knows that no job is wanted."""
        self.fetching = False
        return self.at(now, held)

    def at(self, now: float, held: int) -> Actions:
        """Act on the time that has passed, or on a job that has ended."""
        if not self.shutting_down or self.state is not State.QUIET:
            return NOTHING
        assert self.deadline is not None
        if (held or self.fetching) and now < self.deadline:
            return NOTHING
        self.state = State.TERMINATE
        if held:
            return (Action.CANCEL_ALL,)
        return (Action.LEAVE,)

    def deregistered(self) -> None:
        """Note that the worker has deregistered."""
        self.state = State.TERMINATED

    def _shut_down(self, deadline: float) -> Actions:
        if self.shutting_down:
            if self.deadline != math.inf or deadline == math.inf or self.state is not State.QUIET:
                return NOTHING
            # Recycling has no time limit, and a stop sets one.
            self.deadline = deadline
            return (Action.BEAT,)
        self.shutting_down = True
        self.deadline = deadline
        self.state = State.QUIET
        self.fetching = True
        return (Action.BEAT, Action.END_FETCH)

    def _settle(self) -> Actions:
        """Change the state to what program and server ask for."""
        target = State.QUIET if self._own_quiet or self._server_quiet else State.RUNNING
        if target is self.state:
            return NOTHING
        self.state = target
        if target is State.QUIET:
            return (Action.BEAT, Action.END_FETCH)
        return (Action.BEAT, Action.FETCH)
