"""`ojs worker`: passes its arguments on to `ojs-worker`."""

from ojs_cli.grammar import Entry, Section
from ojs_cli.programs import Main, program


def _load() -> Main:
    from ojs_worker.cli import main

    return main


ENTRY = Entry(Section.PROGRAMS, 2, "run a worker (ojs-worker)")
command = program("worker", "Run a worker.", _load)
