"""The rows of an outbox: statements that run on each of the databases, every method with a
transaction of its own. None lasts while a server is called."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

import msgspec

from ojs_worker.client.requests import JobRequest
from ojs_worker.connections import Dialect
from ojs_worker.outbox.tables import LEASE_TABLE, TABLE, statements

try:
    import sqlalchemy as sa
except ImportError as missing:
    raise ImportError(
        "the relay needs SQLAlchemy: pip install 'ojs-reference[outbox]'"
    ) from missing

# An engine of SQLAlchemy, and the base class of the errors of its databases.
Engine = sa.Engine
DatabaseError = sa.exc.SQLAlchemyError
PENDING: Final = "pending"
SENT: Final = "sent"
FAILED: Final = "failed"
# The queue of a job that names none.
DEFAULT_QUEUE: Final = "default"
MAX_ERROR: Final = 2000
# Most rows that one statement deletes.
PRUNED: Final = 1000
# Drivers for URLs that name none.
_DRIVERS: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
_OUTBOX: Final = sa.table(
    TABLE,
    sa.column("id", sa.BigInteger),
    sa.column("job_id", sa.String),
    sa.column("job_type", sa.String),
    sa.column("job_args", sa.JSON),
    sa.column("job_options", sa.JSON),
    sa.column("status", sa.String),
    sa.column("created_at", sa.DateTime(timezone=True)),
    sa.column("sent_at", sa.DateTime(timezone=True)),
    sa.column("error", sa.String),
)
_LEASE: Final = sa.table(
    LEASE_TABLE,
    sa.column("id", sa.Integer),
    sa.column("holder", sa.String),
    sa.column("expires_ms", sa.BigInteger),
)
_QUEUE: Final = sa.func.coalesce(_OUTBOX.c.job_options["queue"].as_string(), DEFAULT_QUEUE)


class Row(msgspec.Struct, frozen=True):
    """A row that waits: its number, and its job as it was written, in JSON."""

    id: int
    job_id: str
    job_type: str
    job_args: str
    job_options: str
    queue: str

    def request(self) -> JobRequest:
        """Return the request of its job; raises ValueError for what is none."""
        args = msgspec.json.decode(self.job_args, type=list[Any])
        options = msgspec.json.decode(self.job_options, type=dict[str, Any])
        return JobRequest(
            id=self.job_id,
            type=self.job_type,
            args=args,
            meta=msgspec.convert(options.pop("meta", {}), dict[str, Any]),
            schema=msgspec.convert(options.pop("schema", None), str | None),
            options=options,
        )


class Failure(msgspec.Struct, frozen=True):
    """A row whose job was refused."""

    id: int
    job_id: str
    job_type: str
    error: str


class Figures(msgspec.Struct, frozen=True):
    """The rows of an outbox, counted: those that wait, with the time of the oldest, and those that
    failed."""

    pending: int = 0
    oldest: datetime | None = None
    failed: int = 0

    def lag_s(self, now: datetime) -> float:
        """Return the age of the oldest row that waits, in seconds."""
        return 0.0 if self.oldest is None else max(0.0, (now - self.oldest).total_seconds())


def open_database(url: str) -> Engine:
    """Return the engine for a URL of SQLAlchemy; raises ValueError for one that cannot be used."""
    try:
        parsed = sa.make_url(url)
        driver = _DRIVERS.get(parsed.drivername, parsed.drivername)
        engine = sa.create_engine(
            parsed.set(drivername=driver), pool_pre_ping=True, hide_parameters=True
        )
    except sa.exc.ArgumentError as error:
        raise ValueError(f"the outbox's database: {error}") from None
    if engine.dialect.is_async:
        raise ValueError(
            f"the relay works with blocking drivers, which {driver} is not; leave it out of the URL"
        )
    return engine


class Rows:
    """The rows of one outbox. Its methods block."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def place(self) -> str:
        """The URL of the database, without its password."""
        return self._engine.url.render_as_string(hide_password=True)

    def create(self) -> None:
        """Create the tables."""
        name = self._engine.dialect.name
        dialect = cast(Dialect, "mysql" if name == "mariadb" else name)
        with self._engine.begin() as connection:
            for statement in statements(dialect):
                # Without values, drivers leave percent signs as they are.
                connection.exec_driver_sql(statement)

    def waiting(self, limit: int, without: Collection[str] = ()) -> list[Row]:
        """Return the first rows that wait, in the order of their ids, without those of some
        queues."""
        columns = _OUTBOX.c
        query = sa.select(
            columns.id,
            columns.job_id,
            columns.job_type,
            sa.cast(columns.job_args, sa.Text),
            sa.cast(columns.job_options, sa.Text),
            _QUEUE,
        ).where(columns.status == PENDING)
        if without:
            query = query.where(_QUEUE.not_in(without))
        with self._engine.begin() as connection:
            found = connection.execute(query.order_by(columns.id).limit(limit)).all()
        return [Row(number, str(job_id), *texts) for number, job_id, *texts in found]

    def mark_sent(self, ids: Sequence[int], now: datetime) -> None:
        """Mark rows whose jobs the server has. One that another relay saw refused is one of
        these, too, for the job is there."""
        self._mark(ids, (PENDING, FAILED), status=SENT, sent_at=now, error=None)

    def mark_failed(self, number: int, error: str) -> None:
        """Mark a row whose job the server refuses."""
        self._mark([number], (PENDING,), status=FAILED, error=error[:MAX_ERROR])

    def _mark(self, ids: Sequence[int], states: Sequence[str], **values: Any) -> None:
        change = (
            sa.update(_OUTBOX)
            .where(_OUTBOX.c.id.in_(ids), _OUTBOX.c.status.in_(states))
            .values(**values)
        )
        with self._engine.begin() as connection:
            connection.execute(change)

    def retry(self, ids: Sequence[int] | None) -> int:
        """Let rows that failed wait again, all of them or those of some ids; return their
        number."""
        change = sa.update(_OUTBOX).where(_OUTBOX.c.status == FAILED)
        if ids is not None:
            change = change.where(_OUTBOX.c.id.in_(ids))
        with self._engine.begin() as connection:
            return connection.execute(change.values(status=PENDING, error=None)).rowcount

    def failures(self, limit: int) -> list[Failure]:
        """Return the first rows that failed."""
        columns = _OUTBOX.c
        query = (
            sa.select(columns.id, columns.job_id, columns.job_type, columns.error)
            .where(columns.status == FAILED)
            .order_by(columns.id)
            .limit(limit)
        )
        with self._engine.begin() as connection:
            found = connection.execute(query).all()
        return [Failure(number, str(job_id), *texts) for number, job_id, *texts in found]

    def prune(self, before: datetime) -> None:
        """Delete rows that were sent before a moment."""
        columns = _OUTBOX.c
        old = (
            sa.select(columns.id)
            .where(columns.sent_at < before, columns.status == SENT)
            .limit(PRUNED)
        )
        while True:
            with self._engine.begin() as connection:
                ids = connection.execute(old).scalars().all()
                if ids:
                    connection.execute(sa.delete(_OUTBOX).where(columns.id.in_(ids)))
            if len(ids) < PRUNED:
                return

    def figures(self) -> Figures:
        """Count the rows."""
        columns = _OUTBOX.c
        counted = (
            sa.select(columns.status, sa.func.count())
            .where(columns.status.in_((PENDING, FAILED)))
            .group_by(columns.status)
        )
        first = sa.select(columns.created_at).where(columns.status == PENDING)
        with self._engine.begin() as connection:
            found = {row[0]: row[1] for row in connection.execute(counted)}
            oldest = connection.execute(first.order_by(columns.id).limit(1)).scalar()
        return Figures(
            found.get(PENDING, 0), None if oldest is None else _aware(oldest), found.get(FAILED, 0)
        )

    def hold_lease(self, holder: str, now_ms: int, lasting_ms: int) -> bool:
        """Take or keep the lease of the relay that sends; False if another one has it."""
        columns = _LEASE.c
        expires_ms = now_ms + lasting_ms
        try:
            with self._engine.begin() as connection:
                held = connection.execute(sa.select(columns.holder, columns.expires_ms)).first()
                if held is None:
                    values = {"id": 1, "holder": holder, "expires_ms": expires_ms}
                    connection.execute(sa.insert(_LEASE).values(values))
                    return True
                if held.holder == holder and held.expires_ms - now_ms > lasting_ms // 2:
                    return True
                if held.holder != holder and held.expires_ms > now_ms:
                    return False
                change = (
                    sa.update(_LEASE)
                    .where(columns.holder == held.holder, columns.expires_ms == held.expires_ms)
                    .values(holder=holder, expires_ms=expires_ms)
                )
                return connection.execute(change).rowcount == 1
        except sa.exc.IntegrityError:
            # Another relay was the first.
            return False

    def release_lease(self, holder: str) -> None:
        """Return the lease."""
        change = sa.update(_LEASE).where(_LEASE.c.holder == holder).values(expires_ms=0)
        with self._engine.begin() as connection:
            connection.execute(change)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def _aware(moment: datetime) -> datetime:
    # Databases without time zones have UTC.
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
