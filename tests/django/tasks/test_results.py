"""Results of tasks, made of jobs that came to their ends in several ways."""

from typing import Any

import pytest

from ojs_django.tasks.results import Call, Start, result_of
from ojs_worker.errors import JobFailed
from ojs_worker.job import Job
from tests.django.shop import tasks

ID = "0190a0f0-0000-7000-8000-00000000000a"
CALL = Call("tests.django.shop.tasks.add", [1], {}, "default")


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("scheduled", "READY"),
        ("available", "READY"),
        ("pending", "READY"),
        ("retryable", "READY"),
        ("active", "RUNNING"),
        ("completed", "SUCCESSFUL"),
        ("discarded", "FAILED"),
        ("cancelled", "FAILED"),
    ],
)
def test_each_state_of_a_job_is_a_status(state: str, status: str) -> None:
    assert result_of(tasks.add, CALL, Job(id=ID, type="t", state=state), []).status == status


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"type": "timeout", "message": "late"}, TimeoutError),
        ({"type": "shutdown", "message": "m", "details": {"error_class": "None"}}, JobFailed),
        ({"type": "lease_expired", "message": "m", "details": None}, JobFailed),
        ({"message": "m"}, JobFailed),
    ],
)
def test_an_error_that_no_task_raised_has_a_class_as_well(
    error: dict[str, Any], expected: type[BaseException]
) -> None:
    job = Job(id=ID, type="t", state="discarded", errors=[error])
    (found,) = result_of(tasks.add, CALL, job, [Start("w", None)]).errors
    assert found.exception_class is expected
    assert found.traceback.endswith(f": {error['message']}\n")
