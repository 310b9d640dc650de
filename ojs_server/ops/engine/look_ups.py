"""Outcomes of batches whose commit the store did not confirm."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from ojs_server.environment import Environment
from ojs_server.ops.engine.availability import refusal
from ojs_server.ops.engine.batch import Committed
from ojs_server.ops.engine.caller import Caller, Waiting
from ojs_server.ops.operation import Outcome
from ojs_server.store.base import OutcomeUnknown

# Time after which a caller without a longer wait of its own learns that the outcome is unknown.
LOOK_UP_S: Final = 2.0
# Batches whose outcomes are looked up concurrently.
LOOK_UPS: Final = 8


class LookUps:
    """Looks outcomes up in threads; `answer` is given a batch with its outcomes, and `resolve` a
    caller whose wait has ended."""

    def __init__(
        self,
        environment: Environment,
        answer: Callable[[list[Waiting], Committed], None],
        resolve: Callable[[Caller, Outcome], None],
    ) -> None:
        self._answer = answer
        self._resolve = resolve
        self._loop = asyncio.get_running_loop()
        self._monotonic = environment.monotonic
        self._threads = environment.threads.executor(LOOK_UPS, "ojs-outcome")
        self._running: set[asyncio.Future[Committed]] = set()

    async def close(self) -> None:
        """Finish what is looked up, then end the threads."""
        if self._running:
            await asyncio.wait(self._running)
        self._threads.shutdown()

    def begin(self, batch: list[Waiting], committed: Committed) -> None:
        """Look up the outcome of a batch in the store, then answer its callers.

        Callers whose wait ends earlier are answered that it is unknown; the look-up continues.
        """
        looking_up = self._loop.run_in_executor(self._threads, committed.resolved)
        began_at = self._monotonic()
        callers = dict(enumerate(caller for _, caller, _ in batch))
        timers = [
            self._loop.call_later(due - began_at, self._give_up, callers, due)
            for due in {max(began_at + LOOK_UP_S, one.waits_until) for one in callers.values()}
        ]

        def answer_callers(answer: asyncio.Future[Committed]) -> None:
            for timer in timers:
                timer.cancel()
            self._running.discard(answer)
            error = answer.exception()
            done = (
                answer.result()
                if error is None
                else Committed([error] * len(batch), looked_up=True)
            )
            given_up = len(batch) - len(callers)
            self._answer(
                [batch[place] for place in callers],
                msgspec.structs.replace(
                    done,
                    outcomes=[done.outcomes[place] for place in callers],
                    unknown=max(done.unknown, given_up),
                ),
            )

        self._running.add(looking_up)
        looking_up.add_done_callback(answer_callers)

    def _give_up(self, callers: dict[int, Caller], now: float) -> None:
        """Answer callers whose wait has ended that the outcome is unknown, and forget them."""
        for place in [place for place, one in callers.items() if one.waits_until <= now]:
            self._resolve(callers.pop(place), refusal(OutcomeUnknown("")))
