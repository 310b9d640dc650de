"""The app: it has the worker of the project, loads the handlers, and checks the settings."""

import contextlib
from typing import Any

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from ojs_django import conf
from ojs_worker.worker import Worker


class OjsConfig(AppConfig):
    """The app `ojs`."""

    name = "ojs_django"
    label = "ojs"
    verbose_name = "Open Job Spec"
    _worker: Worker | None = None

    def ready(self) -> None:
        """Load the module `jobs` of each app, so that its handlers can enqueue."""
        from ojs_django import checks  # noqa: F401

        setting_changed.connect(self._forget)
        # The checks report wrong settings, and so does the first enqueue.
        with contextlib.suppress(ImproperlyConfigured):
            self._worker = _made()

    @property
    def worker(self) -> Worker:
        """The worker of the project, made once; raises `ImproperlyConfigured`."""
        if self._worker is None:
            self._worker = _made()
        return self._worker

    def _forget(self, *, setting: str, **_: Any) -> None:
        if setting in ("OJS", "TASKS"):
            conf.own.cache_clear()
            if self._worker is not None:
                self._worker.blocking_client.close()
                self._worker = None


def _made() -> Worker:
    # Handlers may use models, which are not there yet when this module is imported.
    from ojs_django.assembly import make_worker

    return make_worker()
