"""Answers about jobs that programs have staged, and that were not stored as they are."""

from contextlib import closing
from typing import Any

import msgspec
import pytest

from ojs_server.store.open import open_store
from ojs_server.store.records import StagedOutcome
from tests.http.conftest import Serve, connect
from tests.http.steps import JOBS, job_id


@pytest.mark.parametrize(
    ("outcome", "said", "details"),
    [
        (
            StagedOutcome(job_id(1), 1, code="queue_full", message="mail is full", details=b"[1]"),
            "it was refused after its transaction was committed: mail is full",
            {"refused": {"code": "queue_full", "message": "mail is full", "details": [1]}},
        ),
        (
            StagedOutcome(job_id(1), 1, code="invalid_request", message="no"),
            "it was refused after its transaction was committed: no",
            {"refused": {"code": "invalid_request", "message": "no"}},
        ),
        (
            StagedOutcome(job_id(1), 1, job_id=job_id(2)),
            f"job {job_id(2)} was there before and stands for it",
            {"job_id": job_id(2)},
        ),
    ],
)
async def test_a_job_that_was_not_stored_is_missing_for_a_reason(
    serve: Serve,
    store_url: str,
    outcome: StagedOutcome,
    said: str,
    details: dict[str, Any],
) -> None:
    with closing(open_store(store_url)) as store, store.transaction() as tx:
        # An old one would be removed.
        tx.insert_staged_outcomes([msgspec.structs.replace(outcome, at=tx.now)])
    async with serve() as server, connect(server) as client:
        answer = await client.get(f"{JOBS}/{outcome.id}")
        of_a_tenant = await client.get(f"{JOBS}/{outcome.id}", headers={"X-OJS-Tenant": "acme"})
    error = answer.json()["error"]
    assert answer.status_code == 404
    assert error["message"] == f"there is no job {outcome.id}: {said}"
    assert details.items() <= error["details"].items()
    # A tenant is told of its own jobs only.
    assert said not in of_a_tenant.text
