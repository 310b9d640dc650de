"""Parse the body of a workflow request into a plan, and a checked draft for each of its jobs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import (
    InvalidRequest,
    OjsError,
    TooLarge,
    ValidationError,
)
from ojs_server.domain.jobs.validate import Draft, hash_of, parse_draft
from ojs_server.domain.queues.config import QueueConfig, require_type
from ojs_server.domain.suggestions import refuse_unknown
from ojs_server.domain.workflows.graph import graph
from ojs_server.domain.workflows.plan import Node, Plan, WorkflowKind
from ojs_server.domain.workflows.shape import (
    DefinitionShape,
    Member,
    inside,
    is_definition,
    kind_of_form,
    ordered,
    refuse,
)
from ojs_wire import codec, codes
from ojs_wire.values import MAX_NAME, UUID7, kind_of

MAX_DEPTH: Final = 5
MAX_NODES: Final = 1000
MAX_PROBLEMS: Final = 20
MEMBERS: Final = frozenset(
    {"type", "workflow_type", "id", "name", "steps", "jobs", "callbacks", "options", "depends_on"}
)
# Spellings of the same option: a step's own value, in any spelling, overrides the workflow's.
_SPELLINGS: Final = (
    {"timeout", "timeout_ms"},
    {"scheduled_at", "delay_until"},
    {"retry", "retry_policy"},
    {"visibility_timeout", "visibility_timeout_ms"},
)
_OF_JOBS: Final = frozenset({"unique", "callback_type"})
_NOTHING: Final[Mapping[str, Any]] = {}


class Definition(msgspec.Struct, frozen=True):
    """A checked request: for each node its draft, the enqueue request it was read from, and the
    path of that.

    Waiting steps are stored as requests, so that a later version of the server reads them by its
    own rules.
    """

    id: str | None
    name: str | None
    tenant: str | None
    request_hash: bytes | None
    plan: Plan
    drafts: tuple[Draft | None, ...]
    requests: tuple[bytes | None, ...]
    paths: tuple[str, ...]


def parse_workflow(
    body: object, *, strict: bool = False, any_type: bool = False, tenant: str | None = None
) -> Definition:
    """Check a whole request; all invalid jobs are named at once.

    All jobs of a tenant's workflow belong to the tenant.
    """
    if not isinstance(body, dict):
        raise refuse("", f"must be a JSON object, not {kind_of(body)}")
    own_id, name = body.get("id"), body.get("name")
    if own_id is not None and (not isinstance(own_id, str) or not UUID7.fullmatch(own_id)):
        raise refuse("id", "must be a lower-case UUIDv7")
    # Names are looked up in the database, and PostgreSQL cannot hold a NUL.
    if name is not None and (not isinstance(name, str) or len(name) > MAX_NAME or "\0" in name):
        raise refuse("name", f"must be a string of at most {MAX_NAME} characters, none of them NUL")
    reader = _Reader(strict, any_type, tenant)
    reader.read(body)
    return Definition(
        id=own_id,
        name=name,
        tenant=tenant,
        request_hash=hash_of(body, tenant) if own_id else None,
        plan=Plan(tuple(reader.nodes)),
        drafts=tuple(reader.drafts),
        requests=tuple(reader.requests),
        paths=tuple(reader.paths),
    )


def require_types(definition: Definition, configs: Mapping[str, QueueConfig]) -> None:
    """Raise for jobs whose types their queues do not accept, later steps included."""
    problems: list[dict[str, str]] = []
    for draft, path in zip(definition.drafts, definition.paths, strict=True):
        if draft is not None and draft.queue in configs:
            try:
                require_type(configs[draft.queue], draft.queue, draft.type)
            except InvalidRequest as error:
                problems.append({"path": _at(path, error), "message": error.message})
    _refuse_all(problems)


def _refuse_all(problems: Sequence[dict[str, str]]) -> None:
    if not problems:
        return
    first, more = problems[0], len(problems) - 1
    also = f" (and {more} more)" if more else ""
    raise InvalidRequest(
        f"`{first['path']}`: {first['message']}{also}",
        details={"validation_errors": problems[:MAX_PROBLEMS]},
        code=codes.INVALID_WORKFLOW,
    )


class _Reader:
    """Numbers the nodes: those of one definition are adjacent, nested ones follow."""

    def __init__(self, strict: bool, any_type: bool, tenant: str | None) -> None:
        self.nodes = [Node("")]
        self.drafts: list[Draft | None] = [None]
        self.requests: list[bytes | None] = [None]
        self.paths = [""]
        self._strict = strict
        self._any_type = any_type
        self._tenant = tenant
        self._problems: list[dict[str, str]] = []

    def read(self, body: Mapping[str, Any]) -> None:
        """Parse the whole request, or raise its first error."""
        self._definition(0, body, "", 1, _NOTHING)
        _refuse_all(self._problems)

    def _definition(
        self,
        index: int,
        body: Mapping[str, Any],
        path: str,
        depth: int,
        defaults: Mapping[str, Any],
    ) -> None:
        if depth > MAX_DEPTH:
            raise refuse(path, f"is nested {depth} deep; at most {MAX_DEPTH} are allowed")
        if self._strict:
            refuse_unknown(inside(path, ""), body, MEMBERS)
        shape = _shape(body, path)
        defaults = _merged(defaults, self._options(body, path))
        parts = (*shape.members, *shape.callbacks)
        first, middle = len(self.nodes), len(self.nodes) + len(shape.members)
        end = first + len(parts)
        if end - 1 > MAX_NODES:
            raise refuse(
                shape.members[0].path.rpartition("[")[0],
                f"brings the workflow to more than {MAX_NODES} jobs and nested definitions",
            )
        node = self.nodes[index] = msgspec.structs.replace(
            self.nodes[index],
            kind=shape.kind,
            members=tuple(range(first, middle)),
            callbacks=tuple(range(middle, end)),
        )
        for part in parts:
            needs = tuple(first + need for need in part.needs)
            own_id = f"{node.id}.{part.id}" if node.id else part.id
            self.nodes.append(Node(id=own_id, scope=index, needs=needs, fires=part.fires))
            self.drafts.append(None)
            self.requests.append(None)
            self.paths.append(part.path)
        later = _inherited(shape, defaults)
        for place, part in enumerate(parts):
            self._part(first + place, part, depth, later if place else defaults)

    def _options(self, body: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Return a definition's options for its jobs; they are checked even if all override
        them."""
        options, at = body.get("options"), inside(path, "options")
        if options is None:
            return _NOTHING
        if not isinstance(options, dict):
            raise refuse(at, f"must be an object, not {kind_of(options)}")
        # Unique policies may refer to `args`, which only jobs have.
        alone = {name: value for name, value in options.items() if name not in _OF_JOBS}
        try:
            parse_draft({"type": "t", "args": [], "options": alone}, strict=self._strict)
        except (InvalidRequest, ValidationError, TooLarge) as error:
            self._problem(at, error)
            return _NOTHING
        return options

    def _problem(self, path: str, error: OjsError) -> None:
        self._problems.append({"path": _at(path, error), "message": error.message})

    def _part(self, index: int, part: Member, depth: int, defaults: Mapping[str, Any]) -> None:
        if is_definition(part.body):
            self._definition(index, part.body, part.path, depth + 1, defaults)
            return
        request = _job(part.body, defaults)
        try:
            draft = parse_draft(
                request, strict=self._strict, any_type=self._any_type, tenant=self._tenant
            )
        except (InvalidRequest, ValidationError, TooLarge) as error:
            self._problem(part.path, error)
            return
        self.drafts[index] = draft
        self.requests[index] = codec.encode(request)
        self.nodes[index] = msgspec.structs.replace(self.nodes[index], job_type=draft.type)


