"""Finds causes of failures in the published runner: unclaimed features, defects and quirks.

A failed case is played again with names of its own, and with one quirk after another removed.
Quirks are the cause if the case passes without them; only those that are needed for it are named.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec

from conformance.compat.quirks import RULES, Bite, Quirk
from conformance.language.model import Case, CaseFile
from conformance.verdicts.defects import reasons_of
from conformance.verdicts.features import Features
from conformance.verdicts.result import CaseResult, Cause, FailedCheck


class Again(msgspec.Struct, frozen=True):
    """The failures and quirks of another play of a case."""

    failures: tuple[FailedCheck, ...]
    bites: tuple[Bite, ...] = ()


Replay = Callable[[CaseFile, frozenset[Quirk]], Awaitable[Again]]


async def with_causes(
    results: Sequence[CaseResult],
    files: Iterable[CaseFile],
    features: Features,
    workers_before: Mapping[str, Sequence[str]],
    as_written: Replay | None,
    isolated: Replay,
) -> list[CaseResult]:
    """Add to each bad result its causes other than the server.

    One replay repeats the run as it was, and is None if the server is reset before each case; the
    other gives the case names of its own. `workers_before` names the workers that the server
    knew before a case.
    """
    by_path = {file.path: file for file in files}
    causes: dict[str, tuple[Cause, ...]] = {}
    shared: dict[str, Again | None] = {}
    for result in results:
        if not result.is_bad or any(exchange.trouble for exchange in result.exchanges):
            continue
        file = by_path[result.path]
        causes[result.path] = _in_itself(file, features)
        if not causes[result.path]:
            again = await as_written(file, frozenset()) if as_written else None
            if again is not None and not again.failures and workers_before.get(result.path):
                # It passed because the first play had revived a dead worker, so the failure stands.
                again = Again(result.failures)
            shared[result.path] = again
    # Only after all repetitions, since a replay with other names may change their state.
    for path, again in shared.items():
        causes[path] = await _by_play(by_path[path], again, isolated)
    return [
        msgspec.structs.replace(result, causes=causes.get(result.path, ())) for result in results
    ]


def _in_itself(file: CaseFile, features: Features) -> tuple[Cause, ...]:
    """Return the causes that need no replay: a missing claim, or a defective case."""
    if why := features.lacks(file):
        return (Cause(kind="not supported", why=why),)
    if file.case is None or file.problems:
        return (Cause(kind="defective", why="; ".join(file.problems)),)
    if file.case.deprecated:
        return (Cause(kind="defective", why=f"deprecated: {file.case.deprecated_reason}"),)
    return ()


async def _by_play(file: CaseFile, shared: Again | None, replay: Replay) -> tuple[Cause, ...]:
    """Return the defects and quirks that together explain a failure; none if they do not."""
    assert file.case is not None
    holds = partial(_holds, file.case)
    if shared is not None and holds(shared):
        return ()  # it passed when played again, so the cause is unknown
    mended: frozenset[Quirk] = frozenset()
    first = last = await replay(file, mended)
    bites = list(last.bites)
    while not holds(last):
        more = {bite.quirk for bite in last.bites} - mended
        if not more:
            return ()
        mended |= more
        last = await replay(file, mended)
        bites += last.bites
    for quirk in sorted(mended) if len(mended) > 1 else ():
        without = await replay(file, mended - {quirk})
        if holds(without):
            mended, last = mended - {quirk}, without
    places = {quirk: [bite.place for bite in bites if bite.quirk is quirk] for quirk in mended}
    if others := _failed_by_others(shared, first):
        places[Quirk.NAMES] = others
    return (
        *(Cause(kind="defective", why=why) for why in reasons_of(file.case, last.failures)),
        *(
            Cause(kind="quirk", name=quirk, why=RULES[quirk], places=tuple(dict.fromkeys(at)))
            for quirk, at in sorted(places.items())
        ),
    )


def _holds(case: Case, again: Again) -> bool:
    return len(reasons_of(case, again.failures)) == len(again.failures)


def _failed_by_others(shared: Again | None, isolated: Again) -> list[str]:
    """Return the places that fail only with names as written, which other cases use too."""
    kept = {_place(failure) for failure in isolated.failures}
    failures = shared.failures if shared is not None else ()
    return [_place(failure) for failure in failures if _place(failure) not in kept]


def _place(failure: FailedCheck) -> str:
    return f"[{failure.step_id}] {failure.field}"
