"""Normalise all forms of a workflow request into one shape: members, needs and callbacks.

{type: chain, steps: [...]}                       each waits for the one before
{type: group, jobs: [...]}                        none waits
{type: batch, jobs: [...], callbacks: {...}}      none waits, and callbacks follow
{steps: [{id, depends_on: [...], ...}]}           each waits for those it names
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.workflows.plan import Callback, WorkflowKind
from ojs_wire import codes
from ojs_wire.values import MAX_NAME, kind_of

# The canonical name of the list first, then the one that some clients use.
_LISTS: Final = {
    WorkflowKind.CHAIN: ("steps", "jobs"),
    WorkflowKind.GROUP: ("jobs", "steps"),
    WorkflowKind.BATCH: ("jobs", "steps"),
    WorkflowKind.DAG: ("steps",),
}


class Member(msgspec.Struct, frozen=True):
    """A job or a nested definition as it was sent; `needs` are places among the members."""

    body: Any
    path: str
    id: str
    needs: tuple[int, ...] = ()
    fires: Callback | None = None


class DefinitionShape(msgspec.Struct, frozen=True):
    """One definition; nested definitions in its members are not parsed yet."""

    kind: WorkflowKind
    members: tuple[Member, ...]
    callbacks: tuple[Member, ...] = ()


def refuse(path: str, message: str) -> InvalidRequest:
    """Return an error about a path in a workflow; the empty path is the whole request."""
    return InvalidRequest(
        f"`{path}` {message}" if path else f"the workflow {message}",
        details={"validation_errors": [{"path": path, "message": message}]},
        code=codes.INVALID_WORKFLOW,
    )


def inside(path: str, member: str) -> str:
    """Return the path of a member of the value at `path`."""
    return f"{path}.{member}" if path else member


def kind_in(body: Mapping[str, Any]) -> object:
    """Return the form that a request names, in either spelling."""
    kind = body.get("type")
    return body.get("workflow_type") if kind is None else kind


def is_definition(body: object) -> bool:
    """True if a member is a nested definition; a job has `args`, whatever its type is called."""
    return (
        isinstance(body, dict)
        and "args" not in body
        and ("steps" in body or "jobs" in body or kind_in(body) in list(WorkflowKind))
    )


def kind_of_form(body: Mapping[str, Any], path: str) -> WorkflowKind:
    """Return the form of a definition; without `type` its steps name their dependencies."""
    given = kind_in(body)
    if given is None:
        return WorkflowKind.DAG
    if not isinstance(given, str) or given not in list(WorkflowKind):
        hint = nearest(given, list(WorkflowKind))
        raise refuse(
            inside(path, "type"), f"must be one of {', '.join(WorkflowKind)}, or be left out{hint}"
        )
    return WorkflowKind(given)


def members_in(body: Mapping[str, Any], kind: WorkflowKind, path: str) -> tuple[str, list[Any]]:
    """Return the list of members and its path."""
    names = [name for name in _LISTS[kind] if body.get(name) is not None]
    if not names:
        missing = inside(path, _LISTS[kind][0])
        hint = ", or `type` must say that `jobs` is a group or a batch" if "jobs" in body else ""
        raise refuse(missing, f"is missing{hint if kind is WorkflowKind.DAG else ''}")
    for name in _LISTS[WorkflowKind.CHAIN]:
        if name != names[0] and body.get(name) is not None:
            raise refuse(inside(path, name), f"cannot be combined with `{names[0]}`")
    at, given = inside(path, names[0]), body[names[0]]
    if not isinstance(given, list):
        raise refuse(at, f"must be an array, not {kind_of(given)}")
    if not given:
        raise refuse(at, "must hold at least one job")
    return at, given


def ordered(body: Mapping[str, Any], kind: WorkflowKind, path: str) -> DefinitionShape:
    """Read a chain, a group or a batch."""
    at, given = members_in(body, kind, path)
    members = tuple(
        Member(
            body=member,
            path=f"{at}[{place}]",
            id=_own_id(member, f"{at}[{place}]") or str(place),
            needs=(place - 1,) if kind is WorkflowKind.CHAIN and place else (),
        )
        for place, member in enumerate(given)
    )
    refuse_twins([member.id for member in members], at)
    callbacks = callbacks_in(body, len(members), path)
    if kind is WorkflowKind.BATCH and not callbacks:
        raise refuse(inside(path, "callbacks"), f"must hold at least one of {', '.join(Callback)}")
    if kind is not WorkflowKind.BATCH and callbacks:
        raise refuse(inside(path, "callbacks"), f"is for a batch, not for a {kind}")
    return DefinitionShape(kind, members, callbacks)


def callbacks_in(body: Mapping[str, Any], members: int, path: str) -> tuple[Member, ...]:
    """Read `callbacks`; each waits for all members."""
    given, at = body.get("callbacks"), inside(path, "callbacks")
    if given is None:
        return ()
    if not isinstance(given, dict):
        raise refuse(at, f"must be an object, not {kind_of(given)}")
    for name in given:
        callback_named(name, inside(at, name[:100]))
    return tuple(
        Member(given[fires], inside(at, fires), fires, tuple(range(members)), fires)
        for fires in Callback
        if given.get(fires) is not None
    )


def callback_named(name: object, at: str) -> Callback:
    """Return the condition of a callback by its name."""
    if not isinstance(name, str) or name not in list(Callback):
        known = ", ".join(Callback)
        raise refuse(at, f"is not a callback; allowed: {known}{nearest(name, list(Callback))}")
    return Callback(name)


def id_of(body: Mapping[str, Any], path: str) -> str | None:
    """Return the id of a step within the workflow; the id of its job is made by the server."""
    given = body.get("id")
    if given is None:
        return None
    if not isinstance(given, str) or not 0 < len(given) <= MAX_NAME:
        raise refuse(inside(path, "id"), f"must be a string of 1 to {MAX_NAME} characters")
    return given


def refuse_twins(ids: Sequence[str], at: str) -> None:
    """Raise if two members of one definition have the same id."""
    seen: dict[str, int] = {}
    for place, name in enumerate(ids):
        if name in seen:
            raise refuse(
                f"{at}[{place}].id", f'is "{name}", which is the id of `{at}[{seen[name]}]`'
            )
        seen[name] = place


def _own_id(member: object, path: str) -> str | None:
    if not isinstance(member, dict):
        return None
    if member.get("depends_on") is not None:
        raise refuse(
            inside(path, "depends_on"),
            "is only allowed in a workflow without `type`",
        )
    return id_of(member, path)
