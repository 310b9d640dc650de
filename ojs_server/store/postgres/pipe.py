"""The writing connection, in pipeline mode: deferred statements are sent with the next query.

A round trip costs this process, the database and the machine more than most statements do. So a
transaction sends its writes ahead, and checks their results with the next answer that it needs, at
the latest with the answer to COMMIT.
"""

import select
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from struct import Struct
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

import msgspec
import psycopg
from psycopg import errors
from psycopg.adapt import Transformer
from psycopg.errors import Diagnostic
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, Format
from psycopg.pq.abc import PGresult

from ojs_server.store.postgres.bounded import ANSWER_S, give_up
from ojs_server.store.postgres.silence import GIVEN_UP_S
from ojs_server.store.postgres.statements import Statement

Connection = psycopg.Connection[tuple[Any, ...]]
# By the names in the statement; or in their order, spelled already.
Bound = Mapping[str, Any] | Sequence[bytes]
Rows = list[tuple[Any, ...]]
# Looks at the answer to a statement, once it is there.
Look = Callable[[PGresult], None]

# Most prepared statements; only claims with many job types make so many.
MAX_PREPARED: Final = 300
_FATAL: Final = (b"FATAL", b"PANIC")
# A plan whose tables have changed, as by a newer node; a name that means nothing any more.
_OUTDATED: Final = (b"0A000", b"26000")
_WELL: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)

# Goes on while the machine sleeps, where there is one that does.
_stopwatch: Final = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)

_INT8: Final = Struct(">q").pack
_FLOAT8: Final = Struct(">d").pack
_SPELL: Final[dict[type, Callable[[Any], bytes | None]]] = {
    str: str.encode,
    bool: lambda value: b"\1" if value else b"\0",
    int: _INT8,
    float: _FLOAT8,
    bytes: bytes,
    type(None): lambda value: None,
}

# The names of prepared statements by connection, for as long as the connection exists.
_prepared: WeakKeyDictionary[Connection, dict[Statement, bytes]] = WeakKeyDictionary()
_numbers: Final = count()


class _Sent(msgspec.Struct, frozen=True):
    """A statement that was sent, or the request to prepare one, and the handler of its answer."""

    look: Look | None = None
    prepares: Statement | None = None
    # The table of each of its parts that changes rows; if it is one, the row count is that part's.
    changes: tuple[str, ...] = ()


