"""`ojs worker`: passes its arguments on to `ojs-worker`."""

from ojs_cli.programs import Main, program


def _load() -> Main:
    from ojs_worker.cli import main

    return main


command = program("worker", "Run a worker.", _load)
