"""Workflow requests of every shape, and the expected progress of each."""

from typing import Any, Final

from hypothesis import strategies as st

from ojs_server.domain.workflows.plan import NodeState

CALLBACKS: Final = ("on_complete", "on_success", "on_failure")


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request up to four deep; its jobs are called j0, j1, ... in no special order."""
    count = iter(range(10_000))

    def member(depth: int) -> dict[str, Any]:
        if depth < 4 and draw(st.integers(0, 3)) == 0:
            return definition(depth + 1)
        return {"type": f"j{next(count)}", "args": []}

    def definition(depth: int) -> dict[str, Any]:
        kind = draw(st.sampled_from(["chain", "group", "batch", "dag"]))
        members = [member(depth) for _ in range(draw(st.integers(1, 4)))]
        if kind == "dag":
            for at, step in enumerate(members):
                step["id"] = f"s{at}"
                before = st.sampled_from(range(at)) if at else st.nothing()
                step["depends_on"] = sorted(f"s{one}" for one in draw(st.sets(before)))
            return {"steps": draw(st.permutations(members))}
        body: dict[str, Any] = {"type": kind, "steps" if kind == "chain" else "jobs": members}
        if kind == "batch":
            kinds = draw(st.sets(st.sampled_from(CALLBACKS), min_size=1))
            body["callbacks"] = {one: member(depth) for one in sorted(kinds)}
        return body

    return definition(1)


class Moment:
    """The expected progress of a workflow whose given jobs have ended, from its text alone."""

    def __init__(self, body: dict[str, Any], ends: dict[str, NodeState]) -> None:
        self.enqueued: set[str] = set()
        self._ends = ends
        self.end = self._of(body, True)

    def _of(self, body: dict[str, Any], runs: bool | None) -> NodeState | None:
        """The end of a job or a definition; None while it is open, as is whether it runs."""
        if "args" in body:
            if runs:
                self.enqueued.add(body["type"])
                return self._ends.get(body["type"])
            return None if runs is None else NodeState.CANCELLED
        ends = self._members(body, runs)
        open_ = any(end is None for end in ends)
        well = all(end is NodeState.COMPLETED for end in ends)
        fired: list[NodeState | None] = []
        for kind, one in body.get("callbacks", {}).items():
            wanted = {"on_complete": True, "on_success": well, "on_failure": not well}[kind]
            end = self._of(one, None if open_ and runs else runs and wanted)
            fired += [end] if wanted and not open_ else []
        if runs is False:
            return NodeState.CANCELLED
        if runs is None or open_ or None in fired:
            return None
        well = all(end is NodeState.COMPLETED for end in fired) if fired else well
        return NodeState.COMPLETED if well else NodeState.FAILED

    def _members(self, body: dict[str, Any], runs: bool | None) -> list[NodeState | None]:
        members = body.get("steps") or body["jobs"]
        if "type" not in body:
            return self._graph({step["id"]: step for step in members}, runs)
        ends: list[NodeState | None] = []
        for one in members:
            needs = ends[-1:] if body["type"] == "chain" else []
            ends.append(self._of(one, _may(runs, needs)))
        return ends

    def _graph(self, steps: dict[str, Any], runs: bool | None) -> list[NodeState | None]:
        ends: dict[str, NodeState | None] = {}
        # A step names only those with a smaller number.
        for name in sorted(steps):
            needs = [ends[before] for before in steps[name]["depends_on"]]
            ends[name] = self._of(steps[name], _may(runs, needs))
        return list(ends.values())


def _may(runs: bool | None, needs: list[NodeState | None]) -> bool | None:
    if not runs:
        return runs
    if any(end not in (None, NodeState.COMPLETED) for end in needs):
        return False
    return None if None in needs else True
