"""Handlers: functions and classes by job type."""

from dataclasses import dataclass
from typing import Any

import pytest

from ojs_worker import BlockingContext, Context, JobRequest, Worker
from ojs_worker.context import JobContext
from ojs_worker.job import Job

CONTEXT: Any = object()


@pytest.fixture
def worker() -> Worker:
    return Worker()


def run(worker: Worker, type: str, *args: Any) -> Any:
    handler = worker.registry.get(type)
    assert handler is not None
    return handler.prepare(list(args), CONTEXT)()


def test_a_function_does_a_type_and_stays_a_function(worker: Worker) -> None:
    @worker.job("email.send")
    def send(to: str) -> str:
        """Send an email."""
        return f"sent to {to}"

    assert send("ada") == "sent to ada"
    assert run(worker, "email.send", "ada") == "sent to ada"
    assert send.__doc__ == "Send an email."
    assert send.runs == "thread"


def test_the_name_of_the_function_is_the_type(worker: Worker) -> None:
    @worker.job()
    async def resize(ctx: Context, path: str) -> None: ...

    assert worker.registry.get("resize") is resize
    assert resize.runs == "loop"


def test_a_class_with_fields_does_a_type(worker: Worker) -> None:
    @worker.job("room.rotate")
    class Rotate:
        angle: int
        axis: str = "x"

        def run(self) -> str:
            return f"{self.axis}{self.angle}"

    assert run(worker, "room.rotate", {"angle": 90}) == "x90"
    assert run(worker, "room.rotate", 90, "y") == "y90"
    # Type checkers do not follow decorators of classes.
    assert Rotate.request(angle=5).args == [{"angle": 5}]  # type: ignore[attr-defined]


def test_a_class_may_take_the_context_in_run(worker: Worker) -> None:
    @worker.job("a.dataclass")
    @dataclass
    class Made:
        angle: int

        async def run(self, ctx: Context) -> Any:
            return self.angle, ctx

    handler = worker.registry.get("a.dataclass")
    assert handler is not None
    assert handler.runs == "loop"
    with_context = handler.prepare([3], CONTEXT)()
    with pytest.raises(StopIteration) as ended:
        with_context.send(None)
    assert ended.value.value == (3, CONTEXT)


def test_a_class_without_run_is_refused(worker: Worker) -> None:
    class Empty:
        pass

    with pytest.raises(TypeError, match="needs a method `run`"):
        worker.job("x.y")(Empty)


@pytest.mark.parametrize("type", ["Email", "email send", "1x", "a..b", ""])
def test_a_name_that_is_no_job_type_is_refused(worker: Worker, type: str) -> None:
    with pytest.raises(ValueError, match="is not a job type"):
        worker.job(type)(lambda: None)


def test_two_handlers_of_one_type_are_refused(worker: Worker) -> None:
    worker.job("a.b")(lambda: None)
    with pytest.raises(ValueError, match=r"a\.b has a handler already"):
        worker.job("a.b")(lambda: None)


def test_where_a_handler_cannot_run_is_refused(worker: Worker) -> None:
    async def coroutine() -> None: ...

    def function() -> None: ...

    for place in ("thread", "process"):
        with pytest.raises(ValueError, match="runs in the event loop only"):
            worker.job("a.b", run_in=place)(coroutine)
    with pytest.raises(ValueError, match="would block the event loop"):
        worker.job("a.b", run_in="loop")(function)
    with pytest.raises(ValueError, match="stands inside a function"):
        worker.job("a.b", run_in="process")(function)


def test_options_of_a_handler_are_those_of_its_enqueues(worker: Worker) -> None:
    @worker.job("a.b", queue="mail", priority=3)
    def handler(ctx: BlockingContext, to: str) -> None: ...

    request = handler.options(priority=5, delay=60).request(to="ada")
    assert isinstance(request, JobRequest)
    assert request.type == "a.b"
    assert request.args == [{"to": "ada"}]
    assert request.options["queue"] == "mail"
    assert request.options["priority"] == 5
    assert "scheduled_at" in request.options
    assert handler.request("ada").options == {"queue": "mail", "priority": 3}


def test_a_misspelt_option_names_the_right_one(worker: Worker) -> None:
    with pytest.raises(TypeError, match='did you mean "queue"'):
        worker.job("a.b", queu="x")(lambda: None)  # type: ignore[call-arg]


def test_the_last_checkpoint_is_found_in_every_form() -> None:
    link: Any = object()
    new = Job(id="1", type="a", checkpoint={"state": {"row": 5}, "sequence": 2})
    old = Job(id="1", type="a", last_checkpoint=[1])
    assert JobContext(new, link).last_checkpoint == {"row": 5}
    assert JobContext(old, link).last_checkpoint == [1]
    assert JobContext(Job(id="1", type="a"), link).last_checkpoint is None
