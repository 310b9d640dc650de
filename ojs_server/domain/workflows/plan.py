"""The data structures of a workflow: its plan, its progress, and the effects of a step.

Every form of workflow is a tree of nodes. A leaf is a job; the others are definitions, and node 0
is the whole workflow. A node waits for siblings (`needs`); a chain is one where each waits for the
one before, a group one where none waits, a batch a group with callbacks.

    chain [A, group [B, C], D]          0 chain
                                        ├── 1 A
                                        ├── 2 group   needs 1
                                        │   ├── 4 B
                                        │   └── 5 C
                                        └── 3 D       needs 2
"""

from enum import StrEnum
from typing import Final

import msgspec


class WorkflowKind(StrEnum):
    """The forms of a definition; `dag` is the one whose steps name their dependencies."""

    CHAIN = "chain"
    GROUP = "group"
    BATCH = "batch"
    DAG = "dag"


class Callback(StrEnum):
    """The condition for a callback to run, once everything it waits for has ended."""

    ON_COMPLETE = "on_complete"
    ON_SUCCESS = "on_success"
    ON_FAILURE = "on_failure"


class NodeState(StrEnum):
    """The state of a node.

    `pending` is a job that was enqueued and has not ended; its own record says more. `active` is
    a definition whose members are under way. `failed` is a job that ended in any way but success.
    `cancelled` is what never ran and never will, and what a cancel of the workflow stopped.
    """

    WAITING = "waiting"
    PENDING = "pending"
    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WorkflowState(StrEnum):
    """The state of the whole."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


# One letter per state: the progress of a large workflow is written with every step.
_LETTERS: Final = {
    NodeState.WAITING: "w",
    NodeState.PENDING: "p",
    NodeState.ACTIVE: "a",
    NodeState.COMPLETED: "c",
    NodeState.FAILED: "f",
    NodeState.CANCELLED: "x",
}
_STATES: Final = {letter: state for state, letter in _LETTERS.items()}

ENDED: Final = frozenset({NodeState.COMPLETED, NodeState.FAILED, NodeState.CANCELLED})


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """One job, or one definition with its members; numbers are places in `Plan.nodes`."""

    id: str
    scope: int | None = None
    needs: tuple[int, ...] = ()
    fires: Callback | None = None
    job_type: str | None = None
    kind: WorkflowKind | None = None
    members: tuple[int, ...] = ()
    callbacks: tuple[int, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """The tree of nodes without the data of the jobs, which keeps it cheap to store and read."""

    nodes: tuple[Node, ...]

    @property
    def root(self) -> Node:
        """Return the node of the whole workflow."""
        return self.nodes[0]


class NodeStates(msgspec.Struct, frozen=True):
    """The state of every node of a plan."""

    nodes: tuple[NodeState, ...]

    @property
    def state(self) -> WorkflowState:
        """Return the state of the whole workflow."""
        whole = self.nodes[0]
        return WorkflowState(whole) if whole in ENDED else WorkflowState.RUNNING

    def written(self) -> str:
        """Return the progress in its stored form."""
        return "".join(_LETTERS[state] for state in self.nodes)


def progress_of(written: str) -> NodeStates:
    """Decode stored progress."""
    return NodeStates(tuple(_STATES[letter] for letter in written))


class MemberCounts(msgspec.Struct, frozen=True):
    """Counts over the workflow's own members; a nested definition counts as one of them."""

    total: int
    completed: int
    failed: int
    cancelled: int

    @property
    def remaining(self) -> int:
        """Return the number of jobs that have not ended."""
        return self.total - self.completed - self.failed - self.cancelled


class Launch(msgspec.Struct, frozen=True):
    """A job to enqueue, and the nodes whose results it is given; None stands for a gap."""

    node: int
    parents: tuple[int | None, ...] = ()


class Notice(msgspec.Struct, frozen=True):
    """An event to emit, and the node it speaks of; 0 is the workflow."""

    type: str
    node: int


class Effects(msgspec.Struct, frozen=True):
    """The effects of one step, all of which are stored in one transaction.

    `dropped` are jobs that were never enqueued and never will be, `revoked` are enqueued jobs to
    cancel, `retried` are jobs that failed and are tried anew.
    """

    progress: NodeStates
    enqueue: tuple[Launch, ...] = ()
    dropped: tuple[int, ...] = ()
    revoked: tuple[int, ...] = ()
    retried: tuple[int, ...] = ()
    notices: tuple[Notice, ...] = ()
