"""Tests of slow readers: each event of the log was heard, or was told as dropped."""

from typing import Any

import pytest

from conformance.play.slow_readers import Dropped, dropped, nothing_lost_unseen
from conformance.play.stage import Stage
from conformance.play.wire import Wire
from conformance.verdicts.reply import CheckFailed
from tests.conformance.fake_server import FakeServer, Reply

LOGGED = [f"e{number}" for number in range(1, 61)]
EVENTS = "GET /ojs/v1/events?limit=1&queues=q&after=e"


def lost(count: int = 10, oldest: int = 6, newest: int = 15, after: int = 5) -> Dropped:
    return Dropped("queue:q", count, f"e{oldest}", f"e{newest}", f"e{after}")


async def judged(*heard: str | Dropped) -> None:
    pages: dict[str, Any] = {
        f"{EVENTS}{number}": Reply(json={"events": [{"id": f"e{number + 1}"}], "has_more": True})
        for number in range(60)
    }
    pages[f"{EVENTS}60"] = Reply(json={"events": [], "has_more": False})
    async with FakeServer(pages).client() as client:
        await nothing_lost_unseen(Stage(Wire(client), {}), "q", LOGGED, heard)


async def test_all_that_was_heard_or_told_is_right() -> None:
    await judged(*LOGGED)
    await judged(*LOGGED[:5], lost(), *LOGGED[15:])
    await judged(*LOGGED[:5], lost(), lost(5, 16, 20, 15), "e21", lost(1, 22, 22, 21), *LOGGED[22:])


NEXT = "the next event, or what was dropped"
FIRST = "the first and the last dropped event"


@pytest.mark.parametrize(
    ("heard", "told"),
    [
        ((*LOGGED[:5], *LOGGED[15:]), f'{NEXT}: \\["e6"\\], got \\["e16"\\]'),
        (("e2", "e1", *LOGGED[2:]), NEXT),
        ((*LOGGED, "e60"), NEXT),
        ((*LOGGED[:5], lost(9), *LOGGED[15:]), FIRST),
        ((*LOGGED[:5], lost(oldest=7), *LOGGED[15:]), FIRST),
        ((*LOGGED[:5], lost(newest=16), *LOGGED[15:]), FIRST),
        ((*LOGGED[:5], lost(-1), *LOGGED[15:]), FIRST),
        ((*LOGGED[:5], lost(after=6), *LOGGED[15:]), "the event behind `after`"),
        ((*LOGGED[:5], lost(after=60), *LOGGED[15:]), "the event behind `after`"),
        (LOGGED[:59], "events that were heard or told as dropped: 60, got 59"),
        ((*LOGGED[:5], lost(36, newest=41), *LOGGED[41:]), "20 events behind those that were"),
    ],
)
async def test_what_is_missing_or_told_wrongly_fails_the_case(
    heard: tuple[str | Dropped, ...], told: str
) -> None:
    with pytest.raises(CheckFailed, match=told):
        await judged(*heard)


async def test_what_a_server_says_of_it_must_be_whole() -> None:
    stage = Stage(Wire(FakeServer().client()), {})
    told = {
        "channel": "queue:q",
        "dropped_count": 10,
        "oldest_dropped_id": "e6",
        "newest_dropped_id": "e15",
        "after": "e5",
        "timestamp": "2030-01-31T09:00:00Z",
    }
    assert dropped(stage, told, "queue:q") == lost()
    with pytest.raises(CheckFailed, match='channel: "queue:r"'):
        dropped(stage, told, "queue:r")
    with pytest.raises(CheckFailed, match="what was dropped, got Expected `int`, got `str`"):
        dropped(stage, {**told, "dropped_count": "10"}, "queue:q")
