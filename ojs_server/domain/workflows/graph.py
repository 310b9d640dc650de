"""Parse workflows whose steps name the steps they depend on.

A step is a callback if `options.callback_type` says so. It is one, too, if it is named
`on-complete`, `on-success` or `on-failure`, waits for all other steps, and no step waits for it.
Each form is that of a public SDK.
"""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

import msgspec

from ojs_server.domain.suggestions import nearest
from ojs_server.domain.workflows.plan import Callback, WorkflowKind
from ojs_server.domain.workflows.shape import (
    DefinitionShape,
    Member,
    callback_named,
    callbacks_in,
    id_of,
    inside,
    members_in,
    refuse,
    refuse_twins,
)
from ojs_wire.values import kind_of

MAX_EDGES: Final = 10_000


class _Step(msgspec.Struct, frozen=True):
    body: Mapping[str, Any]
    path: str
    id: str
    depends_on: tuple[str, ...]
    marked: Callback | None


def graph(body: Mapping[str, Any], path: str) -> DefinitionShape:
    """Read steps with `depends_on`; with callbacks among them it is a batch."""
    at, given = members_in(body, WorkflowKind.DAG, path)
    steps = [_step(step, place, f"{at}[{place}]") for place, step in enumerate(given)]
    refuse_twins([step.id for step in steps], at)
    if sum(len(step.depends_on) for step in steps) > MAX_EDGES:
        raise refuse(at, f"name more than {MAX_EDGES} dependencies in all")
    fires = _callbacks_among(steps)
    ordinary = [step for step in steps if step.id not in fires]
    if not ordinary:
        raise refuse(at, "must hold at least one job that is no callback")
    places = {step.id: place for place, step in enumerate(ordinary)}
    everything = tuple(range(len(ordinary)))
    members, callbacks = [], []
    for step in steps:
        needs = tuple(_place(name, step, places, fires) for name in step.depends_on)
        if step.id in fires:
            kind = fires[step.id]
            callbacks.append(Member(step.body, step.path, step.id, needs or everything, kind))
        else:
            members.append(Member(step.body, step.path, step.id, needs))
    _refuse_cycle(ordinary, at)
    callbacks += callbacks_in(body, len(members), path)
    _refuse_twice(callbacks)
    return DefinitionShape(
        WorkflowKind.BATCH if callbacks else WorkflowKind.DAG, tuple(members), tuple(callbacks)
    )


def _step(body: object, place: int, path: str) -> _Step:
    if not isinstance(body, dict):
        raise refuse(path, f"must be an object, not {kind_of(body)}")
    options = body.get("options")
    mark = options.get("callback_type") if isinstance(options, dict) else None
    return _Step(
        body=body,
        path=path,
        id=id_of(body, path) or str(place),
        depends_on=_names(body.get("depends_on"), inside(path, "depends_on")),
        marked=mark and callback_named(mark, inside(path, "options.callback_type")),
    )


def _names(given: object, path: str) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise refuse(path, "must be an array of step ids")
    return tuple(dict.fromkeys(given))


def _callbacks_among(steps: Sequence[_Step]) -> dict[str, Callback]:
    fires = {step.id: step.marked for step in steps if step.marked}
    by_name = {
        step.id: Callback(step.id.replace("-", "_"))
        for step in steps
        if step.id not in fires and step.id.replace("-", "_") in list(Callback)
    }
    others = {step.id for step in steps} - by_name.keys() - fires.keys()
    needed = {name for step in steps for name in step.depends_on}
    for step in steps:
        waits_for_all = bool(others) and others == set(step.depends_on)
        if step.id in by_name and step.id not in needed and waits_for_all:
            fires[step.id] = by_name[step.id]
    return fires


def _place(name: str, step: _Step, places: Mapping[str, int], fires: Mapping[str, Callback]) -> int:
    at = inside(step.path, "depends_on")
    if name in fires:
        raise refuse(at, f'names "{name}", which is a callback; no step can wait for one')
    if name not in places:
        raise refuse(at, f'names "{name[:100]}", which is no step{nearest(name, places)}')
    return places[name]


def _refuse_cycle(steps: Sequence[_Step], at: str) -> None:
    try:
        TopologicalSorter({step.id: step.depends_on for step in steps}).prepare()
    except CycleError as error:
        way = list(error.args[1])
        shown = way if len(way) <= 20 else [*way[:10], "…", *way[-9:]]
        raise refuse(at, f"depend on each other in a circle: {' → '.join(shown)}") from None


def _refuse_twice(callbacks: Sequence[Member]) -> None:
    first: dict[Callback | None, Member] = {}
    for callback in callbacks:
        if callback.fires in first:
            raise refuse(
                callback.path, f"is {callback.fires}, as is `{first[callback.fires].path}`"
            )
        first[callback.fires] = callback
