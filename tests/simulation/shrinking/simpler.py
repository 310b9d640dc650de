"""Simpler forms of a scenario: fewer processes, a shorter storm, rounder numbers."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from tests.simulation.scenario import Act, Options, Scenario

Event = TypeVar("Event", bound=msgspec.Struct)
# Numbers of processes, each of which is tried before greater ones.
COUNTS: Final = ("nodes", "workers", "clients", "concurrency")
# Everything is up by then.
FIRST_S: Final = 1.0
# The storm ends at least this long after the last act or fault.
AFTER_S: Final = 1.0
# Numbers of so many single acts and faults are simplified one by one.
FEW: Final = 12


def options(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with one option simpler each."""
    given = scenario.options
    for name in COUNTS:
        for count in range(1, getattr(given, name)):
            if name == "nodes" and count == 1:
                yield _with(scenario, nodes=1, shared=False)
            yield _with(scenario, **{name: count})
    times = [act.at for act in scenario.acts] + [fault.at for fault in scenario.faults]
    last_at = max(times, default=0.0)
    for storm_s in (last_at // 1 + AFTER_S, last_at // 1 + 10, last_at // 1 + 30):
        if storm_s < given.storm_s:
            yield _with(scenario, storm_s=storm_s)
    usual = Options()
    for name in given.__struct_fields__:
        value = getattr(usual, name)
        if name not in (*COUNTS, "storm_s", "shared") and getattr(given, name) != value:
            yield _with(scenario, **{name: value})


def times(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with everything earlier, or closer together."""
    at = [act.at for act in scenario.acts] + [fault.at for fault in scenario.faults]
    first = min(at, default=0.0)
    if first > 2 * FIRST_S:
        yield _moved(scenario, lambda moment: moment - first + FIRST_S)
    if max(at, default=0.0) > 4 * FIRST_S:
        yield _moved(scenario, lambda moment: moment / 2)


def numbers(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with rounder numbers: in all acts or faults, or in one if they are few."""
    for digits in (0, 1):
        for names in (("at",), ("lasts",), ("level",), ("at", "lasts", "level")):
            yield msgspec.structs.replace(
                scenario,
                acts=[_rounded(act, names, digits) for act in scenario.acts],
                faults=[_rounded(fault, names, digits) for fault in scenario.faults],
            )
    for zero in (True, False):
        yield msgspec.structs.replace(
            scenario,
            acts=[
                msgspec.structs.replace(one, what=_calm(one.what, zero)) for one in scenario.acts
            ],
        )
    if len(scenario.faults) <= FEW:
        for place, fault in enumerate(scenario.faults):
            for name in ("at", "lasts", "level"):
                for smaller in _smaller(getattr(fault, name)):
                    changed = msgspec.structs.replace(fault, **{name: smaller})
                    faults = [*scenario.faults[:place], changed, *scenario.faults[place + 1 :]]
                    yield msgspec.structs.replace(scenario, faults=faults)
    if len(scenario.acts) <= FEW:
        for place, act in enumerate(scenario.acts):
            for simpler in _acts(act):
                acts = [*scenario.acts[:place], simpler, *scenario.acts[place + 1 :]]
                yield msgspec.structs.replace(scenario, acts=acts)


def _acts(act: Act) -> Iterator[Act]:
    """Yield simpler forms of an act."""
    if act.client:
        yield msgspec.structs.replace(act, client=0)
    for at in _smaller(act.at):
        yield msgspec.structs.replace(act, at=at)
    for what in _parts(act.what):
        yield msgspec.structs.replace(act, what=what)


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value with one option left out, or one number in it smaller."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "options" and isinstance(inner, dict):
                for left_out in inner:
                    rest = {one: kept for one, kept in inner.items() if one != left_out}
                    yield {**value, name: rest}
            for simpler in _parts(inner):
                yield {**value, name: simpler}
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            for simpler in _parts(inner):
                yield [*value[:place], simpler, *value[place + 1 :]]
    elif isinstance(value, float):
        yield from _smaller(value)


def _smaller(number: float) -> Iterator[float]:
    """Yield rounder numbers for one, the simplest first."""
    for rounder in dict.fromkeys((0.0, float(round(number)), round(number, 1))):
        if rounder != number and (rounder > 0 or number > 0):
            yield rounder


def _calm(value: Any, zero: bool) -> Any:
    """Return a value in which all fractions are zero, or whole."""
    if isinstance(value, dict):
        return {name: _calm(inner, zero) for name, inner in value.items()}
    if isinstance(value, list):
        return [_calm(inner, zero) for inner in value]
    if isinstance(value, float):
        return 0.0 if zero else float(round(value))
    return value


def _moved(scenario: Scenario, move: Callable[[float], float]) -> Scenario:
    return msgspec.structs.replace(
        scenario,
        acts=[msgspec.structs.replace(act, at=round(move(act.at), 3)) for act in scenario.acts],
        faults=[
            msgspec.structs.replace(fault, at=round(move(fault.at), 3)) for fault in scenario.faults
        ],
    )


def _rounded(event: Event, names: tuple[str, ...], digits: int) -> Event:
    new = {
        name: round(getattr(event, name), digits)
        for name in names
        if name in event.__struct_fields__
    }
    return msgspec.structs.replace(event, **new)


def _with(scenario: Scenario, **changes: Any) -> Scenario:
    changed = msgspec.structs.replace(scenario.options, **changes)
    return msgspec.structs.replace(scenario, options=changed)
