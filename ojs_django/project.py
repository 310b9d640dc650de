"""The worker and the client of a project, which the app has.

They are made once in each process. The client may be used from many threads, and in processes that
were forked later on.
"""

import django
from django.apps import apps

from ojs_worker.client.blocking import BlockingClient
from ojs_worker.worker import Worker


def get_worker() -> Worker:
    """Return the worker of the project, with the handlers of all its apps; raises
    `ImproperlyConfigured` for wrong settings."""
    worker: Worker = apps.get_app_config("ojs").worker  # type: ignore[attr-defined]
    return worker


def get_client() -> BlockingClient:
    """Return the client of the project."""
    return get_worker().blocking_client


def __getattr__(name: str) -> Worker:
    """Return the worker as `worker`, for `ojs-worker run ojs_django.project:worker`."""
    if name != "worker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not apps.ready:
        django.setup()
    return get_worker()
