"""Notices between nodes: their receivers, and recovery after a lost connection."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing

import pytest
import uvloop

from ojs_server.store.base import Callbacks, OnDue, Store, Tx
from ojs_server.store.postgres.store import PostgresStore
from tests.store.conftest import OpenNode
from tests.store.postgres.server import end_connections, query, wait_until
from tests.store.records import START, HandClock, an_event, log

LIMIT_S = 10.0
Wake = Mapping[str, int] | None
Run = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a test's coroutine on each kind of event loop."""

    def on_the_loop(body: Callable[[], Awaitable[None]]) -> None:
        async def limited() -> None:
            async with asyncio.timeout(4 * LIMIT_S):
                await body()

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(limited())

    return on_the_loop


@asynccontextmanager
async def hearing(
    store: Store, on_due: OnDue = lambda moment: None
) -> AsyncIterator["asyncio.Queue[Wake]"]:
    """Yield a queue of the wake-ups that this node's listener gets."""
    heard: asyncio.Queue[Wake] = asyncio.Queue()
    listener = store.listener(Callbacks(heard.put_nowait, on_due=on_due))
    assert listener is not None
    task = asyncio.create_task(listener.run())
    try:
        # It wakes everybody as soon as it listens.
        assert await following(heard) is None
        yield heard
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def following(heard: "asyncio.Queue[Wake]") -> Wake:
    async with asyncio.timeout(LIMIT_S):
        return await heard.get()


async def announce(store: Store, queues: Mapping[str, int]) -> None:
    await in_transaction(store, lambda tx: tx.announce(queues))


async def in_transaction(store: Store, call: Callable[[Tx], None]) -> None:
    def commit() -> None:
        with store.transaction() as tx:
            call(tx)

    await asyncio.to_thread(commit)


def test_a_node_hears_what_another_made_available(node: OpenNode, run: Run) -> None:
    near, far = node("near"), node("far")
    near.note_waiting(START + 1)

    async def body() -> None:
        async with hearing(near) as heard:
            await announce(far, {"mail": 3, "vidéo": 1})
            assert await following(heard) == {"mail": 3, "vidéo": 1}

    run(body)


def test_a_node_hears_when_something_falls_due(node: OpenNode, run: Run) -> None:
    near, far = node("near"), node("far")

    async def body() -> None:
        due: asyncio.Queue[int] = asyncio.Queue()
        async with hearing(near, on_due=due.put_nowait):
            await in_transaction(near, lambda tx: tx.announce_due(START + 1))
            await in_transaction(far, lambda tx: tx.announce_due(START + 2))
            async with asyncio.timeout(LIMIT_S):
                # Not its own.
                assert await due.get() == START + 2

    run(body)


def test_a_node_does_not_hear_itself(node: OpenNode, run: Run) -> None:
    near, far = node("near"), node("far")
    near.note_waiting(START + 1)
    far.note_waiting(START + 1)

    async def body() -> None:
        async with hearing(near) as heard:
            await announce(near, {"own": 1})
            await announce(far, {"other": 1})
            assert await following(heard) == {"other": 1}
            assert heard.empty()

    run(body)


def test_nothing_is_sent_unless_another_node_waits(
    node: OpenNode, run: Run, clock: HandClock
) -> None:
    near, far = node("near"), node("far")
    far.note_waiting(START + 99_999)

    async def body() -> None:
        async with hearing(near) as heard:
            await announce(far, {"nobody waits": 1})
            near.note_waiting(START + 50)
            near.note_waiting(START + 40)
            clock.forward(50)
            await announce(far, {"no longer": 1})
            near.note_waiting(START + 100)
            await announce(far, {"now": 1})
            assert await following(heard) == {"now": 1}
            assert heard.empty()

    run(body)


def test_nothing_is_sent_by_a_transaction_that_fails(node: OpenNode, run: Run) -> None:
    near, far = node("near"), node("far")
    near.note_waiting(START + 1)

    async def body() -> None:
        async with hearing(near) as heard:
            with pytest.raises(InterruptedError):
                fail_after_announcing(far)
            await announce(far, {"real": 1})
            assert await following(heard) == {"real": 1}

    run(body)


def fail_after_announcing(store: Store) -> None:
    with store.transaction() as tx:
        tx.announce({"false": 1})
        raise InterruptedError


def test_more_queues_than_a_notice_can_hold_wake_everybody(node: OpenNode, run: Run) -> None:
    near, far = node("near"), node("far")
    near.note_waiting(START + 1)

    async def body() -> None:
        async with hearing(near) as heard:
            await announce(far, {f"a.long.queue.name.{n}": n for n in range(500)})
            assert await following(heard) is None

    run(body)


def test_a_listener_that_was_cut_off_listens_again_and_wakes_everybody(
    node: OpenNode, run: Run, postgres_store: str
) -> None:
    near, far = node("near"), node("far")
    near.note_waiting(START + 1)

    async def body() -> None:
        async with hearing(near) as heard:
            for round_ in range(3):
                assert await asyncio.to_thread(end_connections, postgres_store) > 0
                assert await following(heard) is None
                await announce(far, {"mail": round_})
                assert await following(heard) == {"mail": round_}

    run(body)


def test_a_notice_that_is_not_understood_wakes_everybody(
    node: OpenNode, run: Run, postgres_store: str
) -> None:
    near = node("near")
    channel = query(
        postgres_store, "SELECT 'ojs_' || to_hex(hashtextextended(current_schema(), 0))"
    )

    async def body() -> None:
        async with hearing(near) as heard:
            for payload in ("", "[]", '{"node":1}'):
                query(postgres_store, f"SELECT pg_notify('{channel[0][0]}', '{payload}')")
                assert await following(heard) is None

    run(body)


