"""The workers of a sandbox while they run; each is started once there is a job for it."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Self

from ojs_worker.job import Job
from ojs_worker.testing.life import Life
from ojs_worker.testing.planted import Plants
from ojs_worker.testing.server import PrivateServer
from ojs_worker.worker import Worker


class Shift:
    """The workers that run in a block: `async with`. `present` is kept up to date with them."""

    def __init__(
        self,
        server: PrivateServer,
        workers: Sequence[Worker],
        plants: Plants,
        present: set[Life],
    ) -> None:
        self._server = server
        self._workers = workers
        self._plants = plants
        self._present = present
        self._stack = AsyncExitStack()
        self._lives: dict[Worker, Life] = {}

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.__aexit__(*error)  # type: ignore[arg-type]

    async def next(self, queues: Sequence[str]) -> tuple[Life, Job] | None:
        """Return the next job that may run, with its worker; from any queue if none is named."""
        ready = self._server.ready()
        for worker in self._workers:
            config = worker.config()
            served = queues or dict.fromkeys((*config.queues, *ready))
            names = [name for name in served if name in ready]
            if not names:
                continue
            # A single worker fetches all types, so that a misspelt one shows.
            shared = len(self._workers) > 1
            if shared and not len(worker.registry):
                continue
            life = await self._life(worker)
            if job := await life.take(names, tuple(worker.registry) if shared else None):
                return life, job
        return None

    async def pick(self, worker: Worker, job: Job) -> tuple[Life, Job]:
        """Let a worker fetch this very job, which is the next one of its type."""
        life = await self._life(worker)
        if fetched := await life.take([job.queue], [job.type]):
            if fetched.id == job.id:
                return life, fetched
            await life.give_back(fetched)
        raise LookupError(
            f"job {job.id} is {job.state}, and the server did not hand it out; "
            f"is its queue {job.queue} paused or limited?"
        )

    async def _life(self, worker: Worker) -> Life:
        if worker not in self._lives:
            life = Life(worker, self._server.transport, self._plants)
            self._lives[worker] = await self._stack.enter_async_context(life)
            self._present.add(life)
            self._stack.callback(self._present.discard, life)
        return self._lives[worker]
