"""The rooms of Socket.IO in which a worker hears of its tasks."""

from collections.abc import Callable
from typing import Any

from ojs_worker.jobmanager.rooms import JobRooms

Told = Callable[..., object]


class Client:
    """A client of Socket.IO whose server answers when the test says so."""

    def __init__(self) -> None:
        self.heard: dict[str, Told] = {}
        self.said: list[tuple[str, dict[str, Any], Told | None]] = []

    def on(self, event: str, handler: Told) -> None:
        """Have an event handled."""
        self.heard[event] = handler

    def emit(self, event: str, data: dict[str, Any], callback: Told | None = None) -> None:
        """Say something; the server's answer goes to the callback."""
        self.said.append((event, data, callback))


def test_what_was_announced_before_a_room_was_entered_is_looked_for() -> None:
    client = Client()
    rooms = JobRooms(client)
    woken: list[bool] = []
    rooms.on_task = lambda: woken.append(True)
    rooms.join("@global:modifiers:Rotate", "w")
    ((event, data, answered),) = client.said
    assert (event, data["job_name"]) == ("join_job_room", "@global:modifiers:Rotate")
    assert (woken, answered is None) == ([], False)
    assert answered is not None
    answered({"ok": True})
    assert woken == [True]


def test_a_new_connection_enters_the_rooms_again() -> None:
    client = Client()
    rooms = JobRooms(client)
    rooms.join("@global:modifiers:Rotate", "w")
    client.heard["connect"]()
    assert [event for event, *_ in client.said] == ["join_job_room", "join_job_room"]
    rooms.leave()
    client.heard["connect"]()
    assert [event for event, *_ in client.said][2:] == ["leave_job_room"]
