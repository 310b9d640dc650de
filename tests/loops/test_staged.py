"""Staged jobs are stored by the loop of any node, as soon as they are committed."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ojs_server.domain.event_buffer import EventBuffer
from ojs_server.domain.jobs.job import Event
from ojs_server.loops import staged
from ojs_server.loops.runner import Loops
from ojs_server.loops.staged import StagedJobs
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.fetch import fetch
from ojs_server.store.base import Callbacks, Store
from ojs_server.store.open import open_store
from ojs_server.store.records import Staged
from tests.loops.sleeper import LIMIT_S, sleeping
from tests.ops.bench import environment
from tests.store.records import whole

ID = "0190a0f0-0000-7000-8000-0000000000%02x"


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with closing(open_store(store_url)) as store:
        yield store


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[Engine]:
    running = Engine(store, Rules(), environment())
    yield running
    await running.close()


def job(number: int = 0, **given: Any) -> str:
    return json.dumps({"type": "t", "args": [], "id": ID % number, **given})


def stage(store: Store, *bodies: str, tenant: str | None = None) -> list[str]:
    jobs = [Staged(ID % number, tenant, body, 1) for number, body in enumerate(bodies)]
    with store.transaction() as tx:
        tx.insert_staged(jobs)
    return [job.id for job in jobs]


async def test_a_round_stores_what_is_staged(engine: Engine, store: Store) -> None:
    ids = stage(store, job(0, queue="q"), job(1, queue="other"))
    loop = StagedJobs(engine, strict=False)
    assert (await loop.round(), await loop.round()) == (True, False)
    stored = [whole(store, job_id) for job_id in ids]
    assert [each and each.job.queue for each in stored] == ["q", "other"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("no json", "no JSON"),
        ("[]", "a job must be a JSON object, not an array"),
        (job(priority="high"), "`priority` must be an integer"),
        (job(options={"nonsense": 1}), "nonsense"),
    ],
)
async def test_what_is_no_job_is_refused_once(
    engine: Engine, store: Store, body: str, message: str
) -> None:
    told: list[Event] = []

    def tell(events: EventBuffer) -> None:
        told.extend(events)

    engine.on_events.append(tell)
    (refused,) = stage(store, body)
    loop = StagedJobs(engine, strict=True)
    assert (await loop.round(), await loop.round()) == (True, False)
    ((kind, subject, data),) = [(one.type, one.subject, one.data) for one in told]
    assert (kind, subject) == ("job.refused", refused)
    assert message in json.loads(data)["error"]["message"]


async def test_a_job_that_a_role_of_a_tenant_has_staged_is_the_tenant_s(
    engine: Engine, store: Store
) -> None:
    (job_id,) = stage(store, job(), tenant="acme")
    await StagedJobs(engine, strict=False).round()
    stored = whole(store, job_id)
    assert stored is not None
    assert stored.job.tenant == "acme"


async def test_two_nodes_store_each_job_once(postgres_store: str) -> None:
    told: list[str] = []
    with closing(open_store(postgres_store)) as one, closing(open_store(postgres_store)) as other:
        engines = [Engine(store, Rules(), environment()) for store in (one, other)]
        for engine in engines:
            engine.on_events.append(lambda events: told.extend(each.subject for each in events))
        for _ in range(5):
            ids = stage(one, *(job(number) for number in range(40)))
            await asyncio.gather(*(StagedJobs(engine, strict=False).round() for engine in engines))
            assert sorted(told) == ids
            told.clear()
            with one.transaction() as tx:
                tx.delete_jobs(ids)
        for engine in engines:
            await engine.close()


async def test_a_commit_of_a_program_wakes_a_fetch(
    postgres_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = sleeping(monkeypatch, staged)
    listens = asyncio.Event()
    loops = Loops()
    with closing(open_store(postgres_store)) as store, psycopg.connect(postgres_store) as program:
        engine = Engine(store, Rules(), environment())
        loop = StagedJobs(engine, strict=False)

        def nudge() -> None:
            listens.set()
            loop.nudge()

        listener = store.listener(Callbacks(lambda queues: None, on_staged=nudge))
        assert listener is not None
        loops.start("listener", listener.run)
        async with asyncio.timeout(LIMIT_S):
            await listens.wait()
            loops.start("staged jobs", loop.run)
            await asleep.wait()
            waiting = asyncio.create_task(fetch(engine, Claim(("q",), 1, "w"), LIMIT_S * 1000))
            row = program.execute("""SELECT enqueue('t', '[]', '{"queue": "q"}')""").fetchone()
            program.commit()
            (delivery,) = await waiting
        assert row is not None
        assert delivery.claimed.job.id == str(row[0])
        await loops.stop()
        await engine.close()
