"""The checks after a kill: each job is read, and at the end all that wait are delivered."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final

from conformance.guarantees.calls import Caller
from conformance.guarantees.ledger import ABSENT, Ledger
from conformance.guarantees.load import Load
from conformance.processes.program import StartError

_AT_ONCE: Final = 8
_PAUSE_S: Final = 0.2
# A backend that has just started again may know a job only after a moment.
_RECOVERY_S: Final = 5.0


class Checks:
    """Compares the jobs of a backend with the ledger."""

    def __init__(self, caller: Caller, ledger: Ledger, *, settle_s: float) -> None:
        self._caller = caller
        self._ledger = ledger
        self._settle_s = settle_s
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def after_kill(self, *, everything: bool = False) -> None:
        """Read all jobs that are open or were changed; one that is missing is read again."""
        ends = time.monotonic() + _RECOVERY_S
        ids = self._ledger.looks_at(everything=everything)
        while missing := await self._read(ids, until=lambda: time.monotonic() < ends):
            await asyncio.sleep(_PAUSE_S)
            ids = missing

    async def without_kill(self) -> None:
        """Learn from jobs that nothing has happened to which ones the backend forgets."""
        for id in self._ledger.looks_at():
            if (await self._state(id))[0] == ABSENT:
                self._ledger.not_kept(id)

    async def delivered(self, load: Load) -> None:
        """Take all jobs that wait; those that do not come though they can be read are lost.

        It ends when no job has come for a time, counted from the end of the last lease.
        """
        ends = time.monotonic() + self._settle_s
        while (waiting := self._ledger.waits_for()) and time.monotonic() < ends:
            if await load.drain():
                ends = time.monotonic() + self._settle_s
            await self._read(waiting, until=lambda: False)
            await asyncio.sleep(_PAUSE_S)
        self._ledger.never_came(waiting)

    async def _read(self, ids: Iterable[str], until: Callable[[], bool]) -> list[str]:
        """Compare each job; return those that are missing while these may yet be found."""

        async def read(id: str) -> str:
            async with self._at_once:
                state, at_s = await self._state(id)
            if state == ABSENT and self._ledger.is_missed(id) and until():
                return id
            self._ledger.seen(id, state, at_s)
            return ""

        return [id for id in await asyncio.gather(*map(read, ids)) if id]

    async def _state(self, id: str) -> tuple[str, float]:
        """Return the state of a job, and the time at which it was answered."""
        ends = time.monotonic() + self._settle_s
        while True:
            answer = await self._caller.look(id)
            if answer.call.is_promise:
                return answer.state, answer.call.answered_s
            if answer.call.status in (404, 410):
                return ABSENT, answer.call.answered_s
            if time.monotonic() > ends:
                raise StartError(f"job {id} could not be read for {self._settle_s:g} s: {answer}")
            await asyncio.sleep(_PAUSE_S)
