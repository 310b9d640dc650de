"""Jobs as items of Camunda's searches: as jobs, as incidents, as process instances."""

from typing import Any, Final

import msgspec

from ojs_server.domain.jobs.job import Job, Lease, State, StoredJob
from ojs_server.domain.tenants.tenant import unscoped
from ojs_server.systems.zeebe.incidents import THROWN, TOO_LARGE
from ojs_server.systems.zeebe.jobs import KIND, LISTENER_EVENT, retries_of
from ojs_server.systems.zeebe.processes import TENANT, VERSION, definition_key
from ojs_server.systems.zeebe.search_query import INSTANCES, JOBS, Kind
from ojs_server.systems.zeebe.variables import headers_of
from ojs_wire.values import format_timestamp

_ERROR_TYPES: Final = {THROWN: "UNHANDLED_ERROR_EVENT", TOO_LARGE: "MESSAGE_SIZE_EXCEEDED"}


class _Error(msgspec.Struct, frozen=True):
    code: str = ""
    type: str = ""
    message: str = ""


_error: Final = msgspec.json.Decoder(_Error)
_NO_ERROR: Final = _Error()


def job(key: int, stored: StoredJob, lease: Lease | None) -> dict[str, Any]:
    """Return a job as clients find it; its worker is known while it has one."""
    record, error = stored.job, _error_of(stored.job)
    holder = None if lease is None else lease.worker_id
    return {
        **_place(key, stored),
        "jobKey": str(key),
        "type": record.type,
        "state": _word(JOBS, record),
        "retries": retries_of(record),
        "worker": "" if holder is None else unscoped(record.tenant, holder),
        "customHeaders": headers_of(stored.meta),
        "deadline": None if lease is None else format_timestamp(lease.expires_at),
        **_moment("endTime", record.finished_at),
        "errorCode": error.code or None,
        "errorMessage": error.message or None,
        "hasFailedWithRetriesLeft": record.state == State.RETRYABLE,
        "kind": KIND,
        "listenerEventType": LISTENER_EVENT,
    }


def incident(key: int, stored: StoredJob, lease: Lease | None) -> dict[str, Any]:
    """Return the incident that a job is."""
    record, error = stored.job, _error_of(stored.job)
    return {
        **_place(key, stored),
        "incidentKey": str(key),
        "jobKey": str(key),
        "state": "ACTIVE",
        "errorType": _ERROR_TYPES.get(error.type, "JOB_NO_RETRIES"),
        "errorMessage": error.message,
        **_moment("creationTime", record.finished_at),
    }


def instance(key: int, stored: StoredJob, lease: Lease | None) -> dict[str, Any]:
    """Return the process that a job is."""
    record = stored.job
    return {
        "processInstanceKey": str(key),
        "processDefinitionId": record.type,
        "processDefinitionKey": str(definition_key(record.type)),
        "processDefinitionName": record.type,
        "processDefinitionVersion": VERSION,
        "state": _word(INSTANCES, record),
        "hasIncident": record.state == State.DISCARDED,
        "startDate": format_timestamp(record.created_at),
        **_moment("endDate", None if record.state == State.DISCARDED else record.finished_at),
        "tenantId": TENANT,
    }


def _place(key: int, stored: StoredJob) -> dict[str, Any]:
    process = stored.job.type
    return {
        "processInstanceKey": str(key),
        "processDefinitionId": process,
        "processDefinitionKey": str(definition_key(process)),
        "elementId": process,
        "elementInstanceKey": str(key),
        "tenantId": TENANT,
    }


def _word(kind: Kind, record: Job) -> str:
    return next(word for word, states in kind.states.items() if record.state in states)


def _moment(name: str, moment: int | None) -> dict[str, str]:
    return {} if moment is None else {name: format_timestamp(moment)}


def _error_of(record: Job) -> _Error:
    return _NO_ERROR if record.error is None else _error.decode(record.error)