def _shape(body: Mapping[str, Any], path: str) -> DefinitionShape:
    kind = kind_of_form(body, path)
    return graph(body, path) if kind is WorkflowKind.DAG else ordered(body, kind, path)


def _inherited(shape: DefinitionShape, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the defaults of a chain's later steps: they include the priority of the first step."""
    first = shape.members[0].body
    if shape.kind is not WorkflowKind.CHAIN or not isinstance(first, dict):
        return defaults
    options = first.get("options")
    own = {**first, **options} if isinstance(options, dict) else first
    priority = own.get("priority")
    return defaults if priority is None else _merged({"priority": priority}, defaults)


def _job(body: object, defaults: Mapping[str, Any]) -> object:
    """Return the enqueue request of a member: without its place in the workflow, with defaults."""
    if not isinstance(body, dict):
        return body
    job = {name: value for name, value in body.items() if name not in ("id", "depends_on")}
    options = body.get("options")
    if options is None or isinstance(options, dict):
        own = {name: value for name, value in (options or {}).items() if name != "callback_type"}
        given = {name for name in job if job[name] is not None}
        beneath = {name: value for name, value in defaults.items() if not given & _same(name)}
        job["options"] = _merged(beneath, own)
    return job


def _merged(beneath: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in above.items() if value is not None}
    kept = {name: value for name, value in beneath.items() if not own.keys() & _same(name)}
    return {**kept, **own}


def _same(name: str) -> set[str]:
    return next((names for names in _SPELLINGS if name in names), {name})


def _at(path: str, error: OjsError) -> str:
    field = (error.details or {}).get("field")
    return inside(path, field) if isinstance(field, str) else path
