"""`ojs conformance`: passes its arguments on to `ojs-conformance`."""

from ojs_cli.grammar import Entry, Section
from ojs_cli.programs import Main, program


def _load() -> Main:
    from conformance.commands.cli import main

    return main


ENTRY = Entry(Section.PROGRAMS, 3, "judge a server, worker or adapter (ojs-conformance)")
command = program("conformance", "Judge a server, a worker or a framework adapter.", _load)
