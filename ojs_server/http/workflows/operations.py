"""Workflows: start, list, read, cancel, retry, progress."""

from collections.abc import Mapping
from typing import Any, Final

from ojs_server.domain.errors import InvalidRequest, invalid
from ojs_server.domain.jobs.validate import hash_of
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.workflows.parse import parse_workflow
from ojs_server.domain.workflows.plan import WorkflowKind
from ojs_server.domain.workflows.record import WorkflowView
from ojs_server.http import dialects
from ojs_server.http.access.roles import ENQUEUE, READ
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.batches import receipt_for
from ojs_server.http.paging import cursor_at, page_of, place_of
from ojs_server.http.route import Route
from ojs_server.http.workflows.views import progress_shown, shown, shown_briefly
from ojs_server.ops.workflows import operations as ops
from ojs_server.ops.workflows.operations import CancelWorkflow, missing, start
from ojs_server.ops.workflows.results import shown_results
from ojs_server.store.records import ListPosition, WorkflowFilter
from ojs_wire.calls import EmptyRequest
from ojs_wire.values import MAX_NAME, UUID7


async def create(call: Call) -> Answer:
    """Store a workflow with all its steps; the answer leaves after it is on disk."""
    done = await launch(call, await call.json())
    view = shown(done.view) if done.view else await _shown(call, done.workflow_id)
    return Answer(
        dialects.workflow_answer(view),
        201 if done.view else 200,
        {"Location": f"/ojs/v1/workflows/{done.workflow_id}"},
    )


async def launch(call: AnyCall, body: Mapping[str, Any]) -> ops.Started:
    """Store the workflow of a request."""
    definition = parse_workflow(
        body, strict=call.server.settings.strict, any_type=call.any_type, tenant=call.tenant
    )
    receipt = receipt_for(call, "workflow")
    return await call.server.engine.run(
        start(definition, receipt, hash_of(body) if receipt else b"")
    )


async def listing(call: Call) -> Answer:
    """List workflows without their steps, newest first."""
    query = call.query_params
    page = page_of(call)
    workflow_filter = WorkflowFilter(
        state=dialects.workflow_state(_word(query, "state", dialects.WORKFLOW_STATES)),
        kind=_word(query, "type", tuple(WorkflowKind)),
        name=_name(query),
        tenant=call.tenant,
    )
    after = None if page.cursor is None else place_of(page.cursor)
    found = await call.server.engine.read(
        lambda reader: reader.workflows(workflow_filter, page.limit, page.offset, after)
    )
    cursor = None
    if found.has_more:
        last = found.workflows[-1]
        cursor = cursor_at(ListPosition(last.created_at, last.id))
    shown_ones = [shown_briefly(workflow) for workflow in found.workflows]
    return Answer(dialects.workflow_list(shown_ones, page.describe(found.total, cursor)))


async def detail(call: Call) -> Answer:
    """Show one workflow with the present state of its steps."""
    return Answer(dialects.workflow_answer(await _shown(call, call.path_params["id"])))


async def cancel(call: Call) -> Answer:
    """Cancel a workflow: no further job is enqueued, and active ones may finish."""
    if call.scope["method"] == "POST":
        await call.read(EmptyRequest, optional=True)
    workflow_id = call.path_params["id"]
    done = await end(call, workflow_id)
    return Answer(
        dialects.workflow_answer(
            {
                **await _shown(call, workflow_id),
                **dialects.cancelled_steps(done.cancelled, done.completed),
            }
        )
    )


async def end(call: AnyCall, workflow_id: str) -> ops.Cancelled:
    """Cancel a workflow that the caller may see."""
    if call.tenant is not None:
        # Checked in a separate read, because the owner of a workflow never changes.
        await load(call, workflow_id)
    return await call.server.engine.run(CancelWorkflow(_checked(workflow_id)))


async def retry(call: Call) -> Answer:
    """Retry a failed workflow from the step that failed."""
    await call.read(EmptyRequest, optional=True)
    workflow_id = call.path_params["id"]
    view = await load(call, workflow_id)
    await call.server.engine.run(ops.retry(view))
    return Answer(dialects.workflow_answer(await _shown(call, workflow_id)))


async def progress(call: Call) -> Answer:
    """Show the progress of a workflow."""
    workflow_id = call.path_params["id"]
    view = await load(call, workflow_id)
    reports = await call.server.engine.read(lambda reader: reader.member_progress(workflow_id))
    return Answer(progress_shown(view, reports))


def _checked(workflow_id: str) -> str:
    if not UUID7.fullmatch(workflow_id):
        raise missing(workflow_id[:100])
    return workflow_id


async def _shown(call: Call, workflow_id: str) -> dict[str, Any]:
    view = await load(call, workflow_id)
    results = await call.server.engine.read(lambda reader: shown_results(reader, view.members))
    return shown(view, results)


async def load(call: AnyCall, workflow_id: str) -> WorkflowView:
    """Return a workflow that the caller may see, with its jobs as they are now."""
    _checked(workflow_id)
    found = await call.server.engine.read(lambda reader: reader.workflow(workflow_id))
    if found is None or call.tenant not in (None, found.workflow.tenant):
        raise missing(workflow_id)
    return found


def _word(query: Mapping[str, str], field: str, words: tuple[str, ...]) -> str | None:
    word = query.get(field) or None
    if word is not None and word not in words:
        raise invalid(field, f"must be one of {', '.join(words)}{nearest(word, words)}")
    return word


def _name(query: Mapping[str, str]) -> str | None:
    name = query.get("name") or None
    if name is not None and len(name) > MAX_NAME:
        raise InvalidRequest(
            f"`name` must have at most {MAX_NAME} characters", details={"field": "name"}
        )
    return name


ROUTES: Final = (
    Route("POST", "/workflows", create, ENQUEUE, tenanted=True, produces=True),
    Route("GET", "/workflows", listing, READ, tenanted=True),
    Route("GET", "/workflows/{id}", detail, READ, tenanted=True),
    Route("DELETE", "/workflows/{id}", cancel, ENQUEUE, tenanted=True),
    Route("POST", "/workflows/{id}/retry", retry, ENQUEUE, tenanted=True),
    Route("GET", "/workflows/{id}/progress", progress, READ, tenanted=True),
)
