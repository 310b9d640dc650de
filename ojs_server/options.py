"""The options of `ojs-server`, and their help: short, or with all settings."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_server import __version__
from ojs_server.domain.suggestions import nearest
from ojs_server.settings import (
    CONFIG_ENV,
    KEYS_ENV,
    NO_MIGRATE_ENV,
    TABLE,
    Setting,
    Settings,
    value_of,
)
from ojs_wire.help import HelpFormatter
from ojs_wire.values import format_duration

DESCRIPTION: Final = """\
A job server for the Open Job Spec.

Without options it listens on http://127.0.0.1:8080 and keeps its jobs in ./ojs.db,
an SQLite file that it creates. Every answer leaves after its change is on disk.
For more than one server, name a PostgreSQL database; start as many servers on it as you like.
"""
MORE: Final = f"""\
These are the most common of {len(TABLE)} settings; ojs-server --help-all lists all.

"""
EPILOG: Final = f"""\
Every option can be set by the environment variable in brackets, or in a TOML file (--config or
{CONFIG_ENV}) under the option's name with underscores. Flags win over the environment, the
environment over the file. Keys are not taken from flags, which every user of the machine can
read: {KEYS_ENV}=role:KEY,name=role:KEY or the file's [keys] table; roles: viewer, producer, worker,
operator, admin.

examples:
  ojs-server
  ojs-server --port 9000 --database /var/lib/ojs/jobs.db
  ojs-server --database postgresql://ojs@localhost/ojs
  ojs-server migrate --database postgresql://ojs@localhost/ojs
"""
# Section headings of the help, each before the first setting of its section.
SECTIONS: Final[Mapping[str, str]] = {
    "host": "where it listens, and where jobs are kept",
    "conformance": "who may call, and how strictly",
    "log_format": "logs and traces",
    "profile": "profile: defaults of other settings, and further routes",
    "max_wait_ms": "bounds",
    "webhook_private": "webhooks",
    "login_lifetime": "the dashboard",
    "visibility_timeout": "leases, workers and deadlines",
    "late_ack": "rules of jobs",
    "keep_completed": "how long what is over is kept, and how much of it",
}
# The settings of the short help.
COMMON: Final = ("host", "port", "database", "insecure", "log_level", "profile")
_OTHER_OPTIONS: Final = ["--help", "--help-all", "--version", "--config", "--no-migrate"]


class HelpAll(argparse.Action):
    """Prints the help with all settings."""

    def __init__(self, option_strings: Sequence[str], dest: str, **given: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **given)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print it and end."""
        make_parser(TABLE).print_help()
        parser.exit()


def make_parser(shown: Sequence[Setting] | None = None) -> argparse.ArgumentParser:
    """Return the parser of `ojs-server`; its help shows these settings, by default the common."""
    if shown is None:
        shown = [setting for setting in TABLE if setting.name in COMMON]
    parser = argparse.ArgumentParser(
        prog="ojs-server",
        usage="ojs-server [serve|migrate] [option …]",
        description=DESCRIPTION,
        epilog=EPILOG if len(shown) == len(TABLE) else MORE + EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--help-all", action=HelpAll, help="show all settings and exit")
    parser.add_argument("--version", action="version", version=f"ojs-server {__version__}")
    parser.add_argument(
        "command",
        nargs="?",
        choices=("serve", "migrate"),
        default="serve",
        help="serve (the default), or migrate: bring the database to this version's schema",
    )
    parser.add_argument("--config", metavar="FILE", help=f"TOML file with settings  [{CONFIG_ENV}]")
    parser.add_argument(
        "--no-migrate",
        action="store_true",
        default=None,
        help=f"refuse to start on an older schema instead of migrating it  [{NO_MIGRATE_ENV}]",
    )
    defaults = Settings()
    section = parser.add_argument_group("other settings")
    for setting in TABLE:
        if setting.name in SECTIONS:
            section = parser.add_argument_group(SECTIONS[setting.name])
        text = _help(defaults, setting) if setting in shown else argparse.SUPPRESS
        if setting.kind == "flag":
            section.add_argument(setting.flag, action="store_true", default=None, help=text)
        else:
            section.add_argument(
                setting.flag,
                metavar="|".join(setting.choices) or setting.kind.replace("kept", "number").upper(),
                help=text,
            )
    return parser


def refuse_unknown(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """End with the option that is near a misspelt one."""
    # argparse would take the value behind a misspelt option for the command, and report that.
    known = [setting.flag for setting in TABLE] + _OTHER_OPTIONS
    for argument in arguments:
        name = argument.partition("=")[0]
        if name.startswith("--") and name not in known:
            parser.error(f"{name} is not an option{nearest(name, known)}")


def _help(defaults: Settings, setting: Setting) -> str:
    return f"{setting.help}{_default(defaults, setting)}  [{setting.env}]".replace("%", "%%")


def _default(defaults: Settings, setting: Setting) -> str:
    """Return the default of a setting as the help shows it."""
    value = value_of(defaults, setting)
    if value in (None, False, 0, ()):
        return ""
    if setting.kind in ("duration", "retention"):
        value = format_duration(value)
    return f", default {value}"
