"""The command `ojs-server`: start the server, or migrate its database."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ojs_server import __version__
from ojs_server.app import Server, tracing_of
from ojs_server.domain.profile import Profile
from ojs_server.environment import Environment, machine
from ojs_server.loops.opening import open_in_time, opens
from ojs_server.observe.logs import set_up
from ojs_server.options import make_parser, refuse_unknown
from ojs_server.server import serve
from ojs_server.settings import SettingError, Settings, load_settings
from ojs_server.store.base import SchemaError, Store, StoreUnavailable
from ojs_server.store.open import open_store
from ojs_server.systems.system import System
from ojs_wire.values import format_duration

if TYPE_CHECKING:
    from ojs_server.grpc.serving import GrpcServer

log = logging.getLogger("ojs.server")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 after a clean stop, 1 when it could not run, 2 for a
    wrong setting, 3 when an address is taken."""
    parser = make_parser()
    refuse_unknown(parser, sys.argv[1:] if arguments is None else arguments)
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
            answer_s=settings.store_timeout_ms / 1000,
            at_once=False,
        )
        if not opens(store) and command == "migrate":
            asyncio.run(open_in_time(store, environment, settings.start_timeout_ms / 1000))
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
        server = Server(settings, store, environment, tracing)
        grpc_server = _grpc(settings, server.system)
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
        if store.is_open:
            server.warn_of_durability()

    try:
        code = serve(server, announce, grpc_server)
        if server.failure is not None:
            print(f"ojs-server: {server.failure}", file=sys.stderr)
        return code
    finally:
        if tracing is not None:
            tracing.close()


def _grpc(settings: Settings, system: System) -> "GrpcServer | None":
    """Return the gRPC server where a port is asked for or the profile's clients look for one."""
    chosen, usual = settings.grpc_port, settings.profile.grpc_port
    port = usual if chosen is None else chosen
    if port is None:
        return None
    try:
        # Optional dependencies.
        from ojs_server.grpc.serving import GrpcServer
    except ImportError as error:
        if chosen is not None:
            raise
        log.warning("gRPC is not served on port %d: %s", port, error)
        return None
    return GrpcServer(port, system.services())


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
