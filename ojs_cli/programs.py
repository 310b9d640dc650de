"""Commands that run another program with the arguments as they are."""

from collections.abc import Callable

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

    return _Passing(
        name,
        help=help,
        callback=run,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        add_help_option=False,
    )


class _Passing(click.Command):
    """Reads no words, of which click would take `--` for itself."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["words"] = tuple(args)
        return []
