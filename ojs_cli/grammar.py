"""The grammar: `ojs NOUN [VERB] [TARGET…] [FILTER…]`, help in groups.

`ojs --help` loads no command, and no command loads what it does not use. So what the modules of
nouns declare about themselves (`Entry`) is read from `nouns.py`, which is made of them.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from keyword import iskeyword
from typing import Any, Final, NamedTuple

import click

from ojs_cli.nouns import SECTIONS
from ojs_cli.session import Session

FORMS: Final = ("table", "wide", "json", "ndjson", "jsonl", "yaml", "csv", "id")
HELP: Final = """Works with a server of Open Job Spec: `ojs NOUN [VERB] [TARGET…] [FILTER…]`.

A FILTER is NAME:VALUE, such as state:retryable type:mail.* since:1h.
"""
EPILOG: Final = """\b
The server is --url, else --server, else OJS_URL or OJS_SERVER, else the one that the
file of servers (OJS_SERVERS, ~/.config/ojs/servers.toml) names; its key is OJS_AUTH_TOKEN
or stands in that file.

\b
Exit codes: 0 done, 1 refused, 2 wrong usage, 3 not as asked for, 4 no or wrong key,
5 not found, 6 conflict, 7 part done, 8 server not reachable, 130 interrupted.
"""


class Section(StrEnum):
    """The sections of the help, in order."""

    SEE = "See"
    JOBS = "Jobs"
    QUEUES = "Queues and workers"
    SERVERS = "Whole servers"
    PROGRAMS = "Programs"


class Entry(NamedTuple):
    """The entry of a noun in the help, and the other ways to write the noun."""

    section: Section
    # Its place in the section; entries with the same one are in the order of their names.
    place: int
    summary: str
    aliases: Sequence[str] = ()
    # Verbs that are flags in the protocol's own program.
    flags: Mapping[str, str] = {}


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None:
        context.ensure_object(Session).given[str(parameter.name)] = value


def _keep_fields(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    names = None if value is None else [name.strip() for name in value.split(",") if name.strip()]
    _keep(context, parameter, names or None)


def _everywhere(*, hidden: bool) -> list[click.Option]:
    """The options that stand anywhere on the line."""
    kept: dict[str, Any] = {"expose_value": False, "callback": _keep, "hidden": hidden}
    fields = {**kept, "callback": _keep_fields}
    return [
        click.Option(["--url"], metavar="URL", help="the server's address", **kept),
        click.Option(["--server"], metavar="NAME", help="a server of the file", **kept),
        click.Option(
            ["-o", "--output"],
            type=click.Choice(FORMS),
            metavar="FORM",
            help="table, wide, json, ndjson, yaml, csv or id",
            **kept,
        ),
        click.Option(["--fields"], metavar="A,B.C", help="only these members", **fields),
        click.Option(
            ["--color"],
            type=click.Choice(("auto", "always", "never")),
            help="colours; auto is on a terminal",
            **kept,
        ),
    ]


class Verb(click.Command):
    """One command, with the options that may stand anywhere."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _everywhere(hidden=True)


class Noun(click.Group):
    """The commands for one kind of thing; `list` is the default."""

    command_class = Verb

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _everywhere(hidden=True)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the verb to the front, and use `list` if there is none."""
        if ctx.resilient_parsing:
            # The shell asks for completions, which may be verbs.
            return super().parse_args(ctx, args)
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            verb = next((word for word in args if word in self.commands), None)
            if verb is None:
                args = ["list", *args]
            else:
                place = args.index(verb)
                args = [verb, *args[:place], *args[place + 1 :]]
        elif ":" in args[0]:
            args = ["list", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or suggest a similar one."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(_no_such(args[0], list(self.commands)))
        return super().resolve_command(ctx, args)


class Root(click.Group):
    """The command `ojs` itself."""

    def __init__(self) -> None:
        super().__init__(
            "ojs",
            help=HELP,
            epilog=EPILOG,
            params=[*_everywhere(hidden=False), _version()],
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
            subcommand_metavar="NOUN [VERB] …",
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The nouns, in their groups."""
        return [name for section in SECTIONS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a noun."""
        if cmd_name not in self.list_commands(ctx):
            return None
        # A module cannot have the name of a keyword, such as `import`.
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        found = import_module(f"ojs_cli.commands.{module}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the noun, or suggest a similar one."""
        if args[0] not in self.list_commands(ctx) and not ctx.resilient_parsing:
            ctx.fail(_no_such(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the nouns by their groups."""
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))


def _no_such(word: str, known: list[str]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"there is no command {word!r}" + (f'; did you mean "{close[0]}"?' if close else "")


def _version() -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            from ojs_worker.version import installed

            click.echo(f"ojs {installed()}")
            ctx.exit()

    return click.Option(
        ["--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=show,
        help="the version of this program",
    )
