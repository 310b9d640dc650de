"""Functions by which programs enqueue in transactions of their own."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql

from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs.validate import MAX_ENVELOPE, MAX_META, parse_draft
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from ojs_server.store.postgres.staged_floor import WHOLE_EVERY_S, StagedFloor, StagedLook
from ojs_wire.values import UUID7
from tests.store.contract.test_staging import found, take
from tests.store.postgres.server import query

OWN = "0190a0f0-0000-7000-8000-00000000000a"
Connection = psycopg.Connection[Any]


@pytest.fixture
def store(postgres_store: str) -> Iterator[Store]:
    with closing(open_store(postgres_store, node="a")) as store:
        yield store


@pytest.fixture
def program(store: Store, postgres_store: str) -> Iterator[Connection]:
    """A connection of a program, which has a table of its own."""
    with psycopg.connect(postgres_store) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, job uuid)")
        connection.commit()
        yield connection


def enqueue(program: Connection, *given: object) -> str:
    """Enqueue by the function; answers the id."""
    places = ", ".join(["%s"] * len(given))
    row = program.execute(f"SELECT enqueue({places})", given).fetchone()
    assert row is not None
    return str(row[0])


def enqueued(program: Connection, job_id: str) -> Any:
    return program.execute("SELECT * FROM enqueued(%s)", [job_id]).fetchone()


def bodies(store: Store) -> list[dict[str, Any]]:
    with store.reader() as reader:
        return [json.loads(job.body) for job in reader.staged(100)]


def test_a_job_is_there_once_its_row_is(store: Store, program: Connection) -> None:
    job_id = enqueue(program, "mail.send", '["ada"]', '{"queue": "mail"}')
    assert UUID7.fullmatch(job_id)
    program.execute("INSERT INTO orders VALUES (1, %s)", [job_id])
    assert found(store) == []
    assert enqueued(program, job_id) == ("staged", UUID(job_id), None)
    program.commit()
    assert bodies(store) == [{"type": "mail.send", "args": ["ada"], "queue": "mail", "id": job_id}]


def test_a_job_of_a_transaction_that_is_rolled_back_is_none(
    store: Store, program: Connection
) -> None:
    job_id = enqueue(program, "t")
    program.rollback()
    assert (found(store), enqueued(program, job_id)) == ([], None)


def test_a_savepoint_takes_its_jobs_back(store: Store, program: Connection) -> None:
    outer = enqueue(program, "t")
    with program.transaction(force_rollback=True):
        enqueue(program, "t")
    with program.transaction():
        inner = enqueue(program, "t")
    program.commit()
    assert found(store) == [outer, inner]


def test_arguments_are_optional_and_options_may_be_left_out(
    store: Store, program: Connection
) -> None:
    ids = [
        enqueue(program, "t"),
        enqueue(program, "t", "[1]"),
        enqueue(program, "t@2.0", "[]", " { } "),
        enqueue(program, "t", "[]", json.dumps({"id": OWN, "meta": {"a": 1}})),
    ]
    assert ids[3] == OWN
    program.commit()
    assert bodies(store) == [
        {"type": "t", "args": [], "id": ids[0]},
        {"type": "t", "args": [1], "id": ids[1]},
        {"type": "t@2.0", "args": [], "id": ids[2]},
        {"type": "t", "args": [], "id": OWN, "meta": {"a": 1}},
    ]


def test_values_stay_as_they_were_written(store: Store, program: Connection) -> None:
    args = '["\\u0000", 1.10, 12345678901234567890, {"b": 1, "a": 2}]'
    enqueue(program, "t", args)
    program.commit()
    with store.reader() as reader:
        assert f'"args":{args}' in reader.staged(1)[0].body


def test_many_are_enqueued_in_their_order(store: Store, program: Connection) -> None:
    jobs = [{"type": "t", "args": [n], "queue": "q", "meta": {"n": n}} for n in range(20)]
    rows = program.execute("SELECT enqueue_many(%s)", [json.dumps(jobs)]).fetchall()
    program.commit()
    assert found(store, 100) == [str(row[0]) for row in rows]
    assert [body["args"] for body in bodies(store)] == [[n] for n in range(20)]


def test_an_id_stands_for_one_job(store: Store, program: Connection) -> None:
    for _ in range(2):
        assert enqueue(program, "t", "[]", json.dumps({"id": OWN})) == OWN
    program.commit()
    assert found(store) == [OWN]


Given = tuple[object, object, dict[str, Any]]
REFUSED: list[Given] = [
    (None, [], {}),
    ("", [], {}),
    ("Send Mail", [], {}),
    ("a..b", [], {}),
    ("a.\n", [], {}),
    ("t" * 256, [], {}),
    ("t", {}, {}),
    ("t", "x", {}),
    ("t", 1, {}),
    ("t", True, {}),
    ("t", [], {"queue": "Mail"}),
    ("t", [], {"queue": "mail-"}),
    ("t", [], {"queue": "q" * 256}),
    ("t", [], {"queue": 7}),
    ("t", [], {"options": {"queue": "Mail"}}),
    ("t", [], {"options": []}),
    ("t", [], {"meta": []}),
    ("t", [], {"meta": "x"}),
    ("t", [], {"id": "1"}),
    ("t", [], {"id": 1}),
    ("t", [], {"id": OWN.upper()}),
]


@pytest.mark.parametrize("given", REFUSED, ids=lambda given: json.dumps(given)[:40])
def test_what_is_no_job_is_refused_as_over_http(program: Connection, given: Given) -> None:
    job_type, args, options = given
    with pytest.raises(OjsError) as over_http:
        parse_draft({"type": job_type, "args": args, **options})
    with pytest.raises(psycopg.Error) as refused:
        enqueue(program, job_type, json.dumps(args), json.dumps(options))
    expected = over_http.value
    assert refused.value.sqlstate == "OJS01"
    assert refused.value.diag.message_primary == expected.message
    assert json.loads(refused.value.diag.message_detail or "") == {
        "code": expected.answer_code.name,
        "message": expected.message,
        "details": expected.details,
    }


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (("t", "[]", "[]"), "options"),
        (("t", None), "args"),
        (("t", "[]", '{"args": []}'), "options"),
        (("t", "[]", '{"type": "u"}'), "options"),
    ],
)
def test_a_call_without_sense_is_refused(
    program: Connection, given: tuple[object, ...], field: str
) -> None:
    with pytest.raises(psycopg.Error) as refused:
        enqueue(program, *given)
    assert json.loads(refused.value.diag.message_detail or "")["details"] == {"field": field}


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ("{}", "`jobs` must be an array"),
        ("[1]", "a job must be a JSON object, not a number"),
        ('[{"args": []}]', "`type` is missing"),
        ('[{"type": "t"}]', "`args` is missing"),
    ],
)
def test_one_wrong_job_of_many_refuses_all(
    store: Store, program: Connection, jobs: str, message: str
) -> None:
    with pytest.raises(psycopg.Error) as refused:
        program.execute("SELECT enqueue_many(%s)", [jobs])
    assert refused.value.diag.message_primary == message
    program.rollback()
    assert found(store) == []


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda more: ("[]", json.dumps({"meta": {"m": "x" * (MAX_META - 9 + more)}})), MAX_META),
        (lambda more: (json.dumps(["x" * (MAX_ENVELOPE - 4 + more)]), "{}"), MAX_ENVELOPE),
    ],
    ids=["meta", "job"],
)
def test_sizes_are_bounded(
    program: Connection, make: Callable[[int], tuple[str, str]], size: int
) -> None:
    enqueue(program, "t", *make(0))
    with pytest.raises(psycopg.Error) as refused:
        enqueue(program, "t", *make(1))
    detail = json.loads(refused.value.diag.message_detail or "")
    assert detail["code"] == "payload_too_large"
    assert (detail["details"]["size"], detail["details"]["limit"]) == (size + 1, size)


def test_a_program_can_read_what_became_of_its_job(store: Store, program: Connection) -> None:
    refused, merged, gone = (enqueue(program, "t") for _ in range(3))
    program.commit()
    details = json.dumps({"field": "priority"})
    query(
        program.info.dsn + f" port={program.info.port}",
        "INSERT INTO staged_outcomes (id, at, job_id, code, message, details) VALUES"
        f" ('{refused}', 1, NULL, 'invalid_request', 'no', '{details}'),"
        f" ('{merged}', 1, '{OWN}', NULL, NULL, NULL)",
    )
    take(store, refused, merged, gone)
    error = {"code": "invalid_request", "message": "no", "details": {"field": "priority"}}
    assert enqueued(program, refused) == ("refused", None, error)
    # The job that stands for it has been removed since.
    assert enqueued(program, merged) == ("removed", UUID(OWN), None)
    assert enqueued(program, gone) is None


@pytest.fixture
def role(program: Connection, postgres_store: str) -> Iterator[str]:
    """A role of the database that may log in, and nothing else."""
    name = f"shop_{UUID(int=0).hex[:4]}_{program.info.backend_pid}"
    query(postgres_store, f"CREATE ROLE {name} LOGIN")
    yield name
    query(postgres_store, f"DROP OWNED BY {name}; DROP ROLE {name}")


def as_role(url: str, role: str) -> Connection:
    return psycopg.connect(url, user=role, autocommit=True)


def test_a_role_may_enqueue_and_nothing_else(
    store: Store, program: Connection, postgres_store: str, role: str
) -> None:
    schema = query(postgres_store, "SELECT current_schema()")[0][0]
    with as_role(postgres_store, role) as other:
        other.execute("SET search_path = ''")
        call = sql.SQL("SELECT {}.enqueue('t')").format(sql.Identifier(schema))
        with pytest.raises(errors.InsufficientPrivilege):
            other.execute(call)
        query(postgres_store, f"SELECT allow_enqueue('{role}')")
        row = other.execute(call).fetchone()
        assert row is not None
        assert found(store) == [str(row[0])]
        state = sql.SQL("SELECT state FROM {}.enqueued(%s)").format(sql.Identifier(schema))
        assert other.execute(state, [row[0]]).fetchone() == ("staged",)
        for refused in ("SELECT * FROM {}.jobs", "SELECT * FROM {}.staged_jobs", "{}"):
            statement = sql.SQL(refused).format(sql.Identifier(schema))
            if refused == "{}":
                statement = sql.SQL("SELECT {}.allow_enqueue({})").format(
                    sql.Identifier(schema), sql.Literal(role)
                )
            with pytest.raises(errors.InsufficientPrivilege):
                other.execute(statement)


def test_a_role_of_a_tenant_enqueues_for_it_alone(
    store: Store, program: Connection, postgres_store: str, role: str
) -> None:
    query(postgres_store, f"SELECT allow_enqueue('{role}', 'acme')")
    with as_role(postgres_store, role) as other:
        enqueue(other, "t")
        enqueue(other, "t", "[]", '{"meta": {"tenant_id": "acme"}}')
        with pytest.raises(psycopg.Error) as refused:
            enqueue(other, "t", "[]", '{"meta": {"tenant_id": "other"}}')
        body = {"type": "t", "args": [], "meta": {"tenant_id": "other"}}
        with pytest.raises(OjsError) as over_http:
            parse_draft(body, tenant="acme")
        assert refused.value.diag.message_primary == over_http.value.message
        with store.reader() as reader:
            assert [job.tenant for job in reader.staged(10)] == ["acme", "acme"]
        foreign = enqueue(program, "t")
        assert enqueued(other, foreign) is None


def test_functions_of_the_caller_are_not_called(program: Connection) -> None:
    """They would run with the rights of the server's role."""
    program.execute("CREATE SCHEMA own")
    program.execute(
        "CREATE FUNCTION own.staging_invalid(text, text) RETURNS void LANGUAGE sql AS 'SELECT'"
    )
    program.execute("SELECT set_config('search_path', 'own, ' || current_schema(), false)")
    with pytest.raises(psycopg.Error) as refused:
        enqueue(program, "Send Mail")
    assert refused.value.sqlstate == "OJS01"


