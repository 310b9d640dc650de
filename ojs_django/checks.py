"""System checks of the settings, so that a mistake is found by `manage.py check`."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.db import connections

from ojs_django import conf
from ojs_django.project import get_worker


@checks.register
def check_settings(
    app_configs: Sequence[AppConfig] | None = None, **_: Any
) -> list[checks.CheckMessage]:
    """Check the setting `OJS`."""
    found = [checks.Error(text, id="ojs.E001") for text in conf.mistakes()]
    return [*found] or [*_of_the_database(), *_of_handlers()]


def _of_the_database() -> list[checks.CheckMessage]:
    own = conf.own()
    if own.database not in connections:
        text = f'OJS["DATABASE"]: DATABASES has no {own.database!r}'
        return [checks.Error(text, id="ojs.E002")]
    if own.after_commit == "transactional" and connections[own.database].vendor != "postgresql":
        return [
            checks.Error(
                f'OJS["AFTER_COMMIT"]: "transactional" needs the PostgreSQL database of the'
                f" server, and the database {own.database!r} is of"
                f" {connections[own.database].vendor}",
                hint='Use "on_commit".',
                id="ojs.E003",
            )
        ]
    return []


def _of_handlers() -> list[checks.CheckMessage]:
    return [
        checks.Warning(
            f"the handler of {handler.type} runs in a process, in which Django is not set up",
            hint="Let it run in a thread, and start several processes of workers: --workers.",
            id="ojs.W001",
        )
        for handler in get_worker().registry.handlers
        if handler.runs == "process"
    ]
