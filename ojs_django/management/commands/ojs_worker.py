"""`manage.py ojs_worker`: run the jobs of all apps, and the project's tasks."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.core.management.base import BaseCommand

from ojs_worker.cli import add_options, main
from ojs_worker.settings import NO_FLAG, TABLE

TARGET: Final = "ojs_django.project:worker"


class Command(BaseCommand):
    """The command `ojs-worker run` with the worker of the project."""

    help = "Runs the jobs of all apps (their modules `jobs`), and the tasks of the project."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of `ojs-worker`."""
        add_options(parser)

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the worker; the process ends with its exit code."""
        # Several processes import the project as this one does, wherever it was started.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        raise SystemExit(main(["run", TARGET, *_arguments(options)]))


def _arguments(options: Mapping[str, Any]) -> Iterator[str]:
    """Return the options as the command line of `ojs-worker` has them."""
    if options["reload"]:
        yield from ("--reload", "--reload-dir", options["reload_dir"])
    for setting in TABLE:
        value = None if setting.name in NO_FLAG else options[setting.name]
        if value is True:
            yield setting.flag
        elif value is False:
            yield f"--no-{setting.flag[2:]}"
        elif value is not None:
            yield f"{setting.flag}={value}"
