"""Tasks as jobs: how they are enqueued, run and read again."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.dispatch import Signal
from django.test import override_settings

from ojs_django import enqueue, get_client
from ojs_django.tasks import OJSBackend
from ojs_django.tasks.framework import (
    AnyResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
    task_enqueued,
    task_finished,
    task_started,
)
from ojs_django.tasks.running import run_task
from ojs_worker.testing import Sandbox
from tests.django.shop import tasks
from tests.django.shop.models import Order

READY, SUCCESSFUL, FAILED = (
    TaskResultStatus.READY,
    TaskResultStatus.SUCCESSFUL,
    TaskResultStatus.FAILED,
)
Seen = list[tuple[str, str, str]]


@pytest.fixture
def seen() -> Iterator[Seen]:
    """The signals that were sent: the name, the id of the task, and its status."""
    found: Seen = []
    receivers: list[tuple[Signal, Any]] = []

    def listen(name: str, signal: Signal) -> None:
        def receive(sender: type[OJSBackend], task_result: AnyResult, **_: Any) -> None:
            assert sender is OJSBackend
            found.append((name, task_result.id, task_result.status))

        signal.connect(receive)
        receivers.append((signal, receive))

    listen("enqueued", task_enqueued)
    listen("started", task_started)
    listen("finished", task_finished)
    yield found
    for signal, receive in receivers:
        signal.disconnect(receive)


def test_a_task_is_a_job_with_its_queue_priority_and_name(ojs: Sandbox) -> None:
    result = tasks.total.using(priority=-100).enqueue([1, 2])
    assert (result.status, result.args, result.kwargs) == (READY, [[1, 2]], {})
    (job,) = ojs.all_jobs()
    assert (job.id, job.queue, job.priority) == (result.id, "quick", -100)
    assert job.tags == ["tests.django.shop.tasks.total"]
    assert job.max_attempts == 1


def test_higher_priorities_run_first(ojs: Sandbox) -> None:
    for priority in (0, 100, -100):
        tasks.add.using(priority=priority).enqueue(priority)
    assert [ran.job.priority for ran in ojs.drain_blocking()] == [100, 0, -100]


def test_a_deferred_task_waits_for_its_time(ojs: Sandbox) -> None:
    at = ojs.clock.now + timedelta(hours=1)
    result = tasks.add.using(run_after=at).enqueue(1)
    ojs.drain_blocking()
    result.refresh()
    assert result.status == READY
    assert tasks.add.get_result(result.id).task.run_after == at
    ojs.clock.advance("1h")
    ojs.drain_blocking()
    result.refresh()
    assert result.return_value == 2


@pytest.mark.parametrize(
    ("use_tz", "at"),
    [(True, datetime(2999, 1, 1, tzinfo=UTC)), (False, datetime(2999, 1, 1))],  # noqa: DTZ001
)
def test_times_are_as_the_project_has_them(ojs: Sandbox, use_tz: bool, at: datetime) -> None:
    with override_settings(USE_TZ=use_tz):
        result = tasks.add.using(run_after=at).enqueue(1)
        again = tasks.add.get_result(result.id)
    assert again.task.run_after == at
    assert again.enqueued_at is not None
    assert (again.enqueued_at.tzinfo is not None) is use_tz


def test_the_result_of_a_function(ojs: Sandbox, shop: Path) -> None:
    order = Order.objects.create(email="ada")
    result = tasks.total.enqueue([order.pk])
    assert tasks.total.get_result(result.id) == result
    ojs.drain_blocking()
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == (SUCCESSFUL, 1, 1)
    assert len(result.worker_ids) == 1
    assert result.enqueued_at == result.started_at == result.last_attempted_at == ojs.clock.now
    assert result.finished_at is not None


async def test_a_coroutine_is_enqueued_run_and_read_in_the_loop(ojs: Sandbox) -> None:
    result = await tasks.greet.aenqueue(name="ada")
    await ojs.drain()
    again = await tasks.greet.aget_result(result.id)
    # The stubs take a coroutine for the value.
    value: Any = again.return_value
    assert (value, again.kwargs) == ("hello ada", {"name": "ada"})


def test_a_failure_has_its_class_and_traceback(ojs: Sandbox) -> None:
    result = tasks.fail.enqueue("no <b>")
    ojs.drain_blocking()
    result.refresh()
    assert result.status == FAILED
    with pytest.raises(ValueError, match="Task failed"):
        assert result.return_value
    (error,) = result.errors
    assert error.exception_class is ValueError
    assert "tasks.py" in error.traceback
    assert error.traceback.endswith("\nValueError: no <b>\n")


@pytest.mark.parametrize(
    ("task", "error"), [(tasks.leave, SystemExit), (tasks.unwritable, TypeError)]
)
def test_a_task_fails_by(ojs: Sandbox, task: Any, error: type[BaseException]) -> None:
    result = task.enqueue()
    ojs.drain_blocking()
    result.refresh()
    assert (result.status, result.errors[0].exception_class) == (FAILED, error)


def test_a_task_is_tried_again_as_its_backends_options_say(ojs: Sandbox) -> None:
    result = tasks.succeed_later.enqueue()
    ojs.drain_blocking()
    result.refresh()
    assert (result.status, result.attempts) == (READY, 1)
    first = result.last_attempted_at
    ojs.clock.advance("60s")
    ojs.drain_blocking()
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == (SUCCESSFUL, 2, 2)
    assert result.started_at == first
    assert result.last_attempted_at == ojs.clock.now
    assert [error.exception_class for error in result.errors] == [ValueError]


def test_signals_tell_the_life_of_a_task(ojs: Sandbox, seen: Seen) -> None:
    result = tasks.fail_twice.enqueue("no")
    assert seen.pop() == ("enqueued", result.id, "READY")
    for last in (False, False, True):
        ojs.drain_blocking()
        ojs.clock.advance("1h")
        assert seen.pop(0) == ("started", result.id, "RUNNING")
        assert seen == ([("finished", result.id, "FAILED")] if last else [])


def test_a_task_that_gives_up_is_finished_at_once(ojs: Sandbox, seen: Seen) -> None:
    tasks.give_up.enqueue()
    ojs.drain_blocking()
    assert [name for name, _, _ in seen] == ["enqueued", "started", "finished"]


async def test_signals_of_coroutines(ojs: Sandbox, seen: Seen) -> None:
    result = await tasks.greet.aenqueue("ada")
    await ojs.drain()
    assert seen[1:] == [("started", result.id, "RUNNING"), ("finished", result.id, "SUCCESSFUL")]


def test_a_receiver_that_fails_does_not_fail_the_task(ojs: Sandbox) -> None:
    def receive(**_: Any) -> None:
        raise RuntimeError("of the receiver")

    task_started.connect(receive)
    try:
        result = tasks.add.enqueue(1)
        ojs.drain_blocking()
    finally:
        task_started.disconnect(receive)
    result.refresh()
    assert result.return_value == 2


def test_a_task_may_take_its_context(ojs: Sandbox) -> None:
    result = tasks.own_id.enqueue("mine")
    ojs.drain_blocking()
    result.refresh()
    assert result.return_value == ["mine", result.id, 1]


def test_enqueue_on_commit_sends_the_task_after_the_commit(
    ojs: Sandbox, shop: Path, seen: Seen
) -> None:
    with transaction.atomic():
        result = tasks.after_all.enqueue(Order.objects.create(email="ada").pk)
        assert (result.enqueued_at, seen, ojs.all_jobs()) == (None, [], [])
    assert result.enqueued_at is not None
    assert seen == [("enqueued", result.id, "READY")]
    ojs.drain_blocking()
    result.refresh()
    assert result.return_value == "ada"


def test_a_cancelled_task_has_failed(ojs: Sandbox) -> None:
    result = tasks.add.enqueue(1)
    get_client().cancel(result.id)
    result.refresh()
    assert result.status == FAILED
    assert result.errors[0].traceback == (f"JobCancelled: job {result.id} was cancelled\n")
    assert issubclass(result.errors[0].exception_class, Exception)


def test_a_task_in_a_queue_that_its_backend_does_not_have_can_be_read(ojs: Sandbox) -> None:
    job = enqueue(run_task, ["tests.django.shop.tasks.add", [1], {}, "default"], queue="moved")
    assert tasks.add.get_result(job.id).task.queue_name == "default"


@pytest.mark.parametrize("known", ["job", "malformed", "id", "text"])
def test_what_is_no_task_does_not_exist(ojs: Sandbox, known: str) -> None:
    ids = {
        "job": enqueue("order.note").id,
        "malformed": enqueue("django.task", [1, 2]).id,
        "id": "0190a0f0-0000-7000-8000-00000000000a",
    }
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(ids.get(known, "123"))


@pytest.mark.parametrize("path", ["tests.django.shop.models.Order", "tests.django.shop.none.at"])
def test_a_worker_runs_nothing_but_tasks(ojs: Sandbox, path: str) -> None:
    job = enqueue(run_task, [path, [], {}, "default"])
    ojs.drain_blocking()
    error = ojs.job(job.id).error
    assert error["type"] in ("ImportError", "ModuleNotFoundError")
