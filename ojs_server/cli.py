"""The command `ojs-server`: start the server, or migrate its database."""

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ojs_server import __version__
from ojs_server.app import Server, socket_server_of, tracing_of
from ojs_server.domain.profile import Profile
from ojs_server.domain.suggestions import nearest
from ojs_server.environment import Environment, machine
from ojs_server.logs import set_up
from ojs_server.server import serve
from ojs_server.settings import (
    CONFIG_ENV,
    KEYS_ENV,
    NO_MIGRATE_ENV,
    TABLE,
    Setting,
    SettingError,
    Settings,
    load_settings,
    value_of,
)
from ojs_server.store.base import SchemaError, Store, StoreUnavailable
from ojs_server.store.open import open_store
from ojs_wire.help import HelpFormatter
from ojs_wire.values import format_duration

if TYPE_CHECKING:
    from ojs_server.grpc.serving import GrpcServer

log = logging.getLogger("ojs.server")

DESCRIPTION = """\
A job server for the Open Job Spec.

Without options it listens on http://127.0.0.1:8080 and keeps its jobs in ./ojs.db,
an SQLite file that it creates. Every answer leaves after its change is on disk.
For more than one server, name a PostgreSQL database; start as many servers on it as you like.
"""
EPILOG = f"""\
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 after a clean stop, 1 when it could not run, 2 for a
    wrong setting."""
    parser = make_parser()
    _refuse_unknown(parser, sys.argv[1:] if arguments is None else arguments)
    given = vars(parser.parse_args(arguments))
    command = given.pop("command")
    try:
        settings = load_settings(given)
    except SettingError as error:
        print(f"ojs-server: {error}", file=sys.stderr)
        return 2
    if settings.webhook_ca is not None:
        from ojs_server.webhooks.posting import trusted

        try:
            trusted(settings.webhook_ca)
        except OSError as error:
            print(f"ojs-server: webhook_ca: {settings.webhook_ca}: {error}", file=sys.stderr)
            return 2
    set_up(settings.log_format, settings.log_level)
    environment = machine()
    try:
        store = open_store(
            settings.database,
            environment=environment,
            migrations=settings.migrate or command == "migrate",
            listen_url=settings.listen_url,
        )
    except (StoreUnavailable, SchemaError, ValueError) as error:
        print(f"ojs-server: {error}", file=sys.stderr)
        return 1
    if command == "migrate":
        store.close()
        print(f"ojs-server: the schema of {store.location} is up to date")
        return 0
    return _serve(settings, store, environment)


def _serve(settings: Settings, store: Store, environment: Environment) -> int:
    try:
        tracing = tracing_of(settings)
        server = Server(settings, store, environment, tracing, socket_server_of(settings))
        beside = _grpc(settings)
    except ImportError as error:
        store.close()
        print(f"ojs-server: {error}", file=sys.stderr)
        return 2

    def announce() -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"http://{host}:{server.ports.http}"
        if server.ports.grpc is not None:
            print(f"ojs-server {__version__} serves gRPC on {host}:{server.ports.grpc}")
        print(
            f"ojs-server {__version__} listens on {url}\n"
            f"  jobs are kept in {store.location} ({store.kind})\n"
            f"  profile {settings.profile_name}: {_cascade(settings.profile)}\n"
            f"  manifest {url}/ojs/manifest · health {url}/ojs/v1/health · metrics {url}/metrics",
            flush=True,
        )
        if settings.conformance:
            log.warning("conformance hooks are on: any client of the admin API can delete all jobs")
        for warning in store.durability_warnings():
            log.warning("%s", warning)

    try:
        return serve(server, settings, announce, beside)
    finally:
        if tracing is not None:
            tracing.close()


def _grpc(settings: Settings) -> "GrpcServer | None":
    """Return the gRPC server where a port is asked for or the profile's clients look for one."""
    asked, usual = settings.grpc_port, settings.profile.grpc_port
    port = usual if asked is None else asked
    if port is None:
        return None
    try:
        # Its dependencies are optional.
        from ojs_server.grpc.serving import GrpcServer
    except ImportError as error:
        if asked is not None:
            raise
        log.warning("gRPC is not served on port %d: %s", port, error)
        return None
    return GrpcServer(port)


def _cascade(profile: Profile) -> str:
    """Describe the time limits for silent workers and stuck jobs, for the start-up log."""
    limits = profile.thresholds
    steps = {
        "dead": profile.dead_after_ms,
        "unreachable": limits.unreachable_ms,
        "offline": limits.offline_ms,
        "stuck": profile.stuck_ms,
        "deleted": limits.deleted_ms,
        "checked every": profile.check_interval_ms,
    }
    return " · ".join(
        f"{name} {format_duration(ms)}" for name, ms in steps.items() if ms is not None
    )


def _refuse_unknown(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    # argparse takes the value behind a misspelt option for the command, and complains of that.
    known = [setting.flag for setting in TABLE] + _OTHER_OPTIONS
    for argument in arguments:
        name = argument.partition("=")[0]
        if name.startswith("--") and name not in known:
            parser.error(f"{name} is not an option{nearest(name, known)}")


_OTHER_OPTIONS: Final = ["--help", "--version", "--config", "--no-migrate"]


# The heads of the help, each before the setting with which its part of the table begins.
SECTIONS: Final[Mapping[str, str]] = {
    "host": "where it listens, and where jobs are kept",
    "conformance": "who may call, and how strictly",
    "log_format": "logs and traces",
    "profile": "profile: the defaults of the settings below, and further routes",
    "max_wait_ms": "bounds",
    "webhook_private": "webhooks",
    "visibility_timeout": "leases, workers and deadlines",
    "late_ack": "rules of jobs",
    "keep_completed": "how long what is over is kept, and how much of it",
}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the options of `ojs-server`."""
    parser = argparse.ArgumentParser(
        prog="ojs-server",
        usage="ojs-server [serve|migrate] [option …]",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
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
        default = _default(defaults, setting)
        text = f"{setting.help}{default}  [{setting.env}]".replace("%", "%%")
        if setting.kind == "flag":
            section.add_argument(setting.flag, action="store_true", default=None, help=text)
        else:
            section.add_argument(
                setting.flag,
                metavar="|".join(setting.choices) or setting.kind.replace("kept", "number").upper(),
                help=text,
            )
    return parser


def _default(defaults: Settings, setting: Setting) -> str:
    """Return the default of a setting as `--help` shows it."""
    value = value_of(defaults, setting)
    if value in (None, False, 0, ()):
        return ""
    if setting.kind in ("duration", "retention"):
        value = format_duration(value)
    return f", default {value}"
