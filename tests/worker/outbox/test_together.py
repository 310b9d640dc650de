"""Several relays for one outbox, on each database."""

import asyncio
import random
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from ojs_worker.environment import Environment, machine
from ojs_worker.transport import Reply, Request
from tests.worker.outbox.conftest import Outbox, Scripted, Target, relay_of, stored, until


def hurrying() -> Callable[[], int]:
    """A clock of a minute between two looks, by which every lease has run out."""
    minutes = count(machine().wall_ms() // 60_000)
    return lambda: next(minutes) * 60_000


async def test_two_at_once_make_one_job_of_each_row_in_order(
    outbox: Outbox, target: Target
) -> None:
    chance = random.Random(7)

    class Unsteady:
        """Lets calls overtake each other, on both ways."""

        async def send(self, request: Request) -> Reply:
            for _ in range(chance.randrange(20)):
                await asyncio.sleep(0)
            reply = await target.transport.send(request)
            await asyncio.sleep(chance.random() / 50)
            return reply

        async def close(self) -> None:
            """Close nothing."""

    wall_ms = hurrying()
    environment: Environment = msgspec.structs.replace(machine(), wall_ms=wall_ms)
    options: dict[str, Any] = {"batch": 3, "environment": environment, "keep_s": 1e9}
    first, second = (relay_of(outbox, Unsteady(), **options) for _ in range(2))
    rounds = 0
    async with first, second:
        # Until both have been at it, mostly for the same rows.
        while rounds < 3 or not first.counts.sent or not second.counts.sent:
            outbox.write(*({"queue": f"q{number % 2}"} for number in range(12)))
            rounds += 1
            await until(outbox.is_sent)
    for queue in (0, 1):
        jobs = await target.fetched(f"q{queue}")
        assert [job["args"][0] for job in jobs] == list(range(queue, 12, 2)) * rounds


async def test_one_sends_and_the_next_begins_when_it_ends(outbox: Outbox) -> None:
    # By a clock that stands still no lease runs out.
    still: Environment = msgspec.structs.replace(machine(), wall_ms=lambda: 1_000)
    first, second = Scripted(stored), Scripted(stored)
    async with relay_of(outbox, first, environment=still) as one:
        await until(lambda: one.counts.sending)
        async with relay_of(outbox, second, environment=still):
            for _ in range(3):
                outbox.write({})
                await until(outbox.is_sent)
            await one.stop()
            outbox.write({})
            await until(outbox.is_sent)
    assert (len(first.sent), len(second.sent)) == (3, 1)


async def test_another_one_sends_as_long_after_a_kill_as_the_lease_is(outbox: Outbox) -> None:
    now_ms = 1_000
    environment: Environment = msgspec.structs.replace(machine(), wall_ms=lambda: now_ms)
    transport = Scripted(stored)
    killed = relay_of(outbox, transport, environment=environment, lease_s=5)
    running = asyncio.create_task(killed.run())
    await until(lambda: killed.counts.sending)
    running.cancel()
    await asyncio.wait([running])
    outbox.write({})
    async with relay_of(outbox, transport, environment=environment) as other:
        now_ms = 5_999
        await until(lambda: other.counts.well)
        assert (other.counts.sending, transport.sent) == (False, [])
        now_ms = 6_000
        await until(outbox.is_sent)
