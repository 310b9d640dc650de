"""A child process that does CPU-bound jobs for its worker, over the socket that is its argument.

It ignores SIGTERM, SIGINT and SIGTSTP: its worker receives them and decides. It ends when the
worker is gone.
"""

import importlib
import logging
import os
import runpy
import socket
import sys
import threading
from typing import Any

import msgspec

from ojs_worker.context import JobContext, current
from ojs_worker.faults import fault_of
from ojs_worker.handlers import resources
from ojs_worker.handlers.outcomes import Outcome, Verdict, done
from ojs_worker.handlers.registry import Handler
from ojs_worker.handlers.retrying import ALWAYS
from ojs_worker.job import Job
from ojs_worker.processes import frames
from ojs_worker.processes.frames import Hello, Progress, Raised, Result, Run

MAIN = "__main__"
_job = msgspec.json.Decoder(Job)


class _Link:
    """The worker, seen from a child process: progress is passed on, other calls are not
    possible."""

    shutting_down = False

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def report_progress(self, job: Job, body: dict[str, Any]) -> None:
        self._channel.sendall(frames.pack(Progress(body)))

    async def save_checkpoint(self, job: Job, data: Any) -> None:
        raise NotImplementedError

    async def settle_now(self, job: Job, outcome: Outcome) -> Verdict:
        raise NotImplementedError

    async def renew(self, job: Job, lease_ms: int) -> bool:
        raise NotImplementedError

    async def beat_now(self) -> None:
        raise NotImplementedError


class ProcessContext(JobContext):
    """The context of a handler that runs in a process. It gets no notice to stop: the process is
    killed."""

    def checkpoint(self, data: Any) -> None:
        """Raise an error: handlers in processes have no checkpoints."""
        raise RuntimeError("a handler in a process has no checkpoints; let it run in a thread")

    def step(self, name: str, do: Any, *args: Any, **kwargs: Any) -> None:
        """Raise an error: steps are remembered in checkpoints."""
        raise RuntimeError("a handler in a process has no steps; let it run in a thread")

    def heartbeat(self) -> None:
        """Raise an error: the worker of this process sends the heartbeats."""
        raise RuntimeError("a handler in a process sends no heartbeats; its worker does")


def main() -> None:
    """Serve one worker until it is gone."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    hello = frames.receive(channel)
    if not isinstance(hello, Hello):
        return
    sys.path[:] = hello.path
    logging.basicConfig(level=hello.log_level, stream=sys.stderr)
    main_space: dict[str, Any] | None = None
    inbox: list[Run | None] = []
    arrived = threading.Condition()

    def listen() -> None:
        while True:
            try:
                message = frames.receive(channel)
            except OSError:
                message = None
            if message is None:
                # Exit at once, although the handler may be busy: the worker is gone.
                os._exit(0)
            with arrived:
                inbox.append(message if isinstance(message, Run) else None)
                arrived.notify()

    threading.Thread(target=listen, daemon=True).start()
    while True:
        with arrived:
            arrived.wait_for(lambda: inbox)
            run = inbox.pop(0)
        if run is None:
            continue
        retrying = ALWAYS
        try:
            if run.module == MAIN and main_space is None:
                main_space = runpy.run_path(hello.main_file or "", run_name="__ojs_main__")
            space = main_space if run.module == MAIN else vars(importlib.import_module(run.module))
            handler = _handler_of(run, space or {})
            retrying = handler.retrying
            answer: Result | Raised = _do(handler, run, channel)
        except BaseException as error:
            answer = Raised(msgspec.json.encode(fault_of(error, retrying)))
        channel.sendall(frames.pack(answer))


def _handler_of(run: Run, space: dict[str, Any]) -> Handler[..., Any, Any]:
    target: Any = space
    for name in run.name.split("."):
        target = target[name] if target is space else getattr(target, name)
    if not isinstance(target, Handler):
        raise LookupError(f"{run.module}.{run.name} is no handler when it is imported anew")
    return target


def _do(handler: Handler[..., Any, Any], run: Run, channel: socket.socket) -> Result:
    job = _job.decode(run.job)
    context = ProcessContext(job, _Link(channel))
    current.set(context)
    call = handler.prepare(job.args, context)
    with resources.of_process(handler.needs, context) as needed:
        return Result(done(call(**needed)).result)
