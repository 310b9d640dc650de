"""Group commit: order, cancellation, bounds, failures and the end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, Unavailable
from ojs_server.environment import machine
from ojs_server.ops.engine import group_commit, look_ups
from ojs_server.ops.engine.batch import Committed, LocksBusy, UncommittedBatch
from ojs_server.ops.engine.caller import WAITS_UNTIL
from ojs_server.ops.engine.group_commit import (
    MAX_BATCH,
    MAX_KEPT,
    TURNS,
    GroupCommit,
)
from ojs_server.ops.operation import Operation
from ojs_server.store.base import OutcomeUnknown


class Touch(Operation[str], frozen=True):
    """An operation that touches what it names, about so many jobs."""

    name: str
    touched: tuple[object, ...] = ()
    jobs: int = 1

    @property
    def keys(self) -> tuple[object, ...]:
        return self.touched

    @property
    def job_count(self) -> int:
        return self.jobs


class Writer:
    """Carries batches out, each only when the test lets it."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.started = threading.Event()
        self.answer: Callable[[Any], Any] = lambda op: op.name

    def __call__(self, ops: list[Any], begun: UncommittedBatch | None = None) -> Committed:
        self.batches.append([op.name for op in ops])
        self.started.set()
        assert self.gate.wait(30), "the test never let the batch go"
        return Committed([self.answer(op) for op in ops])

    async def busy(self) -> None:
        """Until a batch is in the works."""
        await asyncio.to_thread(self.started.wait, 30)


