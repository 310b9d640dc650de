"""The `parent_results` of a workflow job: the results of the jobs before it.

An array with one place for each member of the definition it stands in, up to the last one that
counts: the result of every member it waited for, directly or not, and null for the others. The
first jobs of a nested definition get what the definition itself was given. A callback gets all
members, also the failed ones, which stand as `{"error": …}`.
"""

from collections.abc import Iterator, Mapping

from ojs_server.domain.workflows.plan import NodeState, NodeStates, Plan, WorkflowKind


def parents_of(plan: Plan, index: int) -> tuple[int | None, ...]:
    """Return the nodes whose results a node gets; None for members that do not count."""
    node = plan.nodes[index]
    if node.scope is None:
        return ()
    members = plan.nodes[node.scope].members
    if node.fires:
        return members
    if not node.needs:
        return parents_of(plan, node.scope)
    before: set[int] = set()
    found = list(node.needs)
    while found:
        parent = found.pop()
        if parent not in before:
            before.add(parent)
            found.extend(plan.nodes[parent].needs)
    last = members.index(max(before))
    return tuple(member if member in before else None for member in members[: last + 1])


def sources(plan: Plan, progress: NodeStates, parents: tuple[int | None, ...]) -> tuple[int, ...]:
    """Return the jobs whose results or errors `gather` looks up."""
    return tuple(
        job for parent in parents if parent is not None for job in _jobs(plan, progress, parent)
    )


def gather(
    plan: Plan,
    progress: NodeStates,
    parents: tuple[int | None, ...],
    results: Mapping[int, bytes],
    errors: Mapping[int, bytes],
) -> bytes:
    """Return `parent_results` as JSON; both mappings hold JSON by job."""
    return b"[%b]" % b",".join(
        b"null" if parent is None else _value(plan, progress, parent, results, errors)
        for parent in parents
    )


def _jobs(plan: Plan, progress: NodeStates, index: int) -> Iterator[int]:
    if plan.nodes[index].kind is None:
        yield index
        return
    for part in _telling(plan, progress, index):
        yield from _jobs(plan, progress, part)


def _telling(plan: Plan, progress: NodeStates, index: int) -> tuple[int, ...]:
    """Return the members that form the result of a definition: for a chain, the last that ran."""
    node = plan.nodes[index]
    if node.kind is not WorkflowKind.CHAIN:
        return node.members
    ran = [member for member in node.members if progress.nodes[member] is not NodeState.CANCELLED]
    return tuple(ran[-1:])


def _value(
    plan: Plan,
    progress: NodeStates,
    index: int,
    results: Mapping[int, bytes],
    errors: Mapping[int, bytes],
) -> bytes:
    kind = plan.nodes[index].kind
    if kind is None:
        if index in results:
            return results[index]
        return b'{"error":%b}' % errors[index] if index in errors else b"null"
    values = [
        _value(plan, progress, part, results, errors) for part in _telling(plan, progress, index)
    ]
    if kind is WorkflowKind.CHAIN:
        return values[0] if values else b"null"
    return b"{%b}" % b",".join(b'"%d":%b' % (at, value) for at, value in enumerate(values))
