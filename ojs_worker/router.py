"""Handlers in modules of their own, which a worker includes.

# myapp/jobs/mail.py
router = Router(queue="mail")

@router.job("email.send")
async def send_email(to: str) -> None: ...

# myapp/worker.py
worker = Worker()
worker.include(router)  # or worker.discover("myapp.jobs")
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, Unpack, cast

from ojs_worker.client.calls import Overlap
from ojs_worker.client.handle import BlockingJobHandle, JobHandle
from ojs_worker.client.options import Options, check_names
from ojs_worker.client.requests import JobRequest
from ojs_worker.durations import Duration
from ojs_worker.handlers.batching import Gathering
from ojs_worker.handlers.registry import JobDecorator, ManyDecorator, Registry, Runs, Sender
from ojs_worker.handlers.retrying import Exceptions, retrying
from ojs_worker.handlers.schedule import Schedules

H = TypeVar("H")


class Router:
    """Handlers that belong to whichever worker includes them; `options` are those of all their
    enqueues, unless a handler says otherwise."""

    def __init__(self, **options: Unpack[Options]) -> None:
        self._options = check_names(options)
        self._sender = _Later()
        self.registry = Registry(self._sender)
        self.schedules = Schedules()

    def job(
        self,
        type: str | None = None,
        /,
        *,
        run_in: Runs | None = None,
        retry_on: Exceptions | None = None,
        no_retry_on: Exceptions | None = None,
        **options: Unpack[Options],
    ) -> JobDecorator:
        """Make a function or class the handler of a job type, as `Worker.job` does."""
        merged = cast(Options, {**self._options, **check_names(options)})
        rules = retrying(retry_on, no_retry_on)

        def register(target: Any) -> Any:
            return self.registry.add(type, target, run_in, merged, rules)

        return register

    def many(
        self,
        type: str | None = None,
        /,
        *,
        size: int = 100,
        wait: Duration = 0.05,
        retry_on: Exceptions | None = None,
        no_retry_on: Exceptions | None = None,
        **options: Unpack[Options],
    ) -> ManyDecorator:
        """Make a coroutine function the handler of many jobs at once, as `Worker.many` does."""
        merged = cast(Options, {**self._options, **check_names(options)})
        rules = retrying(retry_on, no_retry_on)

        def register(do: Any) -> Any:
            return self.registry.add_many(type, Gathering(do, size, wait), merged, rules)

        return register

    def cron(
        self,
        expression: str,
        *,
        name: str | None = None,
        tz: str | None = None,
        overlap: Overlap | None = None,
        **arguments: Any,
    ) -> Callable[[H], H]:
        """Run a handler on a schedule, as `Worker.cron` does."""
        return self.schedules.declare(expression, name, tz, overlap, arguments)

    def belong(self, sender: Sender) -> None:
        """Send the enqueues of these handlers through a worker, the first one that includes it."""
        self._sender.worker = self._sender.worker or sender


def routers_of(package: str) -> Iterator[Router]:
    """Import a package with all its modules, and return their routers, each once."""
    top = importlib.import_module(package)
    modules = [top]
    for info in pkgutil.walk_packages(getattr(top, "__path__", []), f"{package}."):
        modules.append(importlib.import_module(info.name))
    routers = [
        value for module in modules for value in vars(module).values() if isinstance(value, Router)
    ]
    return iter(dict.fromkeys(routers))


class _Later:
    """The sender of a router's handlers: the worker that has included the router."""

    worker: Sender | None = None

    def request(self, type: str, args: list[Any], options: Options) -> JobRequest:
        return self._included(type).request(type, args, options)

    def sealed(self, request: JobRequest) -> JobRequest:
        return self._included(request.type).sealed(request)

    async def send(self, request: JobRequest) -> JobHandle[Any]:
        return await self._included(request.type).send(request)

    def send_blocking(self, request: JobRequest) -> BlockingJobHandle[Any]:
        return self._included(request.type).send_blocking(request)

    def _included(self, type: str) -> Sender:
        if self.worker is None:
            raise RuntimeError(f"no worker has included the router of {type} yet")
        return self.worker
