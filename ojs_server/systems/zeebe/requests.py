"""Bodies of the requests of Camunda's REST API."""

import re
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_wire.calls import Whole

# A whole number of 64 bits, which the client of 8.8 sends as text.
Long = Whole | str
_LONG: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def long(field: str, given: Long | None) -> int | None:
    """Return a number of 64 bits, sent as number or text."""
    if isinstance(given, str):
        if not _LONG.fullmatch(given):
            raise invalid(field, "must be a whole number")
        return int(given)
    return given


class ActivationRequest(msgspec.Struct):
    """A request for jobs."""

    type: str
    timeout: Long
    maxJobsToActivate: Whole
    worker: str | None = None
    requestTimeout: Long | None = None
    fetchVariable: list[str] | None = None
    tenantIds: list[str] | None = None


class CompletionRequest(msgspec.Struct):
    """Completion of a job."""

    variables: dict[str, Any] | None = None


class FailureRequest(msgspec.Struct):
    """Failure of a job."""

    retries: Whole | None = None
    errorMessage: str | None = None
    retryBackOff: Long | None = None
    variables: dict[str, Any] | None = None


class ErrorRequest(msgspec.Struct):
    """End of a job with a business error."""

    errorCode: str
    errorMessage: str | None = None
    variables: dict[str, Any] | None = None


class JobChangeset(msgspec.Struct):
    """The members of a job to change."""

    retries: Whole | None = None
    timeout: Long | None = None


class JobUpdateRequest(msgspec.Struct):
    """A change of a job."""

    changeset: JobChangeset


class ProcessRequest(msgspec.Struct):
    """Start of a process."""

    processDefinitionId: str | None = None
    processDefinitionKey: str | int | None = None
    processDefinitionVersion: Whole | None = None
    variables: dict[str, Any] | None = None
    awaitCompletion: bool | None = None
    requestTimeout: Long | None = None
    fetchVariables: list[str] | None = None
    startInstructions: list[Any] | None = None
    tenantId: str | None = None


class VariablesRequest(msgspec.Struct):
    """Variables to set for a job."""

    variables: dict[str, Any]


class SearchSort(msgspec.Struct):
    """A field to sort by, and its order."""

    field: str
    order: str | None = None


class SearchPage(msgspec.Struct):
    """The page of a search: by offset, or by a cursor of an earlier page."""

    from_: Whole = msgspec.field(default=0, name="from")
    limit: Whole = 100
    after: str | None = None
    before: str | None = None


class SearchRequest(msgspec.Struct):
    """A search."""

    filter: dict[str, Any] | None = None
    sort: list[SearchSort] | None = None
    page: SearchPage | None = None
