"""Scenarios of the published zndraw-joblib, which is installed beside this program.

``python scenarios.py URL rest|socketio``: a line of JSON for each scenario. The server was started
with ``--profile jobmanager`` and a short session grace, and nobody else uses it.
"""

import json
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from api import Api
from pydantic import Field
from zndraw_joblib import (
    Category,
    ClaimedTask,
    Extension,
    JobManager,
    JobsInvalidate,
    ProviderResultReady,
    ProvidersInvalidate,
    ProviderTimeoutError,
    TaskAvailable,
    TaskStatusEvent,
)
from zndraw_joblib.provider import Provider

SOON_S = 20


class Rotate(Extension):
    """A job with one number."""

    category: ClassVar[Category] = Category.MODIFIER
    angle: float = 0.0

    def run(self, vis: Any, **kwargs: Any) -> Any:
        vis.append(("rotate", self.angle, kwargs))


class Pick(Extension):
    """A job with a text that has to have a form."""

    category: ClassVar[Category] = Category.SELECTION
    name: str = Field(default="a1", pattern=r"^[a-z]\d$")

    def run(self, vis: Any, **kwargs: Any) -> Any:
        vis.append(("pick", self.name, kwargs))


class Shelf(dict[str, Any]):
    """The data of a provider; it remembers what it was asked for."""

    def __init__(self, things: dict[str, Any]) -> None:
        super().__init__(things)
        self.asked: list[str] = []


class Files(Provider):
    """A provider of JSON."""

    category: ClassVar[str] = "files"
    path: str

    def read(self, handler: Any) -> Any:
        handler.asked.append(self.path)
        return handler[self.path]


class Frames(Files):
    """A provider of bytes."""

    category: ClassVar[str] = "frames"
    content_type: ClassVar[str] = "image/x-frame"


class World:
    """The names of one scenario, and what it has opened."""

    def __init__(self, url: str, mode: str, name: str) -> None:
        self._key = os.environ.get("OJS_AUTH_TOKEN", "")
        self.api = Api(url, self._key)
        self.room = f"room-{name}"
        self._url = url
        self._mode = mode
        self.managers: list[JobManager] = []
        self._sockets: list[Any] = []

    def tsio(self) -> Any:
        """A Socket.IO client of its own; None without Socket.IO."""
        if self._mode == "rest":
            return None
        import socketio
        from zndraw_socketio import wrap

        client = wrap(socketio.Client())
        client.connect(self._url, auth={"token": self._key} if self._key else None)
        self._sockets.append(client)
        return client

    def manager(self, **more: Any) -> JobManager:
        """A manager that does not retry what is refused."""
        more = {"max_startup_retries": 1, **more}
        made = JobManager(self.api, self.tsio(), **more)
        self.managers.append(made)
        return made

    def submit(self, extension: Extension, room: str | None = None) -> str:
        """A task for a job of the scenario's room."""
        return JobManager(self.api).submit(extension, room or self.room, job_room=self.room)

    def task(self, task_id: str, **more: Any) -> Any:
        """A task as it is."""
        answer = self.api.send("GET", f"/tasks/{task_id}", **more)
        self.api.raise_for_status(answer)
        return answer.json()

    def ended(self, task_id: str) -> Any:
        """A task once it has ended."""
        return self.task(task_id, headers={"Prefer": f"wait={SOON_S}"})

    def close(self) -> None:
        """Close all that was opened."""
        for manager in self.managers:
            manager.disconnect()
        for client in self._sockets:
            client.disconnect()


Scenario = Callable[[World], None]
SCENARIOS: dict[str, Scenario] = {}
SOCKETIO: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__] = function
    return function


def socketio_scenario(function: Scenario) -> Scenario:
    SOCKETIO[function.__name__] = function
    return function


def refused(kind: type[Exception], words: str, call: Callable[[], Any]) -> None:
    """A call that must be refused, for a reason."""
    try:
        call()
    except kind as error:
        assert words in str(error), f"{words!r} is not in {error!r}"
    else:
        raise AssertionError(f"not refused as {kind.__name__}")


