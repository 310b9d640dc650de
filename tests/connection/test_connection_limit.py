"""The limit on connections: the one that is closed for a new one, and what its client is told."""

import logging

import pytest

from ojs_server.connection.connection_limit import (
    MOST_BY_DEFAULT,
    RESERVED,
    ConnectionLimit,
    Waits,
    most_connections,
)

NOW = 1000.0


class Client:
    """A connection that waits for its client, as the test sets it."""

    def __init__(self, waits: Waits | None = None, since: float = 0.0) -> None:
        self.state = None if waits is None else (waits, since)
        self.gone = False

    def waits(self) -> tuple[Waits, float] | None:
        return None if self.gone else self.state

    def make_room(self) -> None:
        self.gone = True


def ignore(count: int) -> None:
    """Count nothing."""


def enter(limit: ConnectionLimit, members: set[Client], now: float = NOW) -> bool:
    """Add a connection that asks for something at once; returns True if there was room."""
    newest = Client(Waits.ASK, now)
    members.add(newest)
    room = limit.has_room(newest, members, now)
    if not room:
        members.discard(newest)
    newest.state = None
    members -= {member for member in members if member.gone}
    return room


def test_who_has_waited_longest_makes_room_and_bodies_only_after_the_others() -> None:
    closed: list[int] = []
    clients = [
        Client(Waits.SEND_BODY, 1.0),
        Client(Waits.ASK, 30.0),
        Client(Waits.LEAVE, 40.0),
        Client(Waits.ASK, 20.0),
        Client(None),
    ]
    limit, members = ConnectionLimit(5, closed.append), set(clients)
    for gone in ([2], [2, 3], [1, 2, 3], [0, 1, 2, 3]):
        assert enter(limit, members)
        assert [number for number, client in enumerate(clients) if client.gone] == gone
        assert len(members) == 5
    # A busy client is not closed.
    assert not enter(limit, members)
    assert not clients[4].gone
    assert closed == [1] * 5


def test_nobody_is_closed_while_there_is_room() -> None:
    limit, members = ConnectionLimit(5, ignore), {Client(Waits.ASK) for _ in range(4)}
    assert enter(limit, members)
    assert len(members) == 5


def test_who_has_gone_on_since_makes_no_room() -> None:
    first, second, third = (Client(Waits.ASK, float(since)) for since in range(3))
    limit, members = ConnectionLimit(3, ignore), {first, second, third}
    assert enter(limit, members)
    assert first.gone
    second.state = (Waits.ASK, NOW)
    assert enter(limit, members)
    assert (second.gone, third.gone) == (False, True)
    # Found again by the next scan.
    assert enter(limit, members, NOW + 1)
    assert second.gone


def test_a_reached_limit_is_logged_with_numbers_and_seldom(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    limit, members = (
        ConnectionLimit(2, ignore),
        {Client(Waits.ASK, NOW - 7), Client(Waits.ASK, NOW - 3)},
    )
    for _ in range(4):
        enter(limit, members)
    assert len(caplog.records) == 1
    assert "all 2 connections" in caplog.text
    enter(limit, members, NOW + 60)
    assert len(caplog.records) == 2
    told = caplog.records[1].getMessage()
    assert (
        "1 that waited for their clients were closed (for up to 3.0 s), 3 new ones refused" in told
    )


@pytest.mark.parametrize(
    ("wanted", "descriptors", "most"),
    [
        (None, 1_048_576, MOST_BY_DEFAULT),
        (None, 1024, 1024 - RESERVED - 32),
        (None, 100, 50),
        (500, 1024, 500),
        (50_000, 1_048_576, 50_000),
        (5000, 1024, 1024 - RESERVED - 32),
        (None, None, MOST_BY_DEFAULT),
        (70_000, None, 70_000),
    ],
)
def test_descriptors_bound_the_connections(
    wanted: int | None, descriptors: int | None, most: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert most_connections(wanted, descriptors, others=32) == most
    assert ("leave room for" in caplog.text) == (wanted == 5000)