def test_schemas_of_one_database_do_not_hear_each_other(
    node: OpenNode, run: Run, postgres_store: str
) -> None:
    near, far = node("near"), node("far")
    near.note_waiting(START + 1)
    query(postgres_store, "CREATE SCHEMA apart")
    elsewhere = postgres_store.partition("?")[0] + "?options=-csearch_path%3Dapart"

    async def body() -> None:
        async with hearing(near) as heard:
            with closing(PostgresStore(elsewhere, clock=HandClock(), node="far")) as stranger:
                with closing(PostgresStore(elsewhere, clock=HandClock(), node="near")) as waits:
                    waits.note_waiting(START + 1)
                await announce(stranger, {"not for us": 1})
            await announce(far, {"for us": 1})
            assert await following(heard) == {"for us": 1}

    try:
        run(body)
    finally:
        query(postgres_store, "DROP SCHEMA apart CASCADE")


def test_a_listener_that_is_cancelled_leaves_no_connection(
    node: OpenNode, run: Run, postgres_store: str
) -> None:
    near = node("near")
    listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"

    async def body() -> None:
        async with hearing(near):
            assert query(postgres_store, listening) == [(1,)]
        wait_until(lambda: query(postgres_store, listening) == [(0,)])

    run(body)


def test_a_listener_waits_for_a_database_that_is_away(postgres_store: str, run: Run) -> None:
    """The listener has its own URL, which leads nowhere here until it is cancelled."""
    with closing(
        PostgresStore(postgres_store, node="a", listen_url="postgresql://u@127.0.0.1:1/none")
    ) as store:

        async def body() -> None:
            task = asyncio.create_task(store.listener(Callbacks(lambda queues: None)).run())
            done, _ = await asyncio.wait([task], timeout=0.5)
            assert not done
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run(body)


def test_waiting_is_noted_with_the_furthest_moment(node: OpenNode, postgres_store: str) -> None:
    near = node("near")
    for moment in (START + 5, START + 9, START + 7):
        near.note_waiting(moment)
    rows = query(postgres_store, "SELECT node, waiting_until FROM nodes")
    assert rows == [("near", START + 9)]


@asynccontextmanager
async def hearing_of_events(store: Store) -> AsyncIterator["asyncio.Queue[int | None]"]:
    """Yield a queue of the event log notices that this node's listener gets."""
    heard: asyncio.Queue[int | None] = asyncio.Queue()
    listener = store.listener(Callbacks(lambda queues: None, heard.put_nowait))
    assert listener is not None
    task = asyncio.create_task(listener.run())
    try:
        async with asyncio.timeout(LIMIT_S):
            assert await heard.get() is None
        yield heard
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


END_LISTENERS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
)


async def newest(heard: "asyncio.Queue[int | None]") -> int | None:
    async with asyncio.timeout(LIMIT_S):
        return await heard.get()


def last_place(store: Store) -> int:
    with store.reader() as reader:
        return reader.log_span().last


def test_nodes_tell_of_their_events_while_somebody_follows(node: OpenNode, run: Run) -> None:
    near, far = node("near"), node("far")

    async def body() -> None:
        async with hearing_of_events(near) as heard, hearing_of_events(far) as far_heard:
            # No node has asked for notices yet, and the node itself needs none.
            await asyncio.to_thread(log, far, an_event())
            near.note_following(60_000)
            await until_told(far, heard)
            assert far_heard.empty()
            await asyncio.to_thread(log, far, an_event(), an_event())
            while (place := await newest(heard)) != last_place(near):
                assert place is not None
            await asyncio.to_thread(log, near, an_event())
            await asyncio.to_thread(log, far, an_event())
            assert await newest(heard) == last_place(near)

    run(body)


async def until_told(far: Store, heard: "asyncio.Queue[int | None]") -> None:
    """Write until the wish has arrived, which takes a moment, and a notice comes."""
    async with asyncio.timeout(LIMIT_S):
        while heard.empty():
            await asyncio.to_thread(log, far, an_event())
            await asyncio.sleep(0.01)


def test_a_wish_to_follow_ends(node: OpenNode, run: Run) -> None:
    near, far = node("near"), node("far")

    async def body() -> None:
        async with hearing_of_events(near) as heard, hearing_of_events(far):
            near.note_following(300)
            await until_told(far, heard)
            # No later than this, whatever was on its way.
            async with asyncio.timeout(LIMIT_S):
                while True:
                    while not heard.empty():
                        heard.get_nowait()
                    await asyncio.to_thread(log, far, an_event())
                    await asyncio.to_thread(near.ping)
                    try:
                        async with asyncio.timeout(0.2):
                            await heard.get()
                    except TimeoutError:
                        return

    run(body)


def test_a_node_whose_listener_is_killed_looks_again(
    node: OpenNode, run: Run, postgres_store: str
) -> None:
    near, far = node("near"), node("far")

    async def body() -> None:
        async with hearing_of_events(near) as heard, hearing_of_events(far) as far_heard:
            near.note_following(60_000)
            await until_told(far, heard)
            await asyncio.to_thread(query, postgres_store, END_LISTENERS)
            while await newest(heard) is not None:
                pass
            assert await newest(far_heard) is None
            await until_told(far, heard)

    run(body)
