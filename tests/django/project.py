"""The Django project of the tests, set up in this process, and its databases."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
from django.db import connections

from tests.django.settings import of_postgres

SETTINGS = "tests.django.settings"
VARIABLE = "DJANGO_SETTINGS_MODULE"
os.environ[VARIABLE] = SETTINGS
django.setup()
# Other programs that tests start have settings of their own.
del os.environ[VARIABLE]


@contextmanager
def on_sqlite(path: Path) -> Iterator[None]:
    """Use a file as the default database."""
    with _using("default", {"NAME": str(path)}):
        yield


@contextmanager
def on_postgres(url: str) -> Iterator[Any]:
    """Use this database under the name `postgres`; yields the connection."""
    with _using("postgres", of_postgres(url)):
        yield connections["postgres"]


@contextmanager
def beside(alias: str, settings: Mapping[str, Any]) -> Iterator[Any]:
    """Have a further database under this name; yields the connection."""
    configured = connections.configure_settings({"default": {}, alias: dict(settings)})
    connections.settings[alias] = configured[alias]
    connection = connections[alias]
    try:
        yield connection
    finally:
        connection.close()
        del connections[alias], connections.settings[alias]


@contextmanager
def _using(alias: str, changed: Mapping[str, Any]) -> Iterator[None]:
    settings = connections.settings[alias]
    before = dict(settings)
    settings.update(changed)
    try:
        yield
    finally:
        # Nothing is open, and nothing may be closed, beside an event loop.
        if (used := connections[alias]).connection is not None:
            used.close()
        settings.update(before)