class Pipe:
    """The statements of one transaction, on a connection of its own."""

    def __init__(
        self, connection: Connection, *, prepare: bool, patience_s: float = ANSWER_S
    ) -> None:
        self._connection = connection
        self._pg = connection.pgconn
        self._sent: deque[_Sent] = deque()
        self._ended = False
        # True if the database may hold back the answers to the last statements.
        self._quiet = False
        self._fatal = False
        self._changed = False
        self._warning: str | None = None
        self._patience_s = patience_s
        self._prepare = prepare
        self._prepared = _prepared.setdefault(connection, {})
        self._rows = Transformer(connection)
        self._last_receive = _stopwatch()
        self._pg.enter_pipeline_mode()

    @property
    def lives(self) -> bool:
        """True if the database still answers, so that the connection can be used after an error."""
        return self._pg.status == ConnStatus.OK and not self._fatal

    @property
    def changed(self) -> bool:
        """True if a statement changed rows, or one that is still unanswered may have."""
        return self._changed or any(sent.changes for sent in self._sent)

    @property
    def peer(self) -> str:
        """Return the host and port of the database as configured."""
        return f"{self._pg.host.decode()}:{self._pg.port.decode()}"

    def send(self, statement: Statement, bound: Bound, look: Look | None = None) -> None:
        """Send a statement; its answer is checked later."""
        values = (
            [_spelled(bound[name]) for name in statement.parameters]
            if isinstance(bound, Mapping)
            else bound
        )
        formats = [Format.BINARY] * len(values)
        name = self._prepared_as(statement) if self._prepare else None
        if name is None:
            self._pg.send_query_params(statement.text, values, None, formats, Format.BINARY)
        else:
            self._pg.send_query_prepared(name, values, formats, Format.BINARY)
        self._sent.append(_Sent(look, None, statement.changes))
        self._quiet = True

    def rows(self, statement: Statement, bound: Bound) -> Rows:
        """Run a statement, and return its rows."""
        self.send(statement, bound)
        return self._loaded(self._last())

    def touched(self, statement: Statement, bound: Bound) -> int:
        """Run a statement, and return the number of rows it changed."""
        self.send(statement, bound)
        return touched(self._last())

    def ask(self, statement: Statement, bound: Bound) -> Callable[[], Rows]:
        """Send a statement; the returned function waits for its rows and returns them."""
        found: list[Rows] = []
        self.send(statement, bound, lambda result: found.append(self._loaded(result)))

        def received() -> Rows:
            while not found:
                self._answer()
            return found[0]

        return received

    def look(self) -> None:
        """Wait for the answers that are to be checked, which must happen before the COMMIT."""
        self._require_no_gap()
        if any(sent.look is not None for sent in self._sent):
            self._last()

    def commit(self) -> str | None:
        """Commit, or raise the error of an earlier statement.

        Return a warning of the database, if any: then the commit may not be as durable as
        configured, as when its wait for a standby was interrupted.
        """
        self._connection.add_notice_handler(self._noticed)
        try:
            result = self._send_simple(b"COMMIT")
        finally:
            self._connection.remove_notice_handler(self._noticed)
        if result.command_status != b"COMMIT":
            raise errors.PipelineAborted("the transaction was rolled back")
        self._leave()
        return self._warning

    def _noticed(self, notice: Diagnostic) -> None:
        # Of statements before the COMMIT, warnings mean nothing here.
        if len(self._sent) <= 1 and notice.severity_nonlocalized == "WARNING":
            self._warning = notice.message_primary or "a warning without a message"

    def roll_back(self) -> None:
        """Roll back, and discard the answers that are still to come."""
        if not self._ended:
            self._end()
        while self._sent:
            self._forget(self._sent.popleft())
            self._result()
        self._require_sync()
        self._send_simple(b"ROLLBACK")
        self._leave()

    def _send_simple(self, word: bytes) -> PGresult:
        """Run a statement without preparing it, and wait for its answer and all before it."""
        self._pg.send_query_params(word, None)
        self._sent.append(_Sent())
        self._end()
        return self._last()

    def _end(self) -> None:
        self._pg.pipeline_sync()
        self._ended, self._quiet = True, False
        self._flush()

    def _leave(self) -> None:
        self._require_sync()
        self._pg.exit_pipeline_mode()

    def _require_sync(self) -> None:
        synced = self._next()
        if synced is None or synced.status != ExecStatus.PIPELINE_SYNC:
            self._lost()

    def _prepared_as(self, statement: Statement) -> bytes | None:
        name = self._prepared.get(statement)
        if name is None and len(self._prepared) < MAX_PREPARED:
            name = self._prepared[statement] = b"ojs_%d" % next(_numbers)
            self._pg.send_prepare(name, statement.text)
            self._sent.append(_Sent(prepares=statement))
        return name

    def _forget(self, sent: _Sent) -> None:
        if sent.prepares is not None:
            self._prepared.pop(sent.prepares, None)

    def _last(self) -> PGresult:
        """Return the answer to the last statement sent, after checking those before it."""
        while True:
            result = self._answer()
            if not self._sent:
                return result

    def _answer(self) -> PGresult:
        """Receive and check the next answer."""
        if self._quiet:
            self._require_no_gap()
            self._pg.send_flush_request()
            self._flush()
            self._quiet = False
        sent = self._sent[0]
        result = self._result()
        if result.status not in _WELL:
            self._refused(result)
        self._sent.popleft()
        if sent.changes and (result.command_tuples or len(sent.changes) > 1):
            self._changed = True
        if sent.look is not None:
            sent.look(result)
        return result

    def _refused(self, result: PGresult) -> NoReturn:
        self._forget(self._sent.popleft())
        self._fatal = result.error_field(DiagnosticField.SEVERITY_NONLOCALIZED) in _FATAL
        if result.error_field(DiagnosticField.SQLSTATE) in _OUTDATED:
            self._prepared.clear()
        if result.status == ExecStatus.PIPELINE_ABORTED:
            raise errors.PipelineAborted("an earlier statement of the transaction had failed")
        if self._pg.status != ConnStatus.OK:
            raise psycopg.OperationalError(result.get_error_message())
        raise errors.error_from_result(result)

    def _lost(self) -> NoReturn:
        # It is unknown which statements the database has carried out.
        self._fatal = True
        raise psycopg.OperationalError("the database sent no answer to a statement")

    def _result(self) -> PGresult:
        """Receive the complete answer to one statement, with its end mark."""
        result = self._next()
        if result is None:
            self._lost()
        if result.status != ExecStatus.FATAL_ERROR or self._pg.status == ConnStatus.OK:
            self._next()
        self._last_receive = _stopwatch()
        return result

    def _next(self) -> PGresult | None:
        while self._pg.is_busy():
            self._wait(select.POLLIN)
        return self._pg.get_result()

    def _require_no_gap(self) -> None:
        """Abandon a transaction that was inactive for so long that other servers may end it."""
        gap_s = _stopwatch() - self._last_receive
        if gap_s > GIVEN_UP_S:
            self._pg.finish()
            raise psycopg.OperationalError(
                f"the server was held up for {gap_s:.0f} s in the middle of a transaction"
            )

    def _flush(self) -> None:
        while self._pg.flush():
            # Read meanwhile: the database stops reading while its answers are not read.
            self._wait(select.POLLIN | select.POLLOUT)

    def _wait(self, events: int) -> None:
        ready = select.poll()
        ready.register(self._pg.socket, events)
        for _, polled in ready.poll(1000 * self._patience_s):
            if polled & ~select.POLLOUT:
                self._pg.consume_input()
            return
        give_up(self._pg, self._patience_s)

    def _loaded(self, result: PGresult) -> Rows:
        self._rows.set_pgresult(result, format=Format.BINARY)
        return self._rows.load_rows(0, result.ntuples, tuple)


def touched(result: PGresult) -> int:
    """Return the number of rows that a statement has changed."""
    return result.command_tuples or 0


def _spelled(value: Any) -> bytes | None:
    """A parameter in binary form; every parameter's type is in its statement."""
    kind = type(value)
    if kind not in _SPELL:
        # A text or number of its own kind is spelled like any.
        _SPELL[kind] = next(spell for like, spell in _SPELL.items() if issubclass(kind, like))
    return _SPELL[kind](value)
