"""Open and configure connections from a database URL."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict, timeout_from_conninfo

from ojs_server.store.errors import StoreUnavailable, StoreUnreachable
from ojs_server.store.postgres import arrays
from ojs_server.store.postgres.bounded import ANSWER_S, BoundedConnection
from ojs_server.store.postgres.failures import first_line
from ojs_server.store.postgres.statements import STATEMENTS

# A server that is gone is noticed within seconds, at the start and later.
_DEFAULTS: Final[dict[str, Any]] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "ojs-server",
    "client_encoding": "UTF8",
    # Nothing can be stored at a standby, and what is read there may be old.
    "target_session_attrs": "read-write",
}
# Of several hosts each has less time, so that one that is silent keeps nobody from the others.
_SEVERAL: Final[dict[str, Any]] = {"connect_timeout": 3}
# Said for each session where nothing stands between us and the database; a transaction says
# it again for itself. The URL may ask for other limits, but not for less than a durable commit.
_LIMITS: Final = "-c statement_timeout=30s -c lock_timeout=4s"
# Short statements over and over: to compile one takes longer than to carry it out.
_FIXED: Final = "-c synchronous_commit=on -c jit=off"
# Options of every connection but the listening one.
DRIVER: type[BoundedConnection] = BoundedConnection
_SWITCH: Final = {"true": True, "1": True, "false": False, "0": False}


class Address(msgspec.Struct, frozen=True):
    """The location of the database, and the connection settings."""

    parameters: dict[str, Any]
    prepare: bool
    location: str
    # Time limit for an answer of the database.
    answer_s: float
    # True if the other end may be a connection pooler, which keeps no session state.
    pooled: bool = False

    def connect(self, within_s: float | None = None) -> BoundedConnection:
        """Open a connection in autocommit mode: transactions are begun and ended by statements.

        All hosts together are given `within_s`, by default as long as an answer may take; each has
        two seconds at least. Raise StoreUnreachable if none takes the connection.
        """
        within_s = self.answer_s if within_s is None else within_s
        share = max(1, int(within_s / _hosts_in(self.parameters)))
        limit = min(timeout_from_conninfo(self.parameters), share)
        parameters = {**self.parameters, "connect_timeout": limit}
        try:
            connection = DRIVER.connect(**parameters, **self.driver_settings())
        except psycopg.OperationalError as error:
            raise StoreUnreachable(first_line(error)) from error
        try:
            self.set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def connect_s(self) -> float:
        """Return the maximum number of seconds to try all hosts."""
        return _hosts_in(self.parameters) * timeout_from_conninfo(self.parameters)

    def set_up(self, connection: BoundedConnection) -> None:
        """Make a new connection ready."""
        arrays.register(connection)
        connection.patience_s = self.answer_s
        if not self.pooled:
            connection.execute(STATEMENTS["watch_client"].sql.encode())

    def driver_settings(self) -> dict[str, Any]:
        """Return the settings of the driver."""
        return {"autocommit": True, "prepare_threshold": 5 if self.prepare else None}


def address_of(url: str, *, pooled: bool = False, answer_s: float = ANSWER_S) -> Address:
    """Parse a database URL. `?prepare=false` turns prepared statements off.

    With `pooled` there may be a connection pooler at the other end, which keeps no sessions.
    """
    place, _, query = url.partition("?")
    pairs = [pair for pair in query.split("&") if pair]
    ours = [pair for pair in pairs if pair.partition("=")[0] == "prepare"]
    kept = "&".join(pair for pair in pairs if pair not in ours)
    prepare = not pooled
    for pair in ours:
        word = pair.partition("=")[2].lower()
        if word not in _SWITCH:
            raise StoreUnavailable(f"prepare={word} in the database URL must be true or false")
        prepare = _SWITCH[word]
    try:
        given = conninfo_to_dict(f"{place}?{kept}")
    except psycopg.ProgrammingError as error:
        raise StoreUnavailable(f"cannot understand the database URL: {error}") from error
    options = given.pop("options", None)
    session = (options,) if pooled else (_LIMITS, options, _FIXED)
    text = " ".join(str(part) for part in session if part)
    several = _SEVERAL if _hosts_in(given) > 1 else {}
    parameters = {**_DEFAULTS, **several, **given, **({"options": text} if text else {})}
    return Address(parameters, prepare, _without_password(given), answer_s, pooled)


def plan_by_index(connection: psycopg.Connection[Any], *, local: bool) -> None:
    """Set up the planner for the session, or for the transaction that runs."""
    connection.execute(STATEMENTS["plan_by_index"].sql.encode(), {"local": local})


def _hosts_in(parameters: Mapping[str, Any]) -> int:
    named = str(parameters.get("host") or parameters.get("hostaddr") or "")
    return named.count(",") + 1


def _without_password(given: dict[str, Any]) -> str:
    host, port, name = (given.get(key, "") for key in ("host", "port", "dbname"))
    if host.startswith("/"):
        return f"postgresql:///{name}?host={host}{'&port=' if port else ''}{port}"
    return f"postgresql://{host}{':' if port else ''}{port}/{name}"
