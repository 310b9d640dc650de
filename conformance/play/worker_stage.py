"""The stage of a case of workers: a played server, worker processes, and checks of both."""

import asyncio
import contextlib
import itertools
import secrets
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from conformance.played.book import ENDED, Job, JobState
from conformance.played.calls import ALL, Kind
from conformance.played.record import Settlement, WorkerRequest
from conformance.played.server import PlayedServer
from conformance.processes.program import Spawn, StartError, spawn
from conformance.processes.worker import CONCURRENCY, MARGIN_S, Settings, Times, WorkerProcess
from conformance.tasks import to_the_end
from conformance.verdicts.checks import Checks
from conformance.verdicts.contract import Contract
from conformance.verdicts.reply import Skipped
from conformance.verdicts.result import SkipReason

Found = TypeVar("Found")
START_S = 30.0
# A grace period that no case waits for; a worker that ends long before has not waited for it.
LONG_GRACE_S = 25.0
# With a shorter grace period, a slow machine looks like a worker that takes half as long again.
LEAST_GRACE_S = 6.0
# Delay by which a request may be overtaken by a later one on another connection.
CROSSED_S = 0.5
_MOST_PLACES = 50


class WorkerStage(Checks):
    """One case's server and workers."""

    def __init__(
        self,
        command: Sequence[str],
        times: Times,
        *,
        start_s: float = START_S,
        checker: Contract | None = None,
        spawn: Spawn = spawn,
    ) -> None:
        self.times = times
        self.checker = checker
        self.server = PlayedServer(interval_s=times.beat_s)
        self.processes: list[WorkerProcess] = []
        self._command = command
        self._spawn = spawn
        self._start_s = start_s
        self._seed = secrets.randbits(32)
        self._numbers = itertools.count(1)

    @property
    def worker(self) -> WorkerProcess:
        """The worker that was started last."""
        return self.processes[-1]

    @property
    def soon_s(self) -> float:
        """The time within which the effects of the next BEAT must be seen, in seconds."""
        return 2 * self.times.beat_s + self.times.patience_s

    @property
    def last_s(self) -> float:
        """The time within which a worker must end once its grace period has begun, in seconds."""
        return self.times.grace_s + MARGIN_S + self.times.patience_s / 2

    def latest(self) -> int | None:
        """The last request."""
        return self.server.number - 1 if self.server.number else None

    @property
    def places(self) -> int:
        """The number of jobs the worker runs at once: what it registered, else the setting."""
        for request in self.server.record.of(Kind.REGISTER):
            concurrency = request.body.get("concurrency")
            if isinstance(concurrency, int) and concurrency > 0:
                self.need(
                    concurrency <= _MOST_PLACES,
                    f"a concurrency of {concurrency} is too much to fill",
                )
                return concurrency
        return CONCURRENCY

    def serves(self, kinds: Collection[Kind] = ALL) -> None:
        """Set the calls that the server has; before the worker starts."""
        self.server.kinds = set(kinds)

    # ------------------------------------------------------------------ the worker

    async def start(
        self, *, grace_s: float | None = None, beat_s: float | None = None, first: bool = True
    ) -> WorkerProcess:
        """Start a worker and, unless told otherwise, wait for its first request."""
        if not self.server.port:
            await self.server.open()
        self.server.interval_s = self.times.beat_s if beat_s is None else beat_s
        settings = Settings(
            url=self.server.url,
            beat_s=self.server.interval_s,
            grace_s=self.times.grace_s if grace_s is None else grace_s,
            poll_s=self.times.poll_s,
        )
        made = WorkerProcess(self._command, settings, self.server.notify, self._spawn)
        self.processes.append(made)
        self.server.expect_another()
        await made.start()
        if first:
            known = self.server.number
            await self._connected(made, known)
        return made

    async def started(
        self, *, grace_s: float | None = None, beat_s: float | None = None
    ) -> WorkerProcess:
        """Start a worker, and wait until it beats and fetches."""
        known = self.server.number
        made = await self.start(grace_s=grace_s, beat_s=beat_s)
        await self.until(
            lambda: (
                self.server.record.of(Kind.BEAT, after=known) and self.server.record.fetches(known)
            ),
            "a BEAT and a FETCH",
        )
        return made

    async def _connected(self, made: WorkerProcess, known: int) -> None:
        def connected() -> bool:
            return self.server.number > known or not made.alive

        if await self.server.changed(connected, self._start_s) and self.server.number > known:
            return
        if not made.alive:
            code = await made.ended()
            raise StartError(
                f"the worker ended with {code} before any request{made.tail.excerpt()}"
            )
        detail = ""
        if self.server.nonsense:
            detail = f"; it said what is no HTTP: {self.server.nonsense[0]!r}"
        raise StartError(
            f"the worker sent no request within {self._start_s:g} s{detail}{made.tail.excerpt()}"
        )

    async def end(self, within_s: float, expected: int | None = None) -> int:
        """Wait for the worker's end, which must come; require an exit code where one is named."""
        code = await self.worker.ended(within_s)
        self.check(code is not None, f"the end of the worker within {within_s:g} s", "it runs on")
        assert code is not None
        if expected is not None:
            self.equal(code, expected, "exit code")
        return code

    async def close(self) -> None:
        """End everything."""
        await to_the_end(self._close())

    async def _close(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                await process.close()
        await self.server.close()

    # ------------------------------------------------------------------ jobs

    def offer(self, type: str, *args: Any, **options: Any) -> Job:
        """Add a job for the worker to fetch. Options are those of the played job, or members of its
        envelope."""
        own = {name: options.pop(name) for name in ("queue", "max_attempts", "again")
               if name in options}  # fmt: skip
        number = next(self._numbers)
        value = (0x01A1F0C00000 << 80) | (7 << 76) | (2 << 62) | (self._seed << 16) | number
        text = f"{value:032x}"
        job_id = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        job = Job(id=job_id, type=type, args=list(args), members=options, **own)
        return self.server.offer(job)

    def slow(self, seconds: float, **options: Any) -> Job:
        """Add a job that takes a while."""
        return self.offer("test.slow", {"duration_ms": round(seconds * 1000)}, **options)

    def endless(self) -> Job:
        """Add a job that outlasts the case."""
        return self.slow(1800)

    async def out(self, *jobs: Job) -> None:
        """Wait until these jobs have all been fetched."""
        await self.until(
            lambda: all(job.state is not JobState.WAITING for job in jobs),
            f"a FETCH of {_these(jobs)}",
        )

    async def held(self, *jobs: Job) -> None:
        """Wait until the worker certainly holds jobs: that they were sent does not prove it."""
        await self.out(*jobs)
        busy = sum(job.state is JobState.ACTIVE for job in self.server.book.jobs.values())
        if busy < self.places:
            # A job that was offered later is done, so the earlier ones have arrived.
            await self.acked(self.offer("test.echo", "arrived"))
            return
        await self.until(
            lambda: (
                {job.id for job in jobs}
                <= {
                    job_id
                    for beat in self.server.record.of(Kind.BEAT)[-1:]
                    for job_id in beat.listed
                }
            ),
            f"a BEAT that lists {_these(jobs)}",
        )

    async def settled(self, job: Job, within_s: float | None = None) -> Settlement:
        """Wait for the ACK or FAIL that ends a job, or gives it back; return it."""
        await self.until(
            lambda: (
                job.state in ENDED
                or any(settlement.requeue for settlement in self.settlements(job))
            ),
            f"an accepted ACK or FAIL of the {job.type} job",
            within_s,
        )
        return self.settlements(job)[-1]

    async def acked(self, job: Job, within_s: float | None = None) -> Settlement:
        """Wait for the ACK of a job, which may have been given back before."""
        await self.until(
            lambda: job.state in ENDED, f"an accepted ACK of the {job.type} job", within_s
        )
        settlement = self.settlements(job)[-1]
        number = settlement.request.number
        self.equal(settlement.outcome, "ack", f"what became of the {job.type} job", number)
        return settlement

    def settlements(self, job: Job) -> list[Settlement]:
        """The ACKs and FAILs of a job so far."""
        return self.server.record.settled(job.id)

    # ------------------------------------------------------------------ waiting

    async def until(
        self,
        find: Callable[[], Found],
        what: str,
        within_s: float | None = None,
        *,
        ends: bool = False,
    ) -> Found:
        """Wait until something is true, and return it; fail the case if the worker ends first."""
        limit_s = self.soon_s if within_s is None else within_s

        def over() -> bool:
            return bool(find()) or self.server.flooded or (not ends and not self.worker.alive)

        await self.server.changed(over, limit_s)
        found = find()
        self.check(not self.server.flooded, "requests that a server can bear", "a flood of them")
        if not found and not self.worker.alive and not ends:
            code = await self.worker.ended()
            tail = self.worker.tail.excerpt()
            self.check(False, what, f"the worker ended with {code}{tail}")
        self.check(bool(found), f"{what} within {limit_s:g} s", "nothing of the kind")
        return found

    async def beat(self, after: int | None = None, **members: Any) -> WorkerRequest:
        """Wait for a BEAT that says all this and was answered: the next one, or from a number."""
        known = self.server.number if after is None else after
        text = ", ".join(f"{name} {value}" for name, value in members.items())
        found = await self.until(
            lambda: [
                request
                for request in self.server.record.of(Kind.BEAT, after=known)
                if request.ended_at is not None and members.items() <= request.body.items()
            ],
            f"a BEAT with {text}" if text else "a BEAT",
        )
        return found[0]

    async def beats(self, count: int) -> list[WorkerRequest]:
        """Wait for so many further BEATs, whatever their answers are."""
        known = self.server.number
        return await self.until(
            lambda: _at_least(count, self.server.record.of(Kind.BEAT, after=known)),
            f"{count} more BEATs",
            (count + 1) * self.times.beat_s * 1.5 + self.times.patience_s,
        )

    async def rest(self, seconds: float) -> None:
        """Let time pass in which something must not happen."""
        await asyncio.sleep(seconds)

    # ------------------------------------------------------------------ checks

    def no_fetch(self, after: int, why: str) -> None:
        """Require that no FETCH was sent since a request, but for those that crossed it."""
        since = self.server.record.all[after].at + CROSSED_S
        found = [request for request in self.server.record.fetches(after) if request.at > since]
        number = found[0].number if found else None
        self.check(not found, f"no FETCH {why}", f"{len(found)} of them", number)

    def silent(self, job: Job, why: str, but: Sequence[Settlement] = ()) -> None:
        """Require that a job was neither acknowledged nor failed, but for what is named."""
        more = self.settlements(job)[len(but) :]
        number = more[0].request.number if more else None
        outcomes = ", ".join(settlement.outcome.upper() for settlement in more)
        self.check(not more, f"neither ACK nor FAIL {why}", outcomes, number)

    def unsupported(self, why: str) -> None:
        """Skip the case: it is about something that a worker need not have."""
        raise Skipped(SkipReason.NOT_SUPPORTED, why)


def _at_least(count: int, found: list[WorkerRequest]) -> list[WorkerRequest]:
    return found if len(found) >= count else []


def _these(jobs: Sequence[Job]) -> str:
    return f"the {jobs[0].type} job" if len(jobs) == 1 else f"all {len(jobs)} jobs"
