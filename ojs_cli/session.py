"""The session of a command: the options given anywhere on the line, the server, the output."""

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ojs_cli.output import Output
    from ojs_cli.server import Server
    from ojs_worker.config import Config
    from ojs_worker.environment import Environment
    from ojs_worker.servers import NamedServer

CONFIRM_OVER = 100
# Deadline of calls: short, because a person waits.
DEADLINE_S = 3.0


class Session:
    """One run of the command."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.given: dict[str, Any] = {}
        self._at_end: list[Callable[[], None]] = []

    def close(self) -> None:
        """Close what was opened."""
        for close in self._at_end:
            close()

    @cached_property
    def config(self) -> "Config":
        """The URL of the server and the key for it, from flags, environment or file."""
        from ojs_worker.settings import CONNECTION, load

        flags: dict[str, Any] = {
            name: self.given[name] for name in ("url", "server") if name in self.given
        }
        return load(flags, {}, self.environ, only=CONNECTION)

    @cached_property
    def named(self) -> "NamedServer | None":
        """The entry of the server in the file of servers; None if it has none."""
        from ojs_worker import servers

        name = self.config.server
        return None if name is None else servers.read(self.environ).servers.get(name)

    @cached_property
    def server(self) -> "Server":
        """The server that is meant."""
        from ojs_cli.server import Server
        from ojs_worker.settings import deadline_of
        from ojs_worker.transport.over_http_client import blocking_transport_to
        from ojs_worker.transport.tls import tls_of

        config = self.config
        try:
            transport = blocking_transport_to(config.url, config.auth_token, tls_of(config))
        except ValueError as error:
            from ojs_cli.failures import MISUSED, Failure

            hint = f"write http://{config.url}" if "://" not in config.url else ""
            raise Failure(str(error), hint, exit_code=MISUSED) from None
        self._at_end.append(transport.close)
        read_only = config.server if self.named is not None and self.named.read_only else None
        # The environment takes precedence over the default of the command.
        deadline_s = deadline_of({}, {"OJS_DEADLINE": str(DEADLINE_S), **self.environ})
        return Server(
            transport,
            config.url,
            read_only=read_only,
            deadline_s=deadline_s,
            environment=self.environment,
        )

    @cached_property
    def environment(self) -> "Environment":
        """The clocks and ids of this machine."""
        from ojs_worker.environment import machine

        return machine()

    @cached_property
    def output(self) -> "Output":
        """The output, in the form that the options ask for."""
        from ojs_cli.output import Output, colours

        choice = self.given.get("color", "auto")
        form = self.given.get("output", "table")
        return Output(
            form,
            sys.stdout,
            colours(sys.stdout, choice, self.environ),
            now_ms=self.environment.wall_ms,
            width=self.environ.get("COLUMNS"),
            fields=self.given.get("fields", ()),
        )

    @property
    def confirm_over(self) -> int:
        """The largest number of jobs that may be changed after a plain yes."""
        over = None if self.named is None else self.named.confirm_over
        return CONFIRM_OVER if over is None else over
