"""Calls that clients of Zeebe and Camunda know and that are not served, each with advice."""

from collections.abc import Mapping
from typing import Final

from ojs_server.domain.errors import OjsError
from ojs_wire.codes import Code

UNIMPLEMENTED: Final = Code("unimplemented", 501, retryable=False, type="unimplemented")

_ENGINE: Final = "needs a BPMN engine, which this server has not; "
DEPLOY: Final = _ENGINE + "processes need no deployment: start one job by CreateProcessInstance"
MESSAGES: Final = _ENGINE + "enqueue a job by CreateProcessInstance"
SIGNALS: Final = _ENGINE + "enqueue jobs by CreateProcessInstance"
DECIDE: Final = _ENGINE + "decide in a worker"
REPLACE: Final = _ENGINE + "cancel the instance, and start another"
_TASKS: Final = _ENGINE + "give the task to a worker, as a job"
_LOOK: Final = _ENGINE + "search for process instances, jobs and incidents"
_VARIABLES: Final = _ENGINE + "a worker is given the variables of its job"
_BATCHES: Final = _ENGINE + "cancel and retry many jobs by /ojs/v1/jobs/bulk"
_DOCUMENTS: Final = "documents are not kept here; name them in variables"
_RIGHTS: Final = "callers and their rights are those of the keys that the server is started with"
_LICENSE: Final = "no license is needed here"
_STATUS: Final = "is not served here; GET /v2/topology and GET /ojs/v1/health tell the same"
_CLOCK: Final = "the clock of this server cannot be set"
_HINT: Final = "docs/systems/zeebe.md says what is served"

# By the first part of a path. Of those that are also served, some other paths below are not.
_SENTENCES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("deployments", "resources", "process-definitions"), DEPLOY),
    **dict.fromkeys(("messages", "message-subscriptions"), MESSAGES),
    "correlated-message-subscriptions": MESSAGES,
    "signals": SIGNALS,
    **dict.fromkeys(("decision-definitions", "decision-instances"), DECIDE),
    "decision-requirements": DECIDE,
    "process-instances": REPLACE,
    "user-tasks": _TASKS,
    **dict.fromkeys(("incidents", "element-instances"), _LOOK),
    "variables": _VARIABLES,
    **dict.fromkeys(("batch-operations", "batch-operation-items"), _BATCHES),
    "documents": _DOCUMENTS,
    **dict.fromkeys(("users", "groups", "roles", "tenants", "mapping-rules", "setup"), _RIGHTS),
    **dict.fromkeys(("authorizations", "authentication"), _RIGHTS),
    "license": _LICENSE,
    **dict.fromkeys(("status", "system"), _STATUS),
    "clock": _CLOCK,
}


def not_served(path: str) -> OjsError | None:
    """Return the error for a path of Camunda that is not served; None for paths that it does not
    have."""
    sentence = _SENTENCES.get(path.lstrip("/").partition("/")[0])
    return None if sentence is None else OjsError(sentence, code=UNIMPLEMENTED, hint=_HINT)
