"""Group commit: operations that arrive while a transaction commits form the next one.

There is no timer. A single request starts its transaction at the end of the event loop's iteration;
a busy server batches by itself, and each caller is answered after the commit of its work. Between
two batches the loop reads incoming requests a few times, as many small batches cost more than few
large ones.

Due operations, those of housekeeping, are committed before all that wait: in a batch of their own,
as a large one takes long on a busy machine. The next batch is for the others, too, so that they get
their turn whatever is due.

A thread waits for the disk. It also carries the batches out, unless the loop can do that itself:
two busy threads compete for the interpreter lock. If the store did not confirm a commit, the
outcome is looked up while the next batch is carried out (`look_ups.py`).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from operator import itemgetter
from typing import Final

from ojs_server.domain.errors import Unavailable
from ojs_server.environment import Environment
from ojs_server.ops.engine.availability import refusal
from ojs_server.ops.engine.batch import Committed, LocksBusy, UncommittedBatch
from ojs_server.ops.engine.caller import Awaited, Caller, HeldUp, Waiting
from ojs_server.ops.engine.look_ups import LookUps
from ojs_server.ops.operation import AnyOperation, Operation, Outcome, Result
from ojs_server.store.base import StoreUnavailable
from ojs_wire import codes

MAX_BATCH: Final = 512
MAX_JOBS: Final = 2000
# Iterations of the loop before the next batch, so that answered callers can join it.
TURNS: Final = 8
# Retry interval and time limit for operations blocked by another server's lock.
AGAIN_S: Final = 0.1
HELD_UP_S: Final = 10.0
# Most operations that are skipped, because they conflict with a batch, to fill it.
MAX_KEPT: Final = 512

_operation: Final[Callable[[Waiting], AnyOperation]] = itemgetter(0)


class GroupCommit:
    """Collects operations, commits them in batches in a thread, and wakes their callers."""

    def __init__(
        self,
        carry_out: Callable[[list[AnyOperation], UncommittedBatch | None], Committed],
        on_commit: Callable[[Committed], None],
        environment: Environment,
        *,
        begin: Callable[[list[AnyOperation]], UncommittedBatch | None] = lambda ops: None,
        max_waiting: int = 10_000,
    ) -> None:
        self._carry_out = carry_out
        self._begin = begin
        self._on_commit = on_commit
        self._max_waiting = max_waiting
        self._enough = min(max_waiting, MAX_BATCH)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Waiting] = deque()
        self._due: deque[Waiting] = deque()
        # True if the last batch had only due operations, while others waited.
        self._passed_over = False
        # Arrival of the first operation that waits behind the running batch.
        self._behind_since: float | None = None
        # Operations blocked by another server's lock; they are retried before all others.
        self._held_up: list[tuple[AnyOperation, Caller]] = []
        self._busy = False
        # Start of the batch in the writer's thread.
        self._began: float | None = None
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._monotonic = environment.monotonic
        self._batches = environment.threads.inbox("ojs-writer", self._write)
        self._look_ups = LookUps(environment, self._answer, self._resolve)

    @property
    def depth(self) -> int:
        """Return the number of operations that wait for their transaction."""
        return len(self._due) + len(self._waiting) + len(self._held_up)

    def busy_s(self) -> float:
        """Return how long the running batch has taken so far, in seconds."""
        return 0.0 if self._began is None else self._monotonic() - self._began

    def behind_s(self) -> float:
        """Return for how long the first operation has waited that comes after the running batch."""
        since = self._behind_since
        return 0.0 if since is None else self._monotonic() - since

    async def submit(self, operation: Operation[Result]) -> Result:
        """Carry out an operation; return its outcome after the commit, or raise its error."""
        awaited = Awaited(self._loop)
        self.enter(operation, awaited)
        result: Result = await awaited
        return result

    def enter(self, operation: AnyOperation, caller: Caller) -> None:
        """Queue an operation for its caller; raise if too many wait already, unless it is due."""
        if self._closing or (self.depth >= self._max_waiting and not operation.due):
            raise Unavailable(
                "the server is stopping"
                if self._closing
                else f"{self._max_waiting} requests wait for the store already",
                code=codes.OVERLOADED,
                headers={"Retry-After": "1"},
            )
        line = self._due if operation.due else self._waiting
        line.append((operation, caller, self._monotonic()))
        if not self._busy:
            self._begin_soon()

    async def close(self) -> None:
        """Finish submitted operations, then end the thread."""
        self._closing = True
        # A last attempt for blocked operations: while closing they are not put off again.
        self._try_again()
        await self._idle.wait()
        await asyncio.to_thread(self._batches.close)
        await self._look_ups.close()

    def _begin_soon(self) -> None:
        self._busy = True
        self._idle.clear()
        # At the end of this turn, so that requests read together are committed together.
        self._loop.call_soon(self._start)

    def _try_again(self) -> None:
        if self._held_up:
            now = self._monotonic()
            for operation, caller in reversed(self._held_up):
                self._waiting.appendleft((operation, caller, now))
            self._held_up.clear()
            if not self._busy:
                self._begin_soon()

    def _put_off(self, operation: AnyOperation, caller: Caller) -> bool:
        """Put off an operation that is held up, for a limited time."""
        now = self._loop.time()
        if not isinstance(caller, HeldUp):
            caller = HeldUp(caller, now + HELD_UP_S)
        if self._closing or now >= caller.until:
            return False
        if not self._held_up:
            self._loop.call_later(AGAIN_S, self._try_again)
        self._held_up.append((operation, caller))
        return True

    def _start(self) -> None:
        batch = self._next() if self._waiting or self._due else []
        self._behind_since = self._waiting[0][2] if self._waiting else None
        if batch:
            self._began = self._monotonic()
            ops = list(map(_operation, batch))
            self._batches.put((batch, ops, self._begun(ops)))
        else:
            self._busy = False
            self._idle.set()

    def _begun(self, ops: list[AnyOperation]) -> UncommittedBatch | None:
        try:
            return self._begin(ops)
        except Exception:
            # The transaction was rolled back. The writer retries the batch, and handles a failure.
            return None

    def _next(self) -> list[Waiting]:
        """Return the next batch: what is due, unless the last one passed over others for that."""
        if self._due:
            batch = [] if self._passed_over else self._take(self._due)
            self._passed_over = bool(batch and self._waiting)
            if batch:
                return batch
            self._waiting.extendleft(reversed(self._due))
            self._due.clear()
        self._passed_over = False
        return self._take(self._waiting)

    def _take(self, waiting: deque[Waiting]) -> list[Waiting]:
        """Return a batch of a line, up to a number of jobs unless a single operation has more.

        An operation that conflicts with one in the batch waits, and keeps its position.
        """
        batch: list[Waiting] = []
        kept: list[Waiting] = []
        touched: set[object] = set()
        jobs = 0
        while waiting:
            operation, caller, _ = one = waiting.popleft()
            if caller.gone():
                continue
            if keys := operation.keys:
                touching = not touched.isdisjoint(keys)
                touched.update(keys)
                if touching:
                    kept.append(one)
                    if len(kept) == MAX_KEPT:
                        break
                    continue
            jobs += operation.job_count
            if jobs > MAX_JOBS and batch:
                kept.append(one)
                break
            batch.append(one)
            if jobs >= MAX_JOBS or len(batch) == MAX_BATCH:
                break
        waiting.extendleft(reversed(kept))
        return batch

    def _write(
        self, given: tuple[list[Waiting], list[AnyOperation], UncommittedBatch | None]
    ) -> None:
        batch, ops, begun = given
        try:
            committed = self._carry_out(ops, begun)
        except BaseException as error:  # answer the callers in any case
            committed = Committed([error] * len(batch))
        self._loop.call_soon_threadsafe(self._finish, batch, committed)

    def _finish(self, batch: list[Waiting], committed: Committed) -> None:
        self._began = None
        # Start due operations before answering the callers, which takes long.
        begun = bool(self._due) and not (self._passed_over or committed.away)
        if begun:
            self._start()
        try:
            if committed.doubt is None:
                self._answer(batch, committed)
            else:
                self._look_ups.begin(batch, committed)
            if committed.away:
                # Each batch would find that out for itself, one after the other.
                callers = [caller for _, caller in self._held_up]
                callers += [caller for _, caller, _ in (*self._due, *self._waiting)]
                self._held_up.clear()
                self._due.clear()
                self._waiting.clear()
                for caller in callers:
                    self._resolve(caller, refusal(StoreUnavailable()))
        finally:
            if not begun:
                # A single caller has nobody to wait for.
                self._gather(TURNS if len(batch) > 1 or self._waiting else 0)

    def _answer(self, batch: list[Waiting], committed: Committed) -> None:
        for (operation, caller, _), outcome in zip(batch, committed.outcomes, strict=True):
            if isinstance(outcome, LocksBusy) and self._put_off(operation, caller):
                continue
            self._resolve(caller, outcome)
        self._on_commit(committed)

    def _resolve(self, caller: Caller, outcome: Outcome) -> None:
        try:
            caller.resolve(outcome)
        except Exception as error:
            # Other callers still get their answers.
            self._loop.call_exception_handler(
                {"message": "an outcome could not be delivered to its caller", "exception": error}
            )

    def _gather(self, turns: int) -> None:
        """Start the next batch after some turns of the loop, each of which reads requests.

        It starts at once if the batch is full: in a flood each turn takes long and only refuses.
        """
        if turns and len(self._waiting) < self._enough:
            self._loop.call_soon(self._gather, turns - 1)
        else:
            self._start()
