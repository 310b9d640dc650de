"""Commands on many jobs, by ids or by filter: one confirmation, and a report of the failures."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from ojs_cli import filters, finding
from ojs_cli.confirmation import confirm
from ojs_cli.failures import CONFLICT, MISUSED, OK, PART_DONE, Failure
from ojs_cli.filters import Filter
from ojs_cli.progress import Progress
from ojs_cli.server import Server, segment
from ojs_cli.session import Session
from ojs_cli.text import count
from ojs_worker.errors import NotFound

Json = dict[str, Any]
CHUNK: Final = 1000
SAMPLE: Final = 5
_EXTENSION: Final = "urn:ojs:ext:bulk-operations"


class Action(msgspec.Struct, frozen=True):
    """An action on jobs: its name, whether it destroys them, and the states that it applies to."""

    verb: str
    past: str
    destroys: bool = False
    # Default for a filter without states.
    states: str = ""
    # True for actions on dead letters, which have calls of their own.
    dead: bool = False


CANCEL: Final = Action("cancel", "cancelled", states="available,scheduled")
RETRY: Final = Action("retry", "retried", states="discarded")
DELETE: Final = Action("delete", "deleted", True, states="completed,cancelled,discarded")
RETRY_DEAD: Final = Action("retry", "retried", states="discarded", dead=True)
DELETE_DEAD: Final = Action("delete", "deleted", True, states="discarded", dead=True)


class Tally(msgspec.Struct):
    """Counts of the jobs that an action matched and changed, and the errors of the others."""

    matched: int = 0
    done: int = 0
    undone: list[Json] = []

    def add(self, answer: Json) -> None:
        """Add the answer of one call."""
        self.matched += answer.get("matched") or 0
        self.done += answer.get("succeeded") or 0
        for item in answer.get("items") or answer.get("errors") or ():
            if isinstance(item, dict) and (item.get("error") or item.get("reason")):
                self.undone.append(item)


def change(
    session: Session, action: Action, words: Sequence[str], *, yes: bool, dry_run: bool
) -> int:
    """Change the jobs that are named or that match a filter; returns the exit code."""
    ids = [word for word in words if finding.is_id(word)]
    if ids and len(ids) < len(words):
        raise Failure("name jobs by their ids or by a filter, not by both", exit_code=MISUSED)
    if not words:
        hint = f"write ids or a filter, such as state:{action.states.split(',')[0]} queue:mail"
        raise Failure(f"which jobs are to be {action.past}?", hint, exit_code=MISUSED)
    if ids:
        whole = [finding.job_id(session.server, job_id) for job_id in ids]
        return _by_ids(session, action, whole, yes=yes, dry_run=dry_run)
    return _by_filter(session, action, _filter_of(session, action, words), yes=yes, dry_run=dry_run)


def _filter_of(session: Session, action: Action, words: Sequence[str]) -> Filter:
    job_filter = filters.parse(words, session.environment.wall_ms())
    if "states" in job_filter.parameters:
        return job_filter
    return msgspec.structs.replace(
        job_filter, parameters={**job_filter.parameters, "states": action.states}
    )


def _by_ids(session: Session, action: Action, ids: list[str], *, yes: bool, dry_run: bool) -> int:
    question = f"{action.verb} {count(len(ids), 'job')}"
    if dry_run:
        chunks = [{"job_ids": chunk} for chunk in _chunks(ids)]
        return _rehearse(session, action, chunks, question)
    if action.destroys:
        confirm(session, question, len(ids), yes=yes, destroys=True, sample=ids[:SAMPLE])
    if len(ids) == 1 and not action.destroys:
        return _change_one(session, action, ids[0])
    tally = Tally()
    with Progress(session, action.past, len(ids)) as progress:
        for chunk in _chunks(ids):
            tally.add(_call(session.server, action, {"job_ids": chunk}))
            progress.at(tally.done)
    return _report(session, action, tally)


def _change_one(session: Session, action: Action, job_id: str) -> int:
    """Change one job by a call that every server has."""
    part = segment(job_id)
    try:
        if action.verb == "cancel":
            session.server.call("DELETE", f"/jobs/{part}")
        else:
            session.server.first("POST", f"/admin/jobs/{part}/retry", f"/dead-letter/{part}/retry")
    except NotFound as error:
        if error.code:
            finding.job(session.server, job_id)
        raise
    if session.output.for_people:
        session.output.write_line(f"{action.past} {job_id}", style="")
    else:
        session.output.whole({"id": job_id, "status": action.past}, ())
    return OK


def _by_filter(
    session: Session, action: Action, job_filter: Filter, *, yes: bool, dry_run: bool
) -> int:
    server = session.server
    sample = list(islice(finding.matching(server, job_filter), SAMPLE))
    ids: list[str] | None = None
    if job_filter.is_local:
        ids = [str(job["id"]) for job in finding.matching(server, job_filter)]
        number, exact = len(ids), True
    else:
        number, exact = finding.count(server, job_filter)
    most = count(number, "job") if exact else f"at least {count(number, 'job')}"
    question = f"{action.verb} {most} with {job_filter.text}"
    if not sample:
        session.output.note(f"would {question}")
        return OK
    if dry_run:
        bodies = [_filtering(action, job_filter)]
        if ids is not None:
            bodies = [{"job_ids": chunk} for chunk in _chunks(ids)]
        return _rehearse(session, action, bodies, question)
    lines = [f"{job['id']} {job.get('type')} {job.get('state')}" for job in sample]
    confirm(session, question, number, yes=yes, destroys=action.destroys, sample=lines)
    tally = Tally()
    with Progress(session, action.past, number if exact else None) as progress:
        for answer in _answers(server, action, job_filter, ids):
            tally.add(answer)
            progress.at(tally.done)
    return _report(session, action, tally)


def _answers(
    server: Server, action: Action, job_filter: Filter, ids: list[str] | None
) -> Iterator[Json]:
    if ids is not None:
        for chunk in _chunks(ids):
            yield _call(server, action, {"job_ids": chunk})
        return
    body = {**_filtering(action, job_filter), "confirm": True}
    while True:
        answer = _call(server, action, body)
        yield answer
        # Jobs that could not be changed match again, so end after a call without success.
        if not answer.get("has_more") or not answer.get("succeeded"):
            return


def _filtering(action: Action, job_filter: Filter) -> Json:
    """Return the body that names the jobs by a filter."""
    criteria = job_filter.body()
    if action.dead:
        criteria.pop("states", None)
    return {"filter": criteria}


def has_dry_runs(server: Server) -> bool:
    """Return True if calls that change many jobs take `dry_run`. A server that does not know the
    member may ignore it, and change the jobs."""
    details = server.get("/ojs/manifest").get("extensions_detail")
    bulk = details.get(_EXTENSION) if isinstance(details, dict) else None
    return isinstance(bulk, dict) and bool(bulk.get("dry_run"))


def _rehearse(session: Session, action: Action, bodies: Iterable[Json], question: str) -> int:
    """Say what calls would change, by dry runs of the server, or by the count of a server that has
    none."""
    if not has_dry_runs(session.server):
        session.output.note(f"would {question}")
        return OK
    tally, more = Tally(), False
    for body in bodies:
        answer = _call(session.server, action, {**body, "dry_run": True})
        tally.add(answer)
        more = more or bool(answer.get("has_more"))
    session.output.note(f"would {question}")
    left = tally.matched - tally.done
    if left:
        session.output.note(f"{count(left, 'job')} of these could not be {action.past}:")
        _list_undone(session, tally)
    if more:
        session.output.note(f"one call changes {count(tally.matched, 'job')}, so it takes several")
    return OK


def _call(server: Server, action: Action, body: Json) -> Json:
    if not action.dead:
        return server.call("POST", f"/jobs/bulk/{action.verb}", body, timeout_s=300)
    if action.verb == "retry":
        return server.call("POST", "/dead-letter/retry", body, timeout_s=300)
    if "job_ids" in body:
        body = {**body, "confirm": True}
    return server.call("DELETE", "/dead-letter", body, timeout_s=300)


def _report(session: Session, action: Action, tally: Tally) -> int:
    output = session.output
    if output.for_people:
        output.write_line(f"{action.past} {count(tally.done, 'job')}", style="")
        _list_undone(session, tally)
    else:
        summary = {"action": action.verb, "succeeded": tally.done, "undone": tally.undone}
        output.whole(summary, ())
    if not tally.undone:
        return OK
    return PART_DONE if tally.done else CONFLICT


def _list_undone(session: Session, tally: Tally) -> None:
    for item in tally.undone:
        error = item.get("error")
        reason = error.get("message") if isinstance(error, dict) else item.get("reason")
        session.output.note(f"ojs: {item.get('job_id')}: {reason}")


def _chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(ids)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