@pytest.fixture(autouse=True)
def long_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test on a slow machine loses no caller in doubt."""
    monkeypatch.setattr(look_ups, "LOOK_UP_S", 3600.0)


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
async def commits(writer: Writer) -> AsyncIterator[GroupCommit]:
    group = GroupCommit(writer, lambda committed: None, machine(), max_waiting=1000)
    yield group
    writer.gate.set()
    await group.close()


async def submitted(commits: GroupCommit, *ops: Touch) -> list[asyncio.Task[Any]]:
    """Submit operations and let each enter the queue."""
    tasks = [asyncio.create_task(commits.submit(op)) for op in ops]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_a_lone_operation_is_answered(commits: GroupCommit, writer: Writer) -> None:
    assert await commits.submit(Touch("a")) == "a"
    assert writer.batches == [["a"]]
    assert commits.depth == 0


async def test_what_arrives_together_is_committed_together(
    commits: GroupCommit, writer: Writer
) -> None:
    ops = [Touch(str(n), (n,)) for n in range(20)]
    answers = await asyncio.gather(*(commits.submit(op) for op in ops))
    assert answers == [op.name for op in ops]
    assert writer.batches == [answers]


async def test_operations_on_one_thing_keep_their_order_over_batches(
    commits: GroupCommit, writer: Writer
) -> None:
    ops = [
        Touch("a1", ("a",)),
        Touch("b1", ("b",)),
        Touch("a2", ("a",)),
        Touch("ab", ("a", "b")),
        Touch("b2", ("b",)),
        Touch("c1", ("c",)),
        Touch("a3", ("a",)),
    ]
    await asyncio.gather(*(commits.submit(op) for op in ops))
    assert writer.batches == [["a1", "b1", "c1"], ["a2"], ["ab"], ["b2", "a3"]]


class Due(Touch, frozen=True):
    """An operation whose time has come."""

    due = True


async def test_what_is_due_is_carried_out_next_and_the_others_after_it(
    commits: GroupCommit, writer: Writer
) -> None:
    """Also where it comes again and again, as steps of the promotion of many jobs do."""
    writer.gate.clear()
    running = await submitted(commits, Touch("running"))
    await writer.busy()
    waiting = await submitted(commits, *(Touch("new") for _ in range(MAX_BATCH + 1)))
    due = await submitted(commits, Due("due", ("step",)), Due("again", ("step",)))
    writer.gate.set()
    await asyncio.gather(*running, *waiting, *due)
    sizes = [(batch[0], len(batch)) for batch in writer.batches]
    assert sizes == [("running", 1), ("due", 1), ("again", MAX_BATCH), ("new", 2)]


async def test_what_is_due_says_for_how_long_the_first_behind_it_has_waited(
    commits: GroupCommit, writer: Writer
) -> None:
    behind: dict[str, float] = {}

    def answer(op: Touch) -> str:
        behind[op.name] = commits.behind_s()
        return op.name

    writer.answer = answer
    await commits.submit(Due("alone"))
    writer.gate.clear()
    writer.started.clear()
    running = await submitted(commits, Touch("running"))
    await writer.busy()
    begun = machine().monotonic()
    tasks = await submitted(commits, Touch("new"), Due("due"))
    writer.gate.set()
    await asyncio.gather(*tasks, *running)
    assert behind["alone"] == behind["new"] == 0
    assert 0 < behind["due"] <= machine().monotonic() - begun


async def test_what_is_due_is_not_refused_for_the_many_that_wait(writer: Writer) -> None:
    commits = GroupCommit(writer, lambda committed: None, machine(), max_waiting=1)
    writer.gate.clear()
    tasks = await submitted(commits, Touch("running"))
    await writer.busy()
    tasks += await submitted(commits, Touch("new"), Due("due"))
    writer.gate.set()
    assert await asyncio.gather(*tasks) == ["running", "new", "due"]
    await commits.close()


async def test_operations_without_keys_never_wait_for_each_other(
    commits: GroupCommit, writer: Writer
) -> None:
    await asyncio.gather(*(commits.submit(Touch("x")) for _ in range(50)))
    assert writer.batches == [["x"] * 50]


async def test_a_batch_is_bounded(commits: GroupCommit, writer: Writer) -> None:
    await asyncio.gather(*(commits.submit(Touch("x")) for _ in range(MAX_BATCH + 10)))
    assert [len(batch) for batch in writer.batches] == [MAX_BATCH, 10]


async def test_a_batch_has_few_jobs_unless_one_operation_alone_has_many(
    commits: GroupCommit, writer: Writer
) -> None:
    sizes = ["1500", "600", "1400", "3000", "1", "1999", "1"]
    await asyncio.gather(
        *await submitted(commits, *(Touch(size, jobs=int(size)) for size in sizes))
    )
    assert writer.batches == [["1500"], ["600", "1400"], ["3000"], ["1", "1999"], ["1"]]


async def test_many_calls_on_one_key_are_not_searched_for_every_batch(writer: Writer) -> None:
    looked = 0

    class Counted(Touch, frozen=True):
        @property
        def keys(self) -> tuple[object, ...]:
            nonlocal looked
            looked += 1
            return ("same",)

    commits = GroupCommit(writer, lambda committed: None, machine())
    many = MAX_KEPT * 3
    answers = await asyncio.gather(*(commits.submit(Counted(str(n))) for n in range(many)))
    await commits.close()
    assert answers == [str(n) for n in range(many)]
    assert looked <= many * (MAX_KEPT + 2)


async def test_who_has_gone_wants_nothing_done(commits: GroupCommit, writer: Writer) -> None:
    writer.gate.clear()
    (first,) = await submitted(commits, Touch("first"))
    await writer.busy()
    gone, stays = await submitted(commits, Touch("gone", ("k",)), Touch("stays", ("k",)))
    gone.cancel()
    writer.gate.set()
    assert [await first, await stays] == ["first", "stays"]
    assert writer.batches == [["first"], ["stays"]]
    assert gone.cancelled()


async def test_who_goes_while_the_batch_commits_disturbs_nobody(
    commits: GroupCommit, writer: Writer
) -> None:
    writer.gate.clear()
    gone, stays = await submitted(commits, Touch("gone"), Touch("stays"))
    await writer.busy()
    gone.cancel()
    writer.gate.set()
    assert await stays == "stays"
    assert await commits.submit(Touch("later")) == "later"


async def test_when_everybody_has_gone_nothing_is_run(commits: GroupCommit, writer: Writer) -> None:
    tasks = [asyncio.create_task(commits.submit(Touch("gone"))) for _ in range(3)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    assert await commits.submit(Touch("later")) == "later"
    assert [name for batch in writer.batches for name in batch] == ["later"]


async def test_a_full_queue_answers_at_once_and_says_when_to_come_back(writer: Writer) -> None:
    commits = GroupCommit(writer, lambda committed: None, machine(), max_waiting=2)
    writer.gate.clear()
    first = await submitted(commits, Touch("first"))
    await writer.busy()
    waiting = await submitted(commits, Touch("a"), Touch("b"))
    assert commits.depth == 2
    with pytest.raises(Unavailable, match="2 requests wait for the store already") as refused:
        await commits.submit(Touch("c"))
    assert (refused.value.answer_code.status, refused.value.answer_code.name) == (503, "overloaded")
    assert refused.value.headers == {"Retry-After": "1"}
    writer.gate.set()
    assert await asyncio.gather(*first, *waiting) == ["first", "a", "b"]
    assert await commits.submit(Touch("d")) == "d"
    await commits.close()


@pytest.mark.parametrize(("names", "turns"), [("a", TURNS), ("ab", 0)])
async def test_the_loop_gathers_for_a_few_turns_unless_nobody_more_would_find_a_place(
    writer: Writer, names: str, turns: int
) -> None:
    ended: list[int] = []
    begun: list[int] = []
    now = 0

    def tick() -> None:
        nonlocal now
        now += 1
        loop.call_soon(tick)

    loop = asyncio.get_running_loop()
    commits = GroupCommit(
        writer,
        lambda committed: ended.append(now),
        machine(),
        begin=lambda ops: begun.append(now),
        max_waiting=2,
    )
    writer.gate.clear()
    first = await submitted(commits, Touch("first"))
    await writer.busy()
    waiting = await submitted(commits, *map(Touch, names))
    tick()
    writer.gate.set()
    await asyncio.gather(*first, *waiting)
    assert begun[1] - ended[0] == turns
    await commits.close()


class Listener:
    """A caller without a task, which notes its outcome and may raise."""

    waits_until = 0.0

    def __init__(self, *, away: bool = False, chokes: bool = False) -> None:
        self._away = away
        self._chokes = chokes
        self.heard: list[object] = []

    def gone(self) -> bool:
        return self._away

    def resolve(self, outcome: object) -> None:
        self.heard.append(outcome)
        if self._chokes:
            raise RuntimeError("not that")


async def test_who_enters_an_operation_is_told_of_it_and_disturbs_nobody(
    commits: GroupCommit, writer: Writer
) -> None:
    logged: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: logged.append(context["exception"]))
    listeners = Listener(), Listener(away=True), Listener(chokes=True), Listener()
    for name, listener in zip("abcd", listeners, strict=True):
        commits.enter(Touch(name), listener)
    assert [listener.heard for listener in listeners] == [[]] * 4
    assert await commits.submit(Touch("e")) == "e"
    assert [listener.heard for listener in listeners] == [["a"], [], ["c"], ["d"]]
    assert writer.batches == [["a", "c", "d", "e"]]
    assert [str(error) for error in logged] == ["not that"]


async def test_a_refusal_reaches_its_own_caller_only(commits: GroupCommit, writer: Writer) -> None:
    writer.answer = lambda op: Conflict("no") if op.name == "bad" else op.name
    answers = await asyncio.gather(
        *(commits.submit(Touch(name)) for name in ("a", "bad", "b")), return_exceptions=True
    )
    assert answers[0::2] == ["a", "b"]
    assert isinstance(answers[1], Conflict)


async def test_an_exception_of_the_writer_reaches_all_and_the_next_batch_runs(
    commits: GroupCommit, writer: Writer
) -> None:
    def explode(op: Any) -> Any:
        raise MemoryError("out of it")

    writer.answer = explode
    answers = await asyncio.gather(
        *(commits.submit(Touch(name)) for name in "abc"), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [MemoryError] * 3
    writer.answer = lambda op: op.name
    assert await commits.submit(Touch("d")) == "d"


async def test_the_loop_begins_what_it_may_and_the_writer_ends_it() -> None:
    seen: list[tuple[str, bool]] = []

    def note(what: str) -> None:
        seen.append((what, threading.current_thread() is threading.main_thread()))

    class Work(UncommittedBatch):
        def __init__(self, ops: list[Any]) -> None:
            self._ops = ops
            note("begin")

        def commit(self) -> Committed:
            note("commit")
            return Committed([op.name for op in self._ops])

    def begin(ops: list[Any]) -> UncommittedBatch | None:
        if ops[0].name == "broken":
            raise ValueError(ops[0].name)
        return None if ops[0].name == "large" else Work(ops)

    def carry_out(ops: list[Any], begun: UncommittedBatch | None) -> Committed:
        if begun is not None:
            return begun.commit()
        note("whole")
        return Committed([f"{op.name} alone" for op in ops])

    commits = GroupCommit(carry_out, lambda committed: None, machine(), begin=begin)
    assert await commits.submit(Touch("small")) == "small"
    assert seen == [("begin", True), ("commit", False)]
    assert await commits.submit(Touch("large")) == "large alone"
    assert await commits.submit(Touch("broken")) == "broken alone"
    assert seen[2:] == [("whole", False)] * 2
    await commits.close()


class Doubtful:
    """Leaves a doubt about every batch that holds "doubtful", until the test says the outcome."""

    def __init__(self, *, carried_out: bool) -> None:
        self._carried_out = carried_out
        self.asked = threading.Event()
        self.known = threading.Event()

    def __call__(self, ops: list[Any], begun: UncommittedBatch | None) -> Committed:
        names = [op.name for op in ops]
        doubt = OutcomeUnknown("cut off", self._ask) if "doubtful" in names else None
        return Committed(names, wakes=dict.fromkeys(names, 1), doubt=doubt)

    def _ask(self) -> bool:
        self.asked.set()
        assert self.known.wait(30), "the test never said the outcome"
        return self._carried_out


async def test_a_batch_in_doubt_keeps_no_other_waiting() -> None:
    doubtful, told = Doubtful(carried_out=True), list[str]()
    commits = GroupCommit(doubtful, lambda committed: told.extend(committed.wakes), machine())
    (first,) = await submitted(commits, Touch("doubtful", ("job",)))
    await asyncio.to_thread(doubtful.asked.wait, 30)
    assert await commits.submit(Touch("next", ("job",))) == "next"
    assert (first.done(), told) == (False, ["next"])
    doubtful.known.set()
    assert await first == "doubtful"
    assert told == ["next", "doubtful"]
    await commits.close()


async def test_a_batch_that_was_not_carried_out_tells_nobody() -> None:
    doubtful, told = Doubtful(carried_out=False), list[str]()
    doubtful.known.set()
    commits = GroupCommit(doubtful, lambda committed: told.extend(committed.wakes), machine())
    with pytest.raises(Unavailable, match="before this was stored"):
        await commits.submit(Touch("doubtful"))
    await commits.close()
    assert told == []


async def test_closing_waits_for_what_is_in_doubt() -> None:
    doubtful = Doubtful(carried_out=True)
    commits = GroupCommit(doubtful, lambda committed: None, machine())
    (first,) = await submitted(commits, Touch("doubtful"))
    await asyncio.to_thread(doubtful.asked.wait, 30)
    closing = asyncio.create_task(commits.close())
    assert await ended(closing, first) == []
    doubtful.known.set()
    await closing
    assert await first == "doubtful"


async def ended(*tasks: asyncio.Task[Any]) -> list[asyncio.Task[Any]]:
    """Return the tasks that end without any further event."""
    for _ in range(3):
        await asyncio.sleep(0)
    return [task for task in tasks if task.done()]


async def test_callers_are_answered_even_if_the_news_cannot_be_told(writer: Writer) -> None:
    def explode(committed: Committed) -> None:
        raise RuntimeError("nobody listens")

    logged: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: logged.append(context["exception"]))
    commits = GroupCommit(writer, explode, machine())
    async with asyncio.timeout(30):
        assert await commits.submit(Touch("a")) == "a"
        assert await commits.submit(Touch("b")) == "b"
        await commits.close()
    assert [str(error) for error in logged] == ["nobody listens"] * 2


async def test_closing_finishes_what_was_submitted_and_refuses_the_rest(writer: Writer) -> None:
    commits = GroupCommit(writer, lambda committed: None, machine())
    writer.gate.clear()
    first = await submitted(commits, Touch("first"))
    await writer.busy()
    waiting = await submitted(commits, Touch("a", ("k",)), Touch("b", ("k",)))
    closing = asyncio.create_task(commits.close())
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="the server is stopping"):
        await commits.submit(Touch("late"))
    assert not closing.done()
    writer.gate.set()
    await closing
    assert await asyncio.gather(*first, *waiting) == ["first", "a", "b"]
    assert writer.batches == [["first"], ["a"], ["b"]]


async def test_a_caller_in_doubt_waits_as_long_as_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_ups, "LOOK_UP_S", 0.0)
    doubtful, heard = Doubtful(carried_out=True), list[Committed]()
    commits = GroupCommit(doubtful, heard.append, machine())
    hasty = asyncio.create_task(commits.submit(Touch("doubtful")))
    patience = WAITS_UNTIL.set(machine().monotonic() + 3600)
    patient = asyncio.create_task(commits.submit(Touch("doubtful")))
    WAITS_UNTIL.reset(patience)
    with pytest.raises(Unavailable, match="did not confirm"):
        await hasty
    assert not patient.done()
    doubtful.known.set()
    assert await patient == "doubtful"
    # It was carried out, and one caller was not told.
    assert [committed.unknown for committed in heard] == [1]
    await commits.close()


async def test_a_store_that_is_away_is_not_tried_again_for_who_was_put_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_commit, "AGAIN_S", 3600.0)
    batches: list[list[str]] = []

    def carry_out(ops: list[Any], begun: UncommittedBatch | None) -> Committed:
        batches.append([op.name for op in ops])
        if len(batches) == 1:
            return Committed([LocksBusy("locked")])
        return Committed([Unavailable("away")], away=True)

    commits = GroupCommit(carry_out, lambda committed: None, machine())
    (held_up,) = await submitted(commits, Touch("held up"))
    async with asyncio.timeout(30):
        while not (batches and commits.depth):  # noqa: ASYNC110
            await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await commits.submit(Touch("other"))
        with pytest.raises(Unavailable, match="cannot be reached"):
            await held_up
    assert batches == [["held up"], ["other"]]
    await commits.close()
