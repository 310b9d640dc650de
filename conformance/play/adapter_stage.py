"""The stage of a case of framework adapters: the program, and the rows and jobs that it makes."""

import asyncio
import random
import secrets
import time
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Final, Literal

from conformance.play.adapter_jobs import Jobs
from conformance.play.wire import Wire
from conformance.processes.adapter import Abilities, AdapterProgram, Answer, Point
from conformance.processes.server import ServerProcess
from conformance.tasks import to_the_end
from conformance.verdicts.checks import Checks
from conformance.verdicts.reply import CheckFailed, Skipped
from conformance.verdicts.result import SkipReason
from conformance.verdicts.rows_and_jobs import disagreements, losses, lost

Ends = Literal["commit", "rollback", "raise"]
ANSWER_S: Final = 60.0
SETTLE_S: Final = 30.0
# Time in which a job that must not be there would come.
HOLD_S: Final = 1.0
_LOOK_S: Final = 0.5
_TYPE: Final = "conformance.order"


class AdapterStage(Checks):
    """One case's programs, and the queue that their jobs go to."""

    def __init__(
        self,
        command: Sequence[str],
        wire: Wire,
        url: str,
        *,
        server: ServerProcess | None = None,
        luck: random.Random | None = None,
        rounds: int = 1,
        answer_s: float = ANSWER_S,
        settle_s: float = SETTLE_S,
    ) -> None:
        self.abilities = Abilities(points=())
        self.luck = luck or random.Random(0)
        self.rounds = rounds
        self.server = server
        self.where = "at the end"
        self._command = command
        self._url = url
        self._answer_s = answer_s
        self._settle_s = settle_s
        self._token = secrets.token_hex(4)
        self._queue = f"adapter-{self._token}"
        self.jobs = Jobs(wire, self._queue, _TYPE, f"judge-{self._token}")
        self._programs: list[AdapterProgram] = []
        self._folder = TemporaryDirectory(prefix="ojs-conformance-")
        # All rows in the order of writing: True if the row is there, as far as is known.
        self._kept: dict[str, bool] = {}
        # Rows that are looked for again: True for those that the program said it has committed,
        # False for those that it has not, None where it could not tell.
        self._open: dict[str, bool | None] = {}
        self._relay_failure = ""

    @property
    def program(self) -> AdapterProgram:
        """The program that was started last."""
        return self._programs[-1]

    # ------------------------------------------------------------------ the program

    async def start(self) -> AdapterProgram:
        """Start the program, besides those that run."""
        environ = {"OJS_URL": self._url, "OJS_CONFORMANCE_DIR": self._folder.name}
        self._programs.append(AdapterProgram(self._command, environ, self._answer_s))
        self.abilities = await self.program.start()
        return self.program

    async def kill_and_start(self, *, collecting: bool = False) -> None:
        """Kill the program and start it again; if told so, take the jobs that are there between."""
        await self.program.kill()
        if collecting:
            await self.jobs.collect(_LOOK_S)
        await self.start()

    async def close(self) -> None:
        """End everything."""
        await to_the_end(self._close())

    async def _close(self) -> None:
        for program in self._programs:
            await program.kill()
        await asyncio.to_thread(self._folder.cleanup)

    def points(self, *among: Point) -> list[Point]:
        """Return those of these points at which the program can pause; skip where it has none."""
        found = [point for point in among if point in self.abilities.points]
        if not found:
            self.unsupported(f"the program cannot pause at {' or '.join(among)}")
        return found

    def need_relay(self) -> None:
        """Skip unless the program has a relay that runs when it is asked to."""
        if not self.abilities.relay:
            self.unsupported("the program has no relay that it runs when it is asked to")

    def unsupported(self, why: str) -> None:
        """Skip the case: it is about something that an adapter need not have."""
        raise Skipped(SkipReason.NOT_SUPPORTED, why)

    # ------------------------------------------------------------------ what it is told to do

    def rows(self, count: int = 1) -> list[str]:
        """Return names of rows that nobody has used."""
        number = len(self._kept)
        made = [f"r-{self._token}-{number + each}" for each in range(1, count + 1)]
        self._kept.update(dict.fromkeys(made, False))
        return made

    async def transact(
        self,
        rows: Sequence[str],
        ends: Ends = "commit",
        *,
        nested: Sequence[str] = (),
        nested_ends: Ends = "commit",
        may_fail: bool = False,
    ) -> None:
        """Have a transaction carried out that writes rows, and enqueues a job about each.

        Those of `nested` are written behind a savepoint, which ends by itself before it.
        """
        more = {"nested": list(nested), "nested_ends": nested_ends} if nested else {}
        answer = await self._ask("transaction", rows=list(rows), ends=ends, **more)
        self._require(answer, "done", or_failed=may_fail)
        kept = None if answer.done is None else ends == "commit"
        self._open.update(dict.fromkeys(rows, kept))
        self._open.update(dict.fromkeys(nested, kept and nested_ends == "commit"))

    async def pause(self, rows: Sequence[str], point: Point) -> None:
        """Begin such a transaction, which is to commit, and wait until it pauses at a point."""
        answer = await self._ask("transaction", rows=list(rows), ends="commit", pause_at=point)
        self._paused(answer, point)
        self._open.update(dict.fromkeys(rows, True if point == "committed" else None))

    async def go(self, rows: Sequence[str]) -> None:
        """Let that transaction go on to its commit."""
        self._require(await self.program.go(), "done")
        self._open.update(dict.fromkeys(rows, True))

    async def enqueue(self, name: str) -> None:
        """Have a job enqueued at once, about no row."""
        self._require(await self._ask("enqueue", row=name), "done")
        self._kept[name] = True

    async def relay(self, program: AdapterProgram | None = None) -> None:
        """Let the relay send what waits, once; it may fail, and is asked again later."""
        answer = await (program or self.program).ask("relay")
        self._require(answer, "done", or_failed=True)
        self._relay_failure = answer.failed or ""

    async def pause_relay(self, point: Point) -> None:
        """Let the relay run until it pauses at a point, which it must."""
        self._paused(await self.program.ask("relay", pause_at=point), point)

    async def _ask(self, do: str, **members: object) -> Answer:
        return await self.program.ask(do, queue=self._queue, type=_TYPE, **members)

    def _paused(self, answer: Answer, point: Point) -> None:
        if answer.done is not None:
            raise self.program.wrong(f"says that it can pause at {point!r}, and did not")
        self._require(answer, "at")
        if answer.at != point:
            raise self.program.wrong(f"paused at {answer.at!r} instead of {point!r}")

    def _require(self, answer: Answer, kind: str, *, or_failed: bool = False) -> None:
        if answer.unsupported is not None:
            self.unsupported(answer.unsupported)
        if answer.kind == "failed" and not or_failed:
            raise self.program.wrong(f"could not do what it was told: {answer.failed}")
        if answer.kind not in (kind, "failed"):
            raise self.program.wrong(f"answered {answer.kind!r}, where {kind!r} was due")

    # ------------------------------------------------------------------ rows and jobs

    async def there(self, rows: Sequence[str], program: AdapterProgram | None = None) -> set[str]:
        """Ask which of these rows there are."""
        answer = await (program or self.program).ask("rows", of=list(rows))
        self._require(answer, "rows")
        return set(answer.rows or ())

    async def agree(self) -> None:
        """Wait until there is a job for each row that is there; fail where they cannot agree.

        The wait ends only after a time in which no job came.
        """
        came, wait_s = time.monotonic(), 0.0
        while True:
            if self.abilities.relay:
                await self.relay()
            if await self.jobs.collect(wait_s):
                came = time.monotonic()
            await self._compare()
            missing = losses(self._kept, self.jobs.arrived)
            if not missing:
                self._open.clear()
                return
            if time.monotonic() - came > self._settle_s:
                hint = f"; its relay said: {self._relay_failure}" if self._relay_failure else ""
                raise CheckFailed(lost(missing, self.where, self._settle_s, hint))
            wait_s = _LOOK_S

    async def end(self) -> None:
        """Agree, and see that nothing comes any more."""
        await self.agree()
        if self.abilities.relay:
            await self.relay()
        await self.jobs.collect(HOLD_S)
        await self._compare()

    async def _compare(self) -> None:
        """Find out which rows there are, and fail where a job contradicts them."""
        if self._open:
            there = await self.there(list(self._open))
            for row, committed in self._open.items():
                self._kept[row] = row in there
                if committed is not None and committed is not (row in there):
                    was, found = ("was", "is not there") if committed else ("was not", "is there")
                    raise self.program.wrong(f"says that row {row} {was} committed, and it {found}")
        for failure in disagreements(
            self._kept, self.jobs.arrived, self.where, ordered=self.abilities.ordered
        ):
            raise CheckFailed(failure)
