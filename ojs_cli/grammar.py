"""The grammar: `ojs NOUN [VERB] [TARGET…] [FILTER…]`, help in groups.

`ojs --help` loads no command, and no command loads what it does not use.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import Any, Final

import click

from ojs_cli.session import Session

FORMS: Final = ("table", "wide", "json", "ndjson", "jsonl", "yaml", "id")
SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "See": {
        "top": "queues, workers and failures, live, with keys that repair",
        "doctor": "what is wrong with a deployment, and how to mend it",
        "status": "what the server is, how it does, and what is wrong",
        "stats": "what went in and out, by the minute or the hour",
        "events": "what happens, as it happens",
        "actions": "what people and their keys changed",
    },
    "Jobs": {
        "enqueue": "store a job",
        "jobs": "list, show, search, watch, retry, cancel, delete",
        "dead": "jobs that have failed for good: list, retry, delete",
        "workflows": "list, show, retry, cancel",
        "cron": "what runs by the clock: list, add, run, pause, resume, delete",
        "schemas": "of arguments: list, show, register, validate, compare, delete",
    },
    "Queues and workers": {
        "queues": "list, show, pause, resume, config, purge",
        "workers": "list, show, quiet, resume, terminate",
        "limits": "rate limits by key: list, show, set, unset",
        "pools": "groups of workers with queues of their own: list, show, add, delete",
        "tenants": "list, show, config, delete",
    },
    "Whole servers": {
        "nodes": "the servers of a database: where they run, and since when",
        "webhooks": "list, add, test, pause, deliveries, redeliver, delete",
        "export": "write jobs as they would be enqueued, a line each",
        "import": "enqueue jobs from such lines",
        "backup": "copy the database of a server, with state and history",
        "restore": "put such a copy back, while no server runs",
    },
    "Programs": {
        "server": "run a job server (ojs-server)",
        "worker": "run a worker (ojs-worker)",
        "conformance": "judge a server or a worker (ojs-conformance)",
        "ui": "serve the dashboard of any server",
        "completion": "print the completion of a shell: bash, zsh, fish",
    },
}
HELP: Final = """Works with a server of Open Job Spec: `ojs NOUN [VERB] [TARGET…] [FILTER…]`.

A FILTER is NAME:VALUE, such as state:retryable queue:mail type:mail.* since:1h.
"""
EPILOG: Final = """\b
The server is --url, else --server, else OJS_URL or OJS_SERVER, else the one that the
file of servers (OJS_SERVERS, ~/.config/ojs/servers.toml) names; its key is OJS_AUTH_TOKEN
or stands in that file.

\b
Exit codes: 0 done, 1 refused, 2 wrong usage, 3 not as asked for, 4 no or wrong key,
5 not found, 6 conflict, 7 part done, 8 server not reachable, 130 interrupted.
"""


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None:
        context.ensure_object(Session).given[str(parameter.name)] = value


def _everywhere(*, hidden: bool) -> list[click.Option]:
    """The options that stand anywhere on the line."""
    kept: dict[str, Any] = {"expose_value": False, "callback": _keep, "hidden": hidden}
    return [
        click.Option(["--url"], metavar="URL", help="the server's address", **kept),
        click.Option(["--server"], metavar="NAME", help="a server of the file", **kept),
        click.Option(
            ["-o", "--output"], type=click.Choice(FORMS), help="the form of the answer", **kept
        ),
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