def until(met: Callable[[], Any], what: str) -> Any:
    """Wait for something that comes soon."""
    deadline = time.monotonic() + SOON_S
    while not (found := met()):
        assert time.monotonic() < deadline, f"not within {SOON_S} s: {what}"
        time.sleep(0.02)
    return found


def hear(client: Any, kind: type[Any]) -> list[Any]:
    """Return a list to which the client adds the events of this kind, from now on."""
    told: list[Any] = []

    def handler(event: Any) -> None:
        told.append(event)

    handler.__annotations__["event"] = kind
    client.on(kind, handler)
    return told


@scenario
def a_worker_is_made_by_itself(world: World) -> None:
    manager = world.manager()
    made = manager.create_worker()
    assert isinstance(made, UUID)
    assert manager.worker_id == made
    manager.heartbeat()


@scenario
def a_job_is_registered_globally_by_default(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate)
    assert list(manager) == ["@global:modifiers:Rotate"]
    assert isinstance(manager.worker_id, UUID)
    found = world.api.get(f"/rooms/{world.room}/jobs/@global:modifiers:Rotate")
    assert found["workers"] == [str(manager.worker_id)]
    assert UUID(found["id"])
    assert found["schema"]["properties"]["angle"]["default"] == 0.0


@scenario
def later_jobs_go_under_the_same_worker(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    first = manager.worker_id
    manager.register(Pick, room=world.room)
    assert manager.worker_id == first
    assert len(manager) == 2
    workers = world.api.get(f"/rooms/{world.room}/workers")["items"]
    assert [one["job_count"] for one in workers if one["id"] == str(first)] == [2]


@scenario
def two_workers_share_a_job(world: World) -> None:
    managers = [world.manager(), world.manager()]
    for manager in managers:
        manager.register(Rotate, room=world.room)
    found = world.api.get(f"/rooms/{world.room}/jobs/{world.room}:modifiers:Rotate")
    assert sorted(found["workers"]) == sorted(str(one.worker_id) for one in managers)
    tasks = {world.submit(Rotate(angle=number)) for number in range(2)}
    claimed = [manager.claim() for manager in managers]
    assert {one.task_id for one in claimed if one} == tasks


@scenario
def another_schema_under_a_name_is_refused(world: World) -> None:
    world.manager().register(Rotate, room=world.room)

    class Other(Extension):
        category: ClassVar[Category] = Category.MODIFIER
        axis: str = "x"

        def run(self, vis: Any, **kwargs: Any) -> Any: ...

    Other.__name__ = "Rotate"
    again = lambda: world.manager().register(Other, room=world.room)  # noqa: E731
    refused(ValueError, "schema-conflict", again)


@scenario
def an_unknown_category_is_refused(world: World) -> None:
    body = {"category": "tools", "name": "Rotate", "schema": {}}
    answer = world.api.send("PUT", f"/rooms/{world.room}/jobs", json=body)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "/v1/problems/invalid-category"


@scenario
def rooms_with_signs_are_refused(world: World) -> None:
    for room in ("@mine", "a:b", "a@b"):
        refused(
            ValueError,
            "invalid-room-id",
            lambda room=room: world.manager().register(Rotate, room=room),
        )


@scenario
def a_schema_with_a_pattern_is_kept(world: World) -> None:
    manager = world.manager()
    manager.register(Pick, room=world.room)
    world.submit(Pick(name="b2"))
    claimed = manager.claim()
    assert claimed is not None
    assert claimed.extension.name == "b2"


@scenario
def nothing_to_claim_is_none(world: World) -> None:
    manager = world.manager()
    refused(ValueError, "create_worker", manager.claim)
    manager.create_worker()
    assert manager.claim() is None
    manager.register(Rotate, room=world.room)
    assert manager.claim() is None


@scenario
def a_claim_brings_a_ready_extension(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room, run_kwargs={"fast": True})
    task_id = world.submit(Rotate(angle=45.5))
    claimed = manager.claim()
    assert claimed is not None
    assert claimed.task_id == task_id
    assert claimed.job_name == f"{world.room}:modifiers:Rotate"
    assert (claimed.room_id, claimed.run_kwargs) == (world.room, {"fast": True})
    assert isinstance(claimed.extension, Rotate)
    assert claimed.extension.angle == 45.5
    assert world.task(task_id)["status"] == "claimed"


@scenario
def a_global_job_is_done_for_any_room(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate)
    task_id = JobManager(world.api).submit(Rotate(angle=1), world.room)
    claimed = manager.claim()
    assert claimed is not None
    assert (claimed.task_id, claimed.room_id) == (task_id, world.room)
    assert claimed.job_name == "@global:modifiers:Rotate"
    listed = world.api.get(f"/rooms/{world.room}/tasks")["items"]
    assert [one["id"] for one in listed] == [task_id]


@scenario
def the_oldest_task_over_all_jobs_comes_first(world: World) -> None:
    manager = world.manager()
    for kind in (Rotate, Pick):
        manager.register(kind, room=world.room)
    made = [world.submit(one) for one in (Pick(), Rotate(), Rotate(), Pick())]
    claimed = [manager.claim() for _ in made]
    assert [one and one.task_id for one in claimed] == made


@scenario
def a_task_is_started_and_completed(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    task_id = world.submit(Rotate())
    claimed = manager.claim()
    assert claimed is not None
    manager.start(claimed)
    running = world.task(task_id)
    assert running["status"] == "running"
    assert running["started_at"]
    manager.complete(claimed)
    done = world.task(task_id)
    assert (done["status"], done["worker_id"]) == ("completed", str(manager.worker_id))
    assert done["completed_at"]
    assert done["error"] is None


@scenario
def a_failure_keeps_its_words(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    for fail in (
        lambda claimed: manager.fail(claimed, "no scene"),
        lambda claimed: manager.fail_by_id(claimed.task_id, "no scene"),
    ):
        task_id = world.submit(Rotate())
        claimed = manager.claim()
        assert claimed is not None
        manager.start(claimed)
        fail(claimed)
        failed = world.task(task_id)
        assert (failed["status"], failed["error"]) == ("failed", "no scene")
    assert manager.claim() is None


@scenario
def moves_that_are_not_allowed_are_refused(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    world.submit(Rotate())
    claimed = manager.claim()
    assert claimed is not None
    refused(ValueError, "invalid-task-transition", lambda: manager.complete(claimed))
    manager.start(claimed)
    refused(ValueError, "invalid-task-transition", lambda: manager.start(claimed))
    manager.complete(claimed)
    refused(ValueError, "invalid-task-transition", lambda: manager.fail(claimed, "late"))


@scenario
def a_claimed_task_is_cancelled(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    for begins in (False, True):
        task_id = world.submit(Rotate())
        claimed = manager.claim()
        assert claimed is not None
        if begins:
            manager.start(claimed)
        manager.cancel(claimed)
        assert world.task(task_id)["status"] == "cancelled"
        refused(ValueError, "invalid-task-transition", lambda one=claimed: manager.complete(one))


@scenario
def a_waiting_task_is_cancelled(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    task_id = world.submit(Rotate())
    answer = world.api.send("PATCH", f"/tasks/{task_id}", json={"status": "cancelled"})
    assert answer.json()["status"] == "cancelled"
    assert manager.claim() is None


@scenario
def unknown_things_are_key_errors(world: World) -> None:
    manager = world.manager()
    refused(KeyError, "job-not-found", lambda: world.submit(Rotate()))
    refused(KeyError, "", lambda: manager.fail_by_id(str(UUID(int=7)), "x"))
    manager.create_worker()
    world.api.send("DELETE", f"/workers/{manager.worker_id}")
    refused(KeyError, "", manager.heartbeat)
    refused(KeyError, "", manager.claim)


@scenario
def a_disconnect_fails_what_was_claimed(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    task_id, waiting = world.submit(Rotate()), world.submit(Rotate())
    assert manager.claim() is not None
    manager.disconnect()
    failed = world.task(task_id)
    assert (failed["status"], failed["error"]) == ("failed", "Worker disconnected")
    assert world.task(waiting)["status"] == "pending"
    assert manager.worker_id is None
    assert len(manager) == 0


@scenario
def a_job_without_workers_goes_and_comes_back(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    manager.disconnect()
    path = f"/rooms/{world.room}/jobs"
    assert all(one["full_name"][0] == "@" for one in world.api.get(path)["items"])
    refused(KeyError, "job-not-found", lambda: world.submit(Rotate()))
    world.manager().register(Rotate, room=world.room)
    world.submit(Rotate())


@scenario
def listening_goes_from_task_to_task(world: World) -> None:
    manager, stop = world.manager(), threading.Event()
    manager.register(Rotate, room=world.room)
    made = [world.submit(Rotate(angle=number)) for number in range(3)]
    seen = []
    for task in manager.listen(polling_interval=0.05, stop_event=stop):
        manager.start(task)
        seen.append(task.task_id)
        manager.complete(task)
        if len(seen) == len(made):
            stop.set()
    assert seen == made


@scenario
def tasks_are_executed_one_by_one(world: World) -> None:
    vis: list[Any] = []

    def execute(task: ClaimedTask[Any]) -> None:
        task.extension.run(vis, **task.run_kwargs)

    with world.manager(execute=execute, polling_interval=0.05) as manager:
        manager.register(Rotate, room=world.room)
        made = [world.submit(Rotate(angle=number)) for number in range(5)]
        assert {world.ended(one)["status"] for one in made} == {"completed"}
    assert vis == [("rotate", float(number), {}) for number in range(5)]


@scenario
def an_exception_fails_the_task_and_the_next_is_done(world: World) -> None:
    def execute(task: ClaimedTask[Any]) -> None:
        if task.extension.angle < 0:
            raise RuntimeError("cannot turn back")

    with world.manager(execute=execute, polling_interval=0.05) as manager:
        manager.register(Rotate, room=world.room)
        bad, good = world.submit(Rotate(angle=-1)), world.submit(Rotate(angle=1))
        failed = world.ended(bad)
        assert (failed["status"], failed["error"]) == ("failed", "cannot turn back")
        assert world.ended(good)["status"] == "completed"


@scenario
def heartbeats_go_by_themselves(world: World) -> None:
    manager = world.manager(heartbeat_interval=0.05)
    manager.register(Rotate, room=world.room)

    def heard() -> str:
        page = world.api.get("/workers", limit=500)["items"]
        return next(one["last_heartbeat"] for one in page if one["id"] == str(manager.worker_id))

    first = heard()
    until(lambda: heard() > first, "a heartbeat")


@scenario
def a_submission_is_accepted_with_its_place(world: World) -> None:
    world.manager().register(Rotate, room=world.room)
    path = f"/rooms/{world.room}/tasks/{world.room}:modifiers:Rotate"
    for position in (1, 2, 3):
        answer = world.api.send("POST", path, json={"payload": {"angle": 1}})
        task = answer.json()
        assert answer.status_code == 202
        assert answer.headers["retry-after"] == "1"
        assert answer.headers["location"] == f"/v1/joblib/tasks/{task['id']}"
        assert (task["status"], task["queue_position"]) == ("pending", position)
        assert task["worker_id"] is None
        assert task["payload"] == {"angle": 1}


@scenario
def positions_move_up(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    made = [world.submit(Rotate()) for _ in range(3)]
    assert manager.claim() is not None
    assert [world.task(one)["queue_position"] for one in made] == [None, 1, 2]


@scenario
def a_preferred_wait_is_held_until_the_end(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    task_id = world.submit(Rotate())
    claimed = manager.claim()
    assert claimed is not None
    manager.start(claimed)
    threading.Timer(0.3, lambda: manager.complete(claimed)).start()
    began = time.monotonic()
    answer = world.api.send("GET", f"/tasks/{task_id}", headers={"Prefer": "wait=30"})
    assert answer.json()["status"] == "completed"
    assert answer.headers["preference-applied"] == "wait=30"
    assert time.monotonic() - began < 20


@scenario
def internal_jobs_need_an_executor(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room="@internal")
    answer = world.api.send(
        "POST", f"/rooms/{world.room}/tasks/@internal:modifiers:Rotate", json={"payload": {}}
    )
    assert answer.status_code == 503
    assert answer.json()["type"] == "/v1/problems/internal-job-not-configured"


@scenario
def a_room_sees_its_own_jobs_and_global_ones(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate)
    manager.register(Pick, room=world.room)
    own = {one["full_name"] for one in world.api.get(f"/rooms/{world.room}/jobs")["items"]}
    assert own >= {"@global:modifiers:Rotate", f"{world.room}:selections:Pick"}
    other = {one["full_name"] for one in world.api.get("/rooms/elsewhere/jobs")["items"]}
    assert "@global:modifiers:Rotate" in other
    assert f"{world.room}:selections:Pick" not in other
    everywhere = {one["full_name"] for one in world.api.get("/rooms/@global/jobs")["items"]}
    assert f"{world.room}:selections:Pick" not in everywhere


@scenario
def lists_come_in_pages(world: World) -> None:
    world.manager().register(Rotate, room=world.room)
    made = [world.submit(Rotate()) for _ in range(5)]
    path = f"/rooms/{world.room}/tasks"
    first = world.api.get(path, limit=2)
    second = world.api.get(path, limit=2, offset=2)
    assert (first["total"], first["limit"], first["offset"]) == (5, 2, 0)
    found = [one["id"] for one in first["items"] + second["items"]]
    assert found == made[:0:-1]
    assert world.api.get(path, limit=0)["items"] == []


@scenario
def tasks_are_listed_by_status_and_by_job(world: World) -> None:
    manager = world.manager()
    for kind in (Rotate, Pick):
        manager.register(kind, room=world.room)
    made = [world.submit(one) for one in (Rotate(), Rotate(), Pick())]
    claimed = manager.claim()
    assert claimed is not None
    for status, ids in (("claimed", made[:1]), ("pending", [made[2], made[1]]), ("running", [])):
        page = world.api.get(f"/rooms/{world.room}/tasks", status=status)
        assert [one["id"] for one in page["items"]] == ids, status
    path = f"/rooms/{world.room}/jobs/{world.room}:selections:Pick/tasks"
    assert [one["id"] for one in world.api.get(path)["items"]] == made[2:]


@scenario
def a_payload_against_the_schema_is_refused(world: World) -> None:
    world.manager().register(Rotate, room=world.room)
    path = f"/rooms/{world.room}/tasks/{world.room}:modifiers:Rotate"
    answer = world.api.send("POST", path, json={"payload": {"angle": "wide"}})
    assert answer.status_code == 422
    assert world.api.get(f"/rooms/{world.room}/tasks")["total"] == 0


@scenario
def a_claim_whose_answer_was_lost_is_repeated(world: World) -> None:
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    task_id = world.submit(Rotate())
    body = {"worker_id": str(manager.worker_id)}
    lost = world.api.send("POST", "/tasks/claim", json=body).json()["task"]
    assert lost["id"] == task_id
    claimed = until(manager.claim, "the task that was claimed and never begun")
    assert claimed.task_id == task_id
    manager.start(claimed)
    manager.complete(claimed)


@scenario
def a_provider_that_is_silent_is_a_timeout(world: World) -> None:
    # No events follow the read: this manager has no Socket.IO.
    manager = JobManager(world.api, max_startup_retries=1)
    world.managers.append(manager)
    made = manager.register_provider(Files, name="disk", handler={}, room=world.room)
    path = f"/rooms/{world.room}/providers/{world.room}:files:disk"
    answer = world.api.send("GET", path, params={"path": "a"}, headers={"Prefer": "wait=1"})
    assert (answer.status_code, answer.headers["retry-after"]) == (504, "2")
    try:
        world.api.raise_for_status(answer)
    except ProviderTimeoutError:
        pass
    else:
        raise AssertionError("no ProviderTimeoutError")
    assert world.api.get(f"{path}/info")["id"] == str(made)


@scenario
def providers_are_listed_and_leave(world: World) -> None:
    manager = JobManager(world.api, max_startup_retries=1)
    world.managers.append(manager)
    manager.register_provider(Files, name="disk", handler={}, room=world.room)
    first = manager.register_provider(Files, name="cloud", handler={})
    assert manager.register_provider(Files, name="cloud", handler={}) == first
    seen = world.api.get(f"/rooms/{world.room}/providers")["items"]
    names = {one["full_name"]: one for one in seen}
    assert names.keys() == {f"{world.room}:files:disk", "@global:files:cloud"}
    assert names["@global:files:cloud"]["worker_id"] == str(manager.worker_id)
    assert "path" in names["@global:files:cloud"]["schema"]["properties"]
    manager.unregister_provider("@global:files:cloud")
    seen = world.api.get(f"/rooms/{world.room}/providers")
    assert [one["name"] for one in seen["items"]] == ["disk"]
    manager.disconnect()
    assert world.api.get(f"/rooms/{world.room}/providers")["total"] == 0
    path = f"/rooms/{world.room}/providers/{world.room}:files:disk"
    refused(KeyError, "provider-not-found", lambda: world.api.get(path))


@socketio_scenario
def a_provider_answers_reads(world: World) -> None:
    page = world.tsio()
    changed, ready = hear(page, ProvidersInvalidate), hear(page, ProviderResultReady)
    page.call("join_room", {"room_id": world.room})
    files = Shelf({"a": [1, 2]})
    manager = world.manager()
    manager.register_provider(Files, name="disk", handler=files, room=world.room)
    until(lambda: changed, "the registration")
    path = f"/rooms/{world.room}/providers/{world.room}:files:disk"
    for _ in range(2):
        assert world.api.get(path, path="a") == [1, 2]
    # The second answer is the kept one.
    assert files.asked == ["a"]
    (told,) = until(lambda: ready, "the result")
    assert told.provider_name == f"{world.room}:files:disk"
    refused(
        KeyError,
        "provider-not-found",
        lambda: world.api.get(f"/rooms/elsewhere/providers/{world.room}:files:disk", path="a"),
    )


@socketio_scenario
def a_provider_answers_bytes_of_its_type(world: World) -> None:
    manager = world.manager()
    frames = Shelf({"f": b"\x00\xff"})
    manager.register_provider(Frames, name="run", handler=frames, room=world.room)
    path = f"/rooms/{world.room}/providers/{world.room}:frames:run"
    answer = world.api.send("GET", path, params={"path": "f"}, headers={"Prefer": "wait=20"})
    assert (answer.content, answer.headers["content-type"]) == (b"\x00\xff", "image/x-frame")
    assert answer.headers["preference-applied"] == "wait=20"


@socketio_scenario
def an_announced_task_wakes_the_worker_at_once(world: World) -> None:
    with world.manager(execute=lambda task: None, polling_interval=60) as manager:
        manager.register(Rotate, room=world.room)
        # The client does not wait until the server knows whose connection this is.
        soon = {"Prefer": "wait=1"}
        until(
            lambda: world.task(world.submit(Rotate()), headers=soon)["status"] == "completed",
            "a task that wakes the worker",
        )
        for _ in range(3):
            assert world.ended(world.submit(Rotate()))["status"] == "completed"


@socketio_scenario
def only_workers_of_a_job_hear_of_its_tasks(world: World) -> None:
    heard = {}
    for kind, name in ((Rotate, "mine"), (Pick, "other")):
        tsio = world.tsio()
        manager = JobManager(world.api, tsio, max_startup_retries=1)
        world.managers.append(manager)
        manager.register(kind, room=world.room)
        heard[name] = hear(tsio, TaskAvailable)
    ids: list[str] = []
    # The client does not wait until the server knows whose connection this is.
    until(lambda: heard["mine"] or ids.append(world.submit(Rotate())), "the announcement")
    event = heard["mine"][0]
    assert (event.task_id in ids, event.room_id) == (True, world.room)
    assert event.job_name == f"{world.room}:modifiers:Rotate"
    assert heard["other"] == []


@socketio_scenario
def a_room_hears_what_its_tasks_become(world: World) -> None:
    page = world.tsio()
    told = hear(page, TaskStatusEvent)
    assert page.call("join_room", {"room_id": world.room}) == {"ok": True}
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    task_id = world.submit(Rotate())
    claimed = manager.claim()
    assert claimed is not None
    manager.start(claimed)
    manager.fail(claimed, "no scene")
    until(lambda: len(told) >= 4, "four events")
    assert [one.status.value for one in told] == ["pending", "claimed", "running", "failed"]
    assert {one.id for one in told} == {task_id}
    assert {one.name for one in told} == {f"{world.room}:modifiers:Rotate"}
    assert [one.worker_id for one in told] == [None, *[str(manager.worker_id)] * 3]
    last = told[-1]
    assert (last.error, bool(last.completed_at)) == ("no scene", True)
    cancelled = world.submit(Rotate())
    world.api.send("PATCH", f"/tasks/{cancelled}", json={"status": "cancelled"})
    until(lambda: told[-1].status.value == "cancelled", "the end of the other task")


@socketio_scenario
def a_room_hears_when_its_jobs_change(world: World) -> None:
    page, other = world.tsio(), world.tsio()
    told, told_other = hear(page, JobsInvalidate), hear(other, JobsInvalidate)
    for one in (page, other):
        one.call("join_room", {"room_id": world.room})
    manager = world.manager()
    manager.register(Rotate, room=world.room)
    until(lambda: len(told) == 1, "the registration")
    manager.disconnect()
    until(lambda: len(told) == 2, "the end of the worker")
    assert page.call("leave_room", {"room_id": world.room}) == {"ok": True}
    world.manager().register(Rotate, room=world.room)
    # The event may come after the answer: only once the room has it, the page can join again.
    until(lambda: len(told_other) == 3, "the other registration")
    page.call("join_room", {"room_id": world.room})
    assert len(told) == 2


@socketio_scenario
def a_dropped_connection_ends_the_worker(world: World) -> None:
    tsio = world.tsio()
    manager = JobManager(world.api, tsio, max_startup_retries=1)
    # In place of the handler of the manager.
    announced = hear(tsio, TaskAvailable)
    manager.register(Rotate, room=world.room)
    # The client does not wait until the server knows whose connection this is; then it tells of
    # each new task.
    until(lambda: announced or world.submit(Rotate()) is None, "the announcement of a task")
    claimed = manager.claim()
    assert claimed is not None
    tsio.disconnect()
    failed = world.ended(claimed.task_id)
    found = (failed["status"], failed["error"])
    assert found == ("failed", "Worker disconnected"), found
    refused(KeyError, "", manager.heartbeat)


@socketio_scenario
def a_connection_that_comes_back_keeps_the_worker(world: World) -> None:
    tsio = world.tsio()
    manager = JobManager(world.api, tsio, execute=lambda task: None, polling_interval=60)
    world.managers.append(manager)
    manager.register(Rotate, room=world.room)
    # As a network does it: the client connects again by itself, and joins its rooms.
    session = tsio.sid
    tsio.eio.http.close()
    # Unlike a close, this ends the read of the client's other thread, too.
    tsio.eio.ws.sock.shutdown(socket.SHUT_RDWR)
    until(lambda: tsio.connected and tsio.sid != session, "the return")
    # For longer than the grace of a session.
    time.sleep(4)
    manager.heartbeat()
    assert world.ended(world.submit(Rotate()))["status"] == "completed"


@socketio_scenario
def orders_that_make_no_sense_are_refused(world: World) -> None:
    client = world.tsio()
    for event, order, name in (
        ("join_job_room", {"job_name": "a:b:c", "worker_id": "nobody"}, "worker-not-found"),
        ("join_job_room", {"job_name": 7}, "invalid-request"),
        ("join_job_room", None, "invalid-request"),
        ("join_room", {"room_id": "@other"}, "invalid-room-id"),
    ):
        answer = client.call(event, order)
        assert answer["error"]["type"] == f"/v1/problems/{name}", (event, order, answer)


def main() -> None:
    url, mode = sys.argv[1:3]
    chosen = {**SCENARIOS, **(SOCKETIO if mode == "socketio" else {})}
    for number, (name, play) in enumerate(chosen.items()):
        world = World(url, mode, f"{mode}-{number}")
        why = ""
        try:
            # The client raises where it leaves rooms over a connection that is lost.
            try:
                play(world)
            finally:
                world.close()
        except Exception:
            why = traceback.format_exc()
        print(json.dumps({"name": name, "why": why}), flush=True)


if __name__ == "__main__":
    main()
