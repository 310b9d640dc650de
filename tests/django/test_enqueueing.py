"""Enqueues of a project: at once, many at once, and with a transaction."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.db.migrations.state import ProjectState
from django.test import override_settings

from ojs_django import aenqueue, enqueue, enqueue_after_commit, enqueue_bulk, job_request
from ojs_django.outbox import CreateOutbox
from ojs_server.store.open import open_store
from ojs_worker import InvalidRequest
from ojs_worker.outbox import NoTable
from ojs_worker.testing import Sandbox
from tests.django.project import on_postgres
from tests.django.shop.jobs import confirm
from tests.django.shop.models import Order
from tests.store.postgres.server import query


class Undone(Exception):
    """The program rolls its transaction back."""


def roll_back(type: str, using: str = "default") -> None:
    """Enqueue a job in a transaction that is rolled back."""
    with transaction.atomic(using=using):
        enqueue_after_commit(type)
        raise Undone


def types(ojs: Sandbox) -> list[str]:
    return [job.type for job in ojs.all_jobs()]


def test_a_job_is_enqueued_by_its_handler_or_type_with_options(ojs: Sandbox) -> None:
    enqueue(confirm, [7])
    enqueue(confirm, {"order_id": 8}, priority=5)
    enqueue("report.make", ["June"], queue="reports", delay="1h")
    ojs.assert_enqueued(confirm, args={"order_id": 7}, queue="mail")
    ojs.assert_enqueued(confirm, args={"order_id": 8}, priority=5)
    ojs.assert_enqueued("report.make", args=["June"], queue="reports")


def test_wrong_arguments_of_a_handler_are_refused_before_the_server_sees_them(ojs: Sandbox) -> None:
    with pytest.raises(TypeError, match="order_id"):
        enqueue(confirm, {"number": 7})
    assert types(ojs) == []


async def test_a_coroutine_enqueues(ojs: Sandbox) -> None:
    job = await aenqueue(confirm, [7])
    assert [stored.id for stored in ojs.all_jobs()] == [job.id]


def test_many_are_enqueued_all_or_none(ojs: Sandbox) -> None:
    made = enqueue_bulk([confirm.request(7), job_request("report.make", queue="reports")])
    assert [job.queue for job in made] == ["mail", "reports"]
    refused = job_request("report.make", priority=1000)
    with pytest.raises(InvalidRequest):
        enqueue_bulk([confirm.request(8), refused])
    assert len(types(ojs)) == 2


def test_a_job_is_sent_after_the_commit(ojs: Sandbox, shop: Path) -> None:
    with transaction.atomic():
        job_id = enqueue_after_commit(confirm, [Order.objects.create(email="ada").pk])
        assert types(ojs) == []
    assert [job.id for job in ojs.all_jobs()] == [job_id]
    ojs.drain_blocking()
    assert Order.objects.get().state == "confirmed"


def test_nothing_is_sent_where_a_transaction_or_savepoint_is_rolled_back(
    ojs: Sandbox, shop: Path
) -> None:
    with pytest.raises(Undone):
        roll_back("lost.whole")
    with transaction.atomic():
        enqueue_after_commit("kept")
        with pytest.raises(Undone):
            roll_back("lost.part")
    assert types(ojs) == ["kept"]


def test_an_error_after_the_commit_is_logged_with_the_job(
    ojs: Sandbox, shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with transaction.atomic():
        Order.objects.create(email="ada")
        lost = enqueue_after_commit("report.make", priority=1000)
        enqueue_after_commit("sent.behind.it")
    assert Order.objects.count() == 1
    assert types(ojs) == ["sent.behind.it"]
    (record,) = [record for record in caplog.records if record.name == "ojs.django"]
    assert f"job {lost} (report.make)" in record.getMessage()


def test_outside_a_transaction_a_job_is_sent_at_once_and_a_refusal_raised(
    ojs: Sandbox, shop: Path
) -> None:
    enqueue_after_commit("sent")
    assert types(ojs) == ["sent"]
    with pytest.raises(InvalidRequest):
        enqueue_after_commit("refused", priority=1000)


class TestInTheServersDatabase:
    """The way `transactional`."""

    @pytest.fixture
    def url(self, postgres_store: str) -> Iterator[str]:
        with closing(open_store(postgres_store, node="a")):
            yield postgres_store

    @pytest.fixture(autouse=True)
    def _project(self, url: str) -> Iterator[None]:
        schema = str(query(url, "SELECT current_schema()")[0][0])
        setting = {"AFTER_COMMIT": "transactional", "DATABASE": "postgres", "SCHEMA": schema}
        with on_postgres(url), override_settings(OJS=setting):
            yield

    def staged(self, url: str) -> list[str]:
        rows = query(url, "SELECT body::json ->> 'type' FROM staged_jobs ORDER BY 1")
        return [str(row[0]) for row in rows]

    def test_a_job_commits_with_the_transaction(self, url: str) -> None:
        with transaction.atomic(using="postgres"):
            enqueue_after_commit("kept.inner")
            assert self.staged(url) == []
        enqueue_after_commit("kept.alone")
        with pytest.raises(Undone):
            roll_back("lost", using="postgres")
        assert self.staged(url) == ["kept.alone", "kept.inner"]

    def test_a_refusal_leaves_the_transaction_usable(self, url: str) -> None:
        with transaction.atomic(using="postgres"):
            with pytest.raises(InvalidRequest):
                enqueue_after_commit("refused", queue="Not A Queue")
            enqueue_after_commit("kept")
        assert self.staged(url) == ["kept"]


class TestInAnOutbox:
    """The way `outbox`, whose tables a migration creates."""

    @pytest.fixture(autouse=True)
    def _project(self, shop: Path) -> Iterator[None]:
        state = ProjectState()
        with connection.schema_editor() as editor:
            CreateOutbox().database_forwards("shop", editor, state, state)
        with override_settings(OJS={"AFTER_COMMIT": "outbox"}):
            yield

    def rows(self) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT job_type FROM ojs_outbox ORDER BY id")
            return [str(row[0]) for row in cursor.fetchall()]

    def test_a_job_commits_with_the_transaction(self) -> None:
        with transaction.atomic():
            enqueue_after_commit("kept.inner")
        enqueue_after_commit("kept.alone")
        with pytest.raises(Undone):
            roll_back("lost")
        assert self.rows() == ["kept.inner", "kept.alone"]

    def test_the_migration_goes_back(self) -> None:
        state = ProjectState()
        with connection.schema_editor() as editor:
            CreateOutbox().database_backwards("shop", editor, state, state)
        with pytest.raises(NoTable):
            enqueue_after_commit("lost")
