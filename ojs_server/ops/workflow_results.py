"""What jobs of a workflow are handed when they are enqueued: requests, and results up to a size."""

from collections.abc import Mapping, Sequence
from typing import Final

from ojs_server.domain.workflow_plan import Launch, Plan, Progress
from ojs_server.domain.workflow_record import WaitingJob
from ojs_server.domain.workflow_results import gather, sources
from ojs_server.store.base import Tx
from ojs_server.store.workflows import NodePlace
from ojs_wire import codec

# A job is given at most this much of what those before it left; the rest by reference.
MAX_PARENT_RESULTS: Final = 256 * 1024

Wanted = tuple[str, Plan, Progress, Launch]


def hand_on(
    tx: Tx, launches: Sequence[Wanted]
) -> tuple[dict[NodePlace, WaitingJob], dict[NodePlace, bytes]]:
    """The requests to enqueue, and the `parent_results` of each."""
    asked = {
        (flow, launch.node): [(flow, node) for node in sources(plan, progress, launch.parents)]
        for flow, plan, progress, launch in launches
    }
    parents = dict.fromkeys(place for places in asked.values() for place in places)
    # Sizes first: of a thousand large results only those are read that are handed on.
    known = tx.load_workflow_jobs(dict.fromkeys([*asked, *parents]))
    fitting = {place: _fitting(places, known) for place, places in asked.items()}
    wanted = dict.fromkeys(place for places in fitting.values() for place in places)
    found = tx.load_workflow_results(wanted) if wanted else {}
    handed = {}
    for flow, plan, progress, launch in launches:
        place = (flow, launch.node)
        results: dict[int, bytes] = {}
        errors: dict[int, bytes] = {}
        for parent in asked[place]:
            given = found[parent] if parent in fitting[place] else _reference(known[parent])
            for kept, text in zip((results, errors), given, strict=True):
                if text is not None:
                    kept[parent[1]] = text
        handed[place] = gather(plan, progress, launch.parents, results, errors)
    return known, handed


def _fitting(parents: Sequence[NodePlace], known: Mapping[NodePlace, WaitingJob]) -> set[NodePlace]:
    """Those whose results are handed on as they are: the nearest first, as far as there is room."""
    room, fitting = MAX_PARENT_RESULTS, set()
    for parent in reversed(parents):
        one = known[parent]
        size = (one.result_size or 0) + (one.error_size or 0)
        if size <= room:
            room -= size
            fitting.add(parent)
    return fitting


def _reference(job: WaitingJob) -> tuple[bytes | None, bytes | None]:
    """Where to read the result or the error of a job."""
    where = f"/ojs/v1/jobs/{job.job_id}"
    if job.result_size is None:
        return None, codec.encode({"$ref": where, "size_bytes": job.error_size})
    return codec.encode({"$ref": f"{where}/result", "size_bytes": job.result_size}), None