def test_a_read_only_transaction_cannot_enqueue(program: Connection) -> None:
    program.execute("SET TRANSACTION READ ONLY")
    with pytest.raises(errors.ReadOnlySqlTransaction):
        enqueue(program, "t")


def test_a_transaction_that_ends_late_is_found(
    store: Store, program: Connection, postgres_store: str
) -> None:
    late = enqueue(program, "t")
    with psycopg.connect(postgres_store) as other:
        early = enqueue(other, "t")
    assert found(store) == [early]
    take(store, early)
    for _ in range(2):
        assert found(store) == []
    program.commit()
    assert found(store) == [late]


def test_a_prepared_transaction_brings_its_job_when_it_is_committed(
    store: Store, program: Connection, postgres_store: str
) -> None:
    name = f"order-{uuid4()}"
    program.execute("SET LOCAL ojs.notify = off")
    job_id = enqueue(program, "t")
    program.execute(f"PREPARE TRANSACTION '{name}'".encode())
    end = "ROLLBACK"
    try:
        for _ in range(2):
            assert found(store) == []
        end = "COMMIT"
    finally:
        with psycopg.connect(postgres_store, autocommit=True) as other:
            other.execute(f"{end} PREPARED '{name}'".encode())
    assert found(store) == [job_id]


def test_a_look_goes_on_where_the_one_before_found_nothing() -> None:
    now = 0.0
    floor = StagedFloor(lambda: now)
    assert floor.look() == StagedLook()
    floor.passed(StagedLook(7, [5]))
    now = WHOLE_EVERY_S
    assert floor.look() == StagedLook(7, [5])
    now += 1
    assert floor.look() == StagedLook()
