"""The tables of the outbox: the statements that create them, for a migration or a program."""

from typing import Final

from ojs_worker.connections import Dialect

TABLE: Final = "ojs_outbox"
# One row, which says which relay sends now.
LEASE_TABLE: Final = "ojs_outbox_relay"

_POSTGRESQL: Final = (
    """\
CREATE TABLE ojs_outbox (
    id bigserial PRIMARY KEY,
    job_id uuid NOT NULL,
    job_type text NOT NULL,
    job_args jsonb NOT NULL,
    job_options jsonb NOT NULL DEFAULT '{}',
    status text NOT NULL DEFAULT 'pending',
    created_at timestamptz NOT NULL DEFAULT now(),
    sent_at timestamptz,
    error text
)""",
    """\
CREATE TABLE ojs_outbox_relay (
    id integer PRIMARY KEY,
    holder text NOT NULL,
    expires_ms bigint NOT NULL
)""",
)
# JSON stays the text that it was written as: MySQL's own type would round large numbers.
_MYSQL: Final = (
    """\
CREATE TABLE ojs_outbox (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    job_id char(36) CHARACTER SET ascii NOT NULL,
    job_type varchar(255) NOT NULL,
    job_args longtext NOT NULL CHECK (json_valid(job_args)),
    job_options longtext NOT NULL DEFAULT ('{}') CHECK (json_valid(job_options)),
    status varchar(16) NOT NULL DEFAULT 'pending',
    created_at datetime(6) NOT NULL DEFAULT (utc_timestamp(6)),
    sent_at datetime(6),
    error text
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin""",
    """\
CREATE TABLE ojs_outbox_relay (
    id integer PRIMARY KEY,
    holder char(36) CHARACTER SET ascii NOT NULL,
    expires_ms bigint NOT NULL
) ENGINE = InnoDB""",
)
# Ids are never used again, so that the order of rows stays that of their ids.
_SQLITE: Final = (
    """\
CREATE TABLE ojs_outbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    job_id text NOT NULL,
    job_type text NOT NULL,
    job_args text NOT NULL CHECK (json_valid(job_args)),
    job_options text NOT NULL DEFAULT '{}' CHECK (json_valid(job_options)),
    status text NOT NULL DEFAULT 'pending',
    created_at text NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    sent_at text,
    error text
)""",
    """\
CREATE TABLE ojs_outbox_relay (
    id integer PRIMARY KEY,
    holder text NOT NULL,
    expires_ms integer NOT NULL
)""",
)
# Pending rows are read by id, failed ones are counted, and sent ones are pruned by their time.
_INDEXES: Final = (
    "CREATE INDEX ojs_outbox_pending ON ojs_outbox (status, id)",
    "CREATE INDEX ojs_outbox_sent ON ojs_outbox (sent_at)",
)
_TABLES: Final = {"postgresql": _POSTGRESQL, "mysql": _MYSQL, "sqlite": _SQLITE}


def statements(dialect: Dialect) -> tuple[str, ...]:
    """Return the statements that create the outbox; `mysql` is also for MariaDB."""
    if dialect not in _TABLES:
        raise ValueError(f"{dialect!r} is none of {', '.join(_TABLES)}")
    return (*_TABLES[dialect], *_INDEXES)


def undo() -> tuple[str, ...]:
    """Return the statements that drop the outbox, for the way back of a migration."""
    return (f"DROP TABLE {LEASE_TABLE}", f"DROP TABLE {TABLE}")
