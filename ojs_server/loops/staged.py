"""Store the jobs that programs have staged in transactions of their own.

A commit of such a program tells all nodes. Each of them looks, and whichever takes a job first
stores it.
"""

import asyncio
import logging
from typing import Final

from ojs_server.domain.errors import InvalidRequest, NotFound, OjsError, Unavailable
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.staged import EnqueueStaged, RefuseStaged
from ojs_server.ops.time_limit import at_most
from ojs_server.store.records import Staged
from ojs_wire import codec

# Jobs of one look.
MOST: Final = 500
# Interval of looks without a notice, which can be lost.
SLOW_POLL_S: Final = 1.0

log = logging.getLogger("ojs.staged")


class StagedJobs:
    """One node's loop."""

    def __init__(self, engine: Engine, *, strict: bool) -> None:
        self._engine = engine
        self._strict = strict
        self._wake = asyncio.Event()

    def nudge(self) -> None:
        """Look now: a program has staged jobs."""
        self._wake.set()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            try:
                more = await self.round()
            except OjsError as error:
                log.debug("staged jobs have to wait: %s", error.message)
                more = False
            if not more:
                await at_most(self._wake.wait(), SLOW_POLL_S)

    async def round(self) -> bool:
        """Store the jobs of one look; return whether there may be more at once."""
        self._wake.clear()
        found = await self._engine.read(lambda reader: reader.staged(MOST))
        done = await asyncio.gather(*map(self._store, found))
        return any(done)

    async def _store(self, job: Staged) -> bool:
        """Store one job, or keep why it is refused; False if it is still there."""
        try:
            await self._engine.run(self._operation(job))
        except NotFound:
            # Another node has taken it.
            return True
        except Unavailable as error:
            log.debug("staged job %s has to wait: %s", job.id, error.message)
            return False
        except OjsError as error:
            log.info("staged job %s was refused: %s", job.id, error.message)
        return True

    def _operation(self, job: Staged) -> EnqueueStaged | RefuseStaged:
        try:
            body = codec.decode(job.body.encode())
        except ValueError as error:
            return RefuseStaged(
                staged_id=job.id, error=InvalidRequest(f"the job is no JSON: {error}")
            )
        try:
            draft = parse_draft(body, strict=self._strict, tenant=job.tenant)
        except OjsError as error:
            return RefuseStaged(staged_id=job.id, error=error)
        return EnqueueStaged((draft,), staged_id=job.id)
