"""The states of a worker: every move that is allowed, and every one that is not."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ojs_worker.running.machine import Action, Command, Machine, State, directive_of
from tests.examples import examples, histories

GRACE = 25.0
ORDER = [State.RUNNING, State.QUIET, State.TERMINATE, State.TERMINATED]


def machine() -> Machine:
    return Machine(grace_s=GRACE)


def state_of(m: Machine) -> State:
    """The state; called, so that the type checker does not think that it stays."""
    return m.state


def test_it_begins_running() -> None:
    assert machine().state is State.RUNNING
    assert machine().may_fetch
    assert machine().exit_code == 0


def test_tstp_and_cont() -> None:
    m = machine()
    assert m.handle(Command.QUIET, 0) == (Action.BEAT, Action.END_FETCH)
    assert state_of(m) is State.QUIET
    assert not m.ready
    assert m.handle(Command.QUIET, 1) == ()
    assert m.handle(Command.RESUME, 2) == (Action.BEAT, Action.FETCH)
    assert state_of(m) is State.RUNNING


def test_a_stop_with_nothing_to_do_leaves_soon() -> None:
    m = machine()
    assert m.handle(Command.STOP, 0) == (Action.BEAT, Action.END_FETCH)
    # First the server hears that it is quiet.
    assert m.at(0, 0) == ()
    assert state_of(m) is State.QUIET
    assert m.fetch_ended(0, 0) == (Action.LEAVE,)
    assert state_of(m) is State.TERMINATE
    assert m.exit_code == 0


def test_a_stop_waits_for_jobs_and_then_leaves() -> None:
    m = machine()
    assert m.handle(Command.STOP, 10) == (Action.BEAT, Action.END_FETCH)
    assert state_of(m) is State.QUIET
    assert m.deadline == 35
    assert m.fetch_ended(10, 2) == ()
    assert m.at(34.9, 1) == ()
    assert m.at(34.9, 0) == (Action.LEAVE,)
    assert m.at(36, 0) == ()


def test_a_stop_gives_up_what_outlasts_the_grace() -> None:
    m = machine()
    m.handle(Command.STOP, 10)
    assert m.at(35, 1) == (Action.CANCEL_ALL,)
    assert state_of(m) is State.TERMINATE
    assert m.at(36, 0) == ()


def test_the_server_may_quiet_and_lift_its_quiet() -> None:
    m = machine()
    assert m.directed(State.QUIET, State.RUNNING, 0) == (Action.BEAT, Action.END_FETCH)
    assert m.directed(State.QUIET, State.QUIET, 1) == ()
    assert m.directed(State.RUNNING, State.QUIET, 2) == (Action.BEAT, Action.FETCH)


def test_the_server_cannot_lift_the_quiet_of_a_signal() -> None:
    m = machine()
    m.handle(Command.QUIET, 0)
    assert m.directed(State.RUNNING, State.QUIET, 1) == ()
    assert state_of(m) is State.QUIET


def test_an_answer_that_repeats_the_workers_own_quiet_is_no_directive() -> None:
    m = machine()
    m.handle(Command.QUIET, 0)
    assert m.directed(State.QUIET, State.QUIET, 1) == ()
    assert m.handle(Command.RESUME, 2) == (Action.BEAT, Action.FETCH)


def test_cont_lifts_both_and_the_server_may_repeat_itself() -> None:
    m = machine()
    m.directed(State.QUIET, State.RUNNING, 0)
    m.handle(Command.QUIET, 1)
    assert m.handle(Command.RESUME, 2) == (Action.BEAT, Action.FETCH)
    assert m.directed(State.QUIET, State.RUNNING, 3) == (Action.BEAT, Action.END_FETCH)


def test_an_answer_to_an_older_beat_lifts_nothing() -> None:
    m = machine()
    m.directed(State.QUIET, State.RUNNING, 0)
    assert m.directed(State.RUNNING, State.RUNNING, 1) == ()
    assert state_of(m) is State.QUIET


def test_terminate_by_the_server_is_a_stop() -> None:
    m = machine()
    assert m.directed(State.TERMINATE, State.RUNNING, 5) == (Action.BEAT, Action.END_FETCH)
    assert m.shutting_down
    assert m.deadline == 30


def test_a_worker_that_is_recycled_waits_for_its_jobs_without_a_limit() -> None:
    m = machine()
    assert m.handle(Command.RECYCLE, 10) == (Action.BEAT, Action.END_FETCH)
    assert m.handle(Command.RECYCLE, 11) == ()
    assert m.fetch_ended(11, 2) == ()
    assert m.at(1e9, 1) == ()
    assert m.at(1e9, 0) == (Action.LEAVE,)
    assert m.exit_code == 0
    assert m.handle(Command.STOP, 1e9) == ()


@pytest.mark.parametrize("by_server", [False, True])
def test_a_stop_sets_a_limit_to_recycling(by_server: bool) -> None:
    m = machine()
    m.handle(Command.RECYCLE, 10)
    m.fetch_ended(10, 2)
    directed = (
        m.directed(State.TERMINATE, State.QUIET, 20) if by_server else m.handle(Command.STOP, 20)
    )
    assert directed == (Action.BEAT,)
    assert m.deadline == 45
    assert m.handle(Command.STOP, 21) == ()
    assert m.at(44, 1) == ()
    assert m.at(45, 1) == (Action.CANCEL_ALL,)


def test_a_second_signal_forces() -> None:
    m = machine()
    m.handle(Command.STOP, 0)
    assert m.force(1) == (Action.END_FETCH, Action.CANCEL_ALL)
    assert m.force(2) == ()
    given_up = machine()
    given_up.handle(Command.STOP, 0)
    given_up.at(GRACE, 1)
    assert given_up.force(26) == (Action.LEAVE,)


@pytest.mark.parametrize(
    ("state", "directive", "word"),
    [
        ("running", "", State.RUNNING),
        ("running", None, State.RUNNING),
        ("quiet", "quiet", State.QUIET),
        ("running", "quiet", State.QUIET),
        ("active", "terminate", State.TERMINATE),
        ("active", "continue", None),
        ("terminated", None, None),
        (None, None, State.RUNNING),
        (None, "quiet", State.QUIET),
        (7, {}, None),
        ("", "", None),
    ],
)
def test_what_a_server_says_is_read_in_every_dialect(
    state: object, directive: object, word: State | None
) -> None:
    assert directive_of(state, directive) is word


@given(st.lists(st.sampled_from([*Command, *ORDER[:3]])))
@settings(max_examples=examples(60))
def test_once_ending_it_never_goes_back(words: list[Command | State]) -> None:
    m = machine()
    m.handle(Command.STOP, 0)
    place = ORDER.index(m.state)
    for now, word in enumerate(words, 1):
        if isinstance(word, Command):
            m.handle(word, now)
        else:
            m.directed(word, m.state, now)
        assert Action.FETCH not in m.at(now, 3)
        assert not m.may_fetch
        assert ORDER.index(m.state) >= place
        place = ORDER.index(m.state)


class WorkerStates(RuleBasedStateMachine):
    """Signals, answers, jobs and time in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.m = machine()
        self.now = 0.0
        self.held = 0
        self.own = False
        self.directed = False
        self.deadline: float | None = None
        self.left = 0
        self.fetching = False
        self.cancelled = 0

    def ends(self, deadline: float) -> None:
        """Note the end of the grace period; that of a worker that is recycled may still come."""
        if self.deadline in (None, math.inf):
            self.deadline = deadline

    def done(self, actions: tuple[Action, ...]) -> None:
        self.left += Action.LEAVE in actions
        self.cancelled += Action.CANCEL_ALL in actions
        if Action.FETCH in actions:
            assert self.m.may_fetch
        if Action.END_FETCH in actions:
            assert not self.m.may_fetch
            self.fetching = True

    @rule(word=st.sampled_from(Command))
    def handle(self, word: Command) -> None:
        if word is Command.STOP:
            self.ends(self.now + GRACE)
        elif word is Command.RECYCLE:
            self.ends(math.inf)
        elif self.deadline is None:
            if word is Command.QUIET:
                self.own = True
            else:
                self.own = self.directed = False
        self.done(self.m.handle(word, self.now))

    @rule(word=st.sampled_from(ORDER[:3]))
    def answer(self, word: State) -> None:
        reported = self.m.state
        if word is State.TERMINATE:
            self.ends(self.now + GRACE)
        elif self.deadline is None:
            if word is State.QUIET and reported is State.RUNNING:
                self.directed = True
            elif word is State.RUNNING and reported is State.QUIET:
                self.directed = False
        self.done(self.m.directed(word, reported, self.now))

    @precondition(lambda self: self.m.may_fetch)
    @rule()
    def job_comes(self) -> None:
        self.held += 1

    @precondition(lambda self: self.held and not self.cancelled)
    @rule()
    def job_ends(self) -> None:
        self.held -= 1
        self.done(self.m.at(self.now, self.held))

    @precondition(lambda self: self.fetching)
    @rule()
    def fetch_ends(self) -> None:
        self.fetching = False
        self.done(self.m.fetch_ended(self.now, self.held))

    @rule(seconds=st.floats(0.1, 20))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.done(self.m.at(self.now, self.held))

    @invariant()
    def the_state_follows_from_what_was_said(self) -> None:
        if self.deadline is None:
            quiet = self.own or self.directed
            assert self.m.state is (State.QUIET if quiet else State.RUNNING)
            assert self.left == self.cancelled == 0
            return
        over = self.now >= self.deadline
        assert self.left + self.cancelled <= 1
        if self.m.state is State.TERMINATE:
            assert self.left + self.cancelled == 1
        else:
            assert self.m.state is State.QUIET
            assert self.held or self.fetching
            assert not over


TestWorkerStates = WorkerStates.TestCase
TestWorkerStates.settings = histories(60, steps=30, random=True)
