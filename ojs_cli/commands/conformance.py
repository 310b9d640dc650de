"""`ojs conformance`: passes its arguments on to `ojs-conformance`."""

from ojs_cli.programs import Main, program


def _load() -> Main:
    from conformance.cli import main

    return main


command = program("conformance", "Judge a server or a worker.", _load)
