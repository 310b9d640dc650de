"""Lost wake-ups: a job is there, and the worker that waits for it sleeps on."""

from typing import Any

from ojs_server.loops.housekeeping import Housekeeping
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.wakeups import Waiter, Wakeups
from ojs_server.ops.ledger import Ledger
from ojs_server.ops.limits import releases
from ojs_server.ops.queues.control import SetPaused
from ojs_server.ops.unit_of_work import Work
from tests.faulty.planting import put, wrap
from tests.simulation.planted.registry import planted


@planted(sees="waiters", needs="a commit during the look of a FETCH", like="8bd92af9")
def wake_during_a_look_is_forgotten() -> None:
    """A FETCH that begins to wait forgets the wake-up that came while it looked for jobs."""

    async def wait(self: Waiter) -> None:
        self.clear()
        await self._event.wait()

    put(Waiter, "wait", wait)


@planted(sees="waiters", needs="a woken FETCH whose caller is gone", like="8bd92af9")
def unused_wake_is_dropped() -> None:
    """A FETCH that ends after a wake-up, and has not used it, wakes no other one."""

    def make(leave: Any) -> Any:
        def left(self: Wakeups, waiter: Waiter) -> None:
            waiter.clear()
            leave(self, waiter)

        return left

    wrap(Wakeups, "leave", make)


@planted(sees="waiters", needs="a FETCH of other types before the one that suits", like="09dee2f3")
def a_choosy_fetch_takes_the_wake() -> None:
    """A job wakes the first FETCH that waits alone, though that may not take jobs of its type."""

    def make(wake: Any) -> Any:
        def first_only(self: Wakeups, queues: Any) -> None:
            for queue in queues:
                for waiter in self._by_queue.get(queue, ()):
                    waiter.picky = False
            wake(self, queues)

        return first_only

    wrap(Wakeups, "wake", make)


@planted(sees="waiters", needs="2 nodes, a lost notice")
def lost_notices_are_not_made_up_for() -> None:
    """Housekeeping wakes no FETCH that waits although there are jobs."""

    async def look(self: Housekeeping, now: int) -> None:
        if self._shared and self._engine.wakeups:
            await self._engine.note_waiting(now + 5_000)
            self._engine.producers.wake_all()

    put(Housekeeping, "_look_for_waiters", look)


@planted(sees="waiters", needs="2 nodes")
def only_other_nodes_are_woken() -> None:
    """A commit wakes FETCHes that wait at other nodes, and none at its own."""

    def make(committed: Any) -> Any:
        def without_wakes(self: Engine, outcome: Any) -> None:
            outcome.wakes.clear()
            committed(self, outcome)

        return without_wakes

    wrap(Engine, "_committed", make)


@planted(sees="waiters", needs="2 nodes, a FETCH that waits at the other one")
def only_the_own_node_is_woken() -> None:
    """A commit wakes FETCHes that wait at its own node, and sends the others no notice."""

    def make(flush: Any) -> Any:
        def flushed(self: Ledger) -> None:
            tx, self.tx.announce = self.tx, lambda queues: None  # type: ignore[method-assign]
            flush(self)
            del tx.announce

        return flushed

    wrap(Ledger, "flush", make)


@planted(sees="waiters", needs="a full queue of a limited concurrency")
def an_end_wakes_no_limited_queue() -> None:
    """The end of a job wakes no FETCH that waits for a queue whose concurrency was used up."""
    put(releases, "_is_counted", lambda ledger, job: False)


@planted(sees="producers", needs="an enqueue that waits for room", like="8bd92af9")
def room_wakes_no_producer() -> None:
    """A job that leaves a full queue wakes none of the producers that wait for room."""

    def make(flush: Any) -> Any:
        def flushed(self: Work) -> None:
            self.departed.clear()
            flush(self)

        return flushed

    wrap(Work, "flush", make)


@planted(sees="waiters", needs="a pause and a resume while a FETCH waits")
def a_resume_wakes_nobody() -> None:
    """A queue that is resumed wakes no FETCH that waits for it."""

    def make(carry_out: Any) -> Any:
        def silent(self: SetPaused, work: Work) -> Any:
            done = carry_out(self, work)
            work.wakes.pop(self.queue, None)
            return done

        return silent

    wrap(SetPaused, "carry_out", make)
