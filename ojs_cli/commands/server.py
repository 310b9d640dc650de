"""`ojs server`: passes its arguments on to `ojs-server`."""

from ojs_cli.programs import Main, program


def _load() -> Main:
    from ojs_server.cli import main

    return main


command = program("server", "Run a job server, or bring its database up to date.", _load)
