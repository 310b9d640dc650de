"""Commands that run another program with the arguments as they are."""

from collections.abc import Callable
from typing import Any

import click

from ojs_wire.extras import explain

Main = Callable[[list[str]], int]


def program(name: str, help: str, load: Callable[[], Main]) -> click.Command:
    """Make a command that hands its words to a program."""

    def run(words: tuple[str, ...]) -> int:
        try:
            main = load()
        except ModuleNotFoundError as missing:
            return explain(f"ojs {name}", name, missing)
        return main(list(words))

    settings: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": []}
    return click.Command(
        name,
        help=help,
        callback=run,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        context_settings=settings,
        add_help_option=False,
    )
