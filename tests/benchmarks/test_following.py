"""The clients of the stream benchmark notice what is missing, twice there, or in wrong order."""

import asyncio
from typing import Any

import msgspec
import pytest

from benchmarks.budgets.following import Follower, Target
from benchmarks.budgets.streams import clients

ID = "evt_01a1fe79-3df3-7000-8687-f9e4f7c00002"
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Way(asyncio.Transport):
    """The transport to which a client writes."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""

    def write(self, data: Any) -> None:
        self.sent += data


def follower(*, socket: bool) -> tuple[Follower, Way]:
    made, way = Follower(Target(socket, "q"), asyncio.Semaphore(0)), Way()
    made.connection_made(way)
    return made, way


def frame(step: str, job: str) -> bytes:
    event = {"specversion": "1.0", "subject": job, "data": {}}
    return f"id: {ID}\nevent: job.{step}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n"


def message(step: str, job: str) -> bytes:
    told = {
        "type": "event",
        "event": f"job.{step}",
        "id": ID,
        "timestamp": "t",
        "data": {"job_id": job},
    }
    body = msgspec.json.encode(told)
    size = bytes((len(body),)) if len(body) < 126 else b"\x7e" + len(body).to_bytes(2)
    return b"\x81" + size + body


@pytest.mark.parametrize("socket", [False, True])
@pytest.mark.parametrize(
    ("steps", "out_of_order"),
    [
        ("enqueued started completed", 0),
        ("enqueued completed", 1),
        ("started enqueued completed", 3),
        ("enqueued enqueued started completed", 1),
    ],
)
def test_the_steps_of_a_job_are_checked(socket: bool, steps: str, out_of_order: int) -> None:
    made, _ = follower(socket=socket)
    told = message if socket else frame
    other = [told("enqueued", "b")]
    whole = HEAD + b"".join([told(step, "a") for step in steps.split()] + other)
    # In whatever pieces it comes.
    for place in range(0, len(whole), 7):
        made.data_received(whole[place : place + 7])
    assert made.events == len(steps.split()) + 1
    assert made.out_of_order == out_of_order


def test_what_was_dropped_is_noted() -> None:
    made, _ = follower(socket=False)
    made.data_received(HEAD + b":events-dropped 3\n\nevent: system.events_dropped\ndata: {}\n\n")
    assert made.reported_lost == 1


def test_a_socket_subscribes_and_answers_pings() -> None:
    made, way = follower(socket=True)
    made.data_received(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    assert b'"channel":"queue:q"' in way.sent
    made.data_received(b"\x89\x02hi")
    assert way.sent.endswith(b"\x8a\x82\0\0\0\0hi")


def test_clients_are_spread_over_the_queues() -> None:
    made = clients(5, 2, 1, ["a", "b"])
    assert [one.queue for one in made] == ["all", "a", "b", "a", "b", "a", "b"]
    assert [one.socket for one in made] == [False] * 5 + [True] * 2
