"""Making the worker of a project."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from django.apps import apps
from django.conf import settings
from django.utils.module_loading import import_string, module_has_submodule

from ojs_django import conf
from ojs_django.connections import around_coroutines, pool
from ojs_django.request_context import in_loop
from ojs_worker.client.blocking import BlockingClient
from ojs_worker.config import Config
from ojs_worker.environment import machine
from ojs_worker.request_context import blocking
from ojs_worker.worker import Worker


class ProjectWorker(Worker):
    """A worker that also serves the queues of the project's tasks, and whose clients store the
    context of requests."""

    task_queues: tuple[str, ...] = ()
    _with_context: BlockingClient | None = None

    @property
    def blocking_client(self) -> BlockingClient:
        """The worker's client for programs without an event loop."""
        # Made late, because the options of the command decide about its server.
        client = super().blocking_client
        if self._with_context is not client:
            self._with_context = client
            client.use(blocking)
        return client

    def config(self, flags: Mapping[str, Any] | None = None) -> Config:
        """The settings; flags override the project's, the environment and defaults."""
        config = super().config(flags)
        if config.only_queues:
            return config
        queues = tuple(dict.fromkeys((*config.queues, *self.task_queues)))
        return msgspec.structs.replace(config, queues=queues)


def make_worker() -> Worker:
    """Make a worker with the handlers of all apps; raises `ImproperlyConfigured`."""
    own, given = conf.own(), conf.for_worker()
    worker = ProjectWorker(
        given.pop("url", None),
        own.key,
        codec=conf.codec_of(own),
        environment=msgspec.structs.replace(machine(), pool=pool),
        **given,
    )
    for app in apps.get_app_configs():
        if app.module is not None and module_has_submodule(app.module, "jobs"):
            worker.discover(f"{app.name}.jobs")
    if backends := list(_backends()):
        from ojs_django.tasks.running import router

        worker.include(router)
        queues = (queue for backend in backends for queue in backend.get("QUEUES", ["default"]))
        worker.task_queues = tuple(dict.fromkeys(queues))
    worker.use(around_coroutines)
    worker.use_enqueue(in_loop)
    return worker


def _backends() -> Iterator[Mapping[str, Any]]:
    """Return the parameters of the backends of tasks that are of this package."""
    for parameters in (getattr(settings, "TASKS", None) or {}).values():
        # A backend that cannot be loaded is reported by the framework.
        with suppress(ImportError):
            from ojs_django.tasks import OJSBackend

            backend = import_string(parameters["BACKEND"])
            if isinstance(backend, type) and issubclass(backend, OJSBackend):
                yield parameters
