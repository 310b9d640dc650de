"""`ojs server`: passes its arguments on to `ojs-server`."""

from ojs_cli.grammar import Entry, Section
from ojs_cli.programs import Main, program


def _load() -> Main:
    from ojs_server.cli import main

    return main


ENTRY = Entry(Section.PROGRAMS, 1, "run a job server (ojs-server)")
command = program("server", "Run a job server, or bring its database up to date.", _load)
