"""Results of workflow jobs, up to a size: passed on to the next jobs, and shown to readers."""

from collections.abc import Mapping, Sequence
from typing import Final

from ojs_server.domain.workflows.plan import Launch, NodeStates, Plan
from ojs_server.domain.workflows.record import MemberJob, WaitingJob
from ojs_server.domain.workflows.results import gather, sources
from ojs_server.store.base import Reader, Tx
from ojs_server.store.records import NodePlace
from ojs_wire import codec

# Most bytes of earlier results that a job gets in full; the others are references.
MAX_PARENT_RESULTS: Final = 256 * 1024

Request = tuple[str, Plan, NodeStates, Launch]


def hand_on(
    tx: Tx, launches: Sequence[Request]
) -> tuple[dict[NodePlace, WaitingJob], dict[NodePlace, bytes]]:
    """Return the requests to enqueue, with the `parent_results` of each."""
    places_by_node = {
        (flow, launch.node): [(flow, node) for node in sources(plan, progress, launch.parents)]
        for flow, plan, progress, launch in launches
    }
    parents = dict.fromkeys(place for places in places_by_node.values() for place in places)
    # Sizes first, so that only the results are read that are passed on.
    known = tx.load_workflow_jobs(dict.fromkeys([*places_by_node, *parents]))
    fitting = {place: _fitting(places, known) for place, places in places_by_node.items()}
    distinct = dict.fromkeys(place for places in fitting.values() for place in places)
    found = tx.load_workflow_results(distinct) if distinct else {}
    handed = {}
    for flow, plan, progress, launch in launches:
        place = (flow, launch.node)
        results: dict[int, bytes] = {}
        errors: dict[int, bytes] = {}
        for parent in places_by_node[place]:
            given = found[parent] if parent in fitting[place] else _reference(known[parent])
            for kept, text in zip((results, errors), given, strict=True):
                if text is not None:
                    kept[parent[1]] = text
        handed[place] = gather(plan, progress, launch.parents, results, errors)
    return known, handed


def _fitting(parents: Sequence[NodePlace], known: Mapping[NodePlace, WaitingJob]) -> set[NodePlace]:
    """Return the results that are passed on in full: the nearest first, up to a size."""
    room, fitting = MAX_PARENT_RESULTS, set()
    for parent in reversed(parents):
        parent_job = known[parent]
        size = (parent_job.result_size or 0) + (parent_job.error_size or 0)
        if size <= room:
            room -= size
            fitting.add(parent)
    return fitting


def shown_results(reader: Reader, members: Sequence[MemberJob]) -> dict[int, bytes]:
    """Return the results of a workflow's jobs by node: as many as have room, the others as
    references to where they can be read."""
    room, needed, found = MAX_PARENT_RESULTS, {}, {}
    for member in members:
        if member.result_size is None:
            continue
        if member.result_size <= room:
            room -= member.result_size
            needed[member.job_id] = member.node
        else:
            found[member.node] = _where(member.job_id, member.result_size)
    results = reader.job_results(needed) if needed else {}
    return found | {needed[job_id]: result for job_id, result in results.items()}


def _reference(job: WaitingJob) -> tuple[bytes | None, bytes | None]:
    """Return the reference to the result or the error of a job that is too large to include."""
    if job.result_size is None:
        where = f"/ojs/v1/jobs/{job.job_id}"
        return None, codec.encode({"$ref": where, "size_bytes": job.error_size})
    return _where(job.job_id, job.result_size), None


def _where(job_id: str | None, size: int) -> bytes:
    return codec.encode({"$ref": f"/ojs/v1/jobs/{job_id}/result", "size_bytes": size})
