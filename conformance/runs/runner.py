"""Runs the published cases and ours against one server: isolation, order, reasons for skips."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, Literal

import httpx
import msgspec

from conformance.case import ServerCase
from conformance.compat.causes import Again, with_causes
from conformance.compat.play import play_as_published
from conformance.compat.quirks import Quirk, Quirks
from conformance.language.model import CaseFile
from conformance.play.published_case import described, run_case
from conformance.play.reset import Reset, http_reset
from conformance.play.stage import Stage
from conformance.play.webhook_receiver import Receiver
from conformance.play.wire import SECONDS_PER_REQUEST, Broken, Checker, Wire
from conformance.processes.program import Spawn, spawn
from conformance.processes.server import GRPC_PORT, ServerProcess, StartError
from conformance.runs.isolate import drain, isolated, known_workers, uses_common_queue
from conformance.tasks import side_by_side
from conformance.variants import HOOKS, MAIN
from conformance.verdicts.exchanges import parse_body
from conformance.verdicts.features import Features, read_features
from conformance.verdicts.grpc_skips import NOT_OVER_GRPC, without_unsupported
from conformance.verdicts.outcome import by_contract, outcome_of, result_of
from conformance.verdicts.result import CaseResult, SkipReason, Verdict
from conformance.verdicts.strength import level_of

_PREFLIGHT_S = 10.0
_DEAF_AFTER = 3  # cases in a row without an answer, after which the server counts as gone

OnResult = Callable[[CaseResult], None]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A run: the cases, the server they are played against, and how strictly it is judged."""

    files: Sequence[CaseFile] = ()
    own: Sequence[ServerCase] = ()
    url: str = ""  # empty if `commands` starts the server
    grpc: str = ""  # host and port of gRPC, if the server at `url` has it
    over_grpc: bool = False  # sends calls by gRPC as far as it has them
    commands: Mapping[str, str] = {}
    spawn: Spawn = spawn
    reset_url: str | None = None
    jobs: int = 4
    apart: int | None = None  # each case on a fresh server, in the random order of this seed
    compat: bool = False
    seconds_per_request: float = SECONDS_PER_REQUEST
    checker: Checker | None = None
    contract: Literal["fail", "report"] = "report"
    callback_url: str = ""  # address of the judge for webhooks; empty if unknown
    callback_port: int = 0


class RunOutcome(msgspec.Struct, frozen=True):
    """The results of a run and the server's manifest."""

    target: str
    manifest: Any
    results: list[CaseResult]


async def run(
    plan: Plan,
    on_result: OnResult = lambda _: None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> RunOutcome:
    """Run the plan; whatever happens, every case has a result."""
    async with AsyncExitStack() as stack:
        url, grpc = plan.url, plan.grpc
        if not url:
            process = ServerProcess(plan.commands[MAIN], plan.spawn)
            stack.push_async_callback(process.close)
            try:
                await process.start()
            except StartError as error:
                return _nothing_ran(plan, str(error), on_result)
            url, grpc = process.url, process.grpc
        client = await stack.enter_async_context(_client(url, plan, grpc, transport))
        wire = Wire(client, seconds=_PREFLIGHT_S)
        try:
            received, _ = await wire.send("GET", "/ojs/manifest")
        except Broken as error:
            return _nothing_ran(plan, f"server unreachable: {error.why}", on_result, url)
        manifest = parse_body(received.content)
        receiver = Receiver(plan.callback_url, plan.callback_port)
        stack.push_async_callback(receiver.close)
        if any(case.own_server == HOOKS for case in plan.own):
            try:
                await receiver.open()
            except OSError as error:
                why = f"cannot listen for webhooks on port {plan.callback_port}: {error.strerror}"
                return _nothing_ran(plan, why, on_result, url)
        session = _Session(plan, client, grpc, manifest, receiver, on_result)
        await session.play()
        if plan.compat:
            await session.explain()
        manifest_object = manifest if isinstance(manifest, dict) else None
        return RunOutcome(url, manifest_object, session.results)


def _client(
    url: str, plan: Plan, grpc: str, transport: httpx.AsyncBaseTransport | None = None
) -> httpx.AsyncClient:
    if plan.over_grpc and grpc:
        # An optional dependency.
        from conformance.rpc.binding import GrpcTransport

        transport = GrpcTransport(transport or httpx.AsyncHTTPTransport(), grpc)
    return httpx.AsyncClient(
        base_url=url,
        transport=transport,
        timeout=httpx.Timeout(plan.seconds_per_request, connect=5.0),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=50),
        trust_env=False,
        verify=url.startswith("https"),  # loading the certificates takes longer than a short case
    )


def _nothing_ran(plan: Plan, reason: str, on_result: OnResult, url: str = "") -> RunOutcome:
    results = [
        # A problem of the file itself is more specific than the reason for the run.
        described(file, verdict=Verdict.ERROR, reason="; ".join(file.problems) or reason)
        for file in plan.files
    ]
    results += [_own_result(case, verdict=Verdict.ERROR, reason=reason) for case in plan.own]
    for result in results:
        on_result(result)
    return RunOutcome(url, None, results)


class _Session:
    """One run against a server that answers."""

    def __init__(
        self,
        plan: Plan,
        client: httpx.AsyncClient,
        grpc: str,
        manifest: object,
        receiver: Receiver,
        on_result: OnResult,
    ) -> None:
        self.results: list[CaseResult] = []
        self._grpc = grpc
        self._plan = plan
        self._client = client
        self._manifest = manifest if isinstance(manifest, dict) else {}
        self._features: Features = read_features(manifest)
        self._receiver = receiver
        self._on_result = on_result
        self._deaf = 0
        self._workers_before: dict[
            str, list[str]
        ] = {}  # workers that a case uses and the server knew before
        self._reset: Reset | None = (
            http_reset(client, plan.reset_url) if plan.reset_url is not None else None
        )

    async def play(self) -> None:
        """Play the cases that may disturb each other one by one, the others side by side."""
        files = list(self._plan.files)
        jobs = max(1, self._plan.jobs)
        if self._plan.apart is not None:
            works = [partial(self._play_published, file) for file in files]
            works += [partial(self._play_own, case) for case in self._plan.own]
            random.Random(self._plan.apart).shuffle(works)
            await side_by_side(works, jobs)
            return
        one_by_one = self._reset is not None or self._plan.compat
        for file in files:
            if one_by_one or uses_common_queue(file):
                await self._play_published(file)
        if not one_by_one:
            rest = [file for file in files if not uses_common_queue(file)]
            await side_by_side([partial(self._play_published, file) for file in rest], jobs)
        own = self._plan.own
        concurrent = [case for case in own if not case.alone]
        # The longest first, so that the run does not end with one long case. Few servers start and
        # crash at once, because they slow down cases that measure time.
        concurrent.sort(key=lambda case: -case.seconds)
        shared = [partial(self._play_own, case) for case in concurrent if not case.own_server]
        separate = [partial(self._play_own, case) for case in concurrent if case.own_server]
        few = max(1, self._plan.jobs // 3)
        await side_by_side(
            [partial(side_by_side, shared, jobs), partial(side_by_side, separate, few)], 2
        )
        for case in own:
            if case.alone:
                await self._play_own(case)

    async def _play_published(self, file: CaseFile) -> None:
        self._ended(await self._published(file))

    async def _play_own(self, case: ServerCase) -> None:
        self._ended(await self._own(case))

    def _ended(self, result: CaseResult) -> None:
        if self._plan.contract == "fail":
            result = by_contract(result, "response")
        result = without_unsupported(result)
        if result.exchanges:
            deaf = all(exchange.trouble for exchange in result.exchanges)
            self._deaf = self._deaf + 1 if deaf else 0
        self.results.append(result)
        self._on_result(result)

    def _wire(self, client: httpx.AsyncClient | None = None) -> Wire:
        return Wire(
            client or self._client,
            checker=self._plan.checker,
            seconds=self._plan.seconds_per_request,
        )

    def _unchecked_wire(self) -> Wire:
        return Wire(self._client, seconds=self._plan.seconds_per_request)

    @property
    def _gone(self) -> str:
        if self._deaf < _DEAF_AFTER:
            return ""
        return f"not run: the server gave no answer to the {self._deaf} cases before"

    async def _published(self, file: CaseFile) -> CaseResult:
        if self._gone:
            return described(file, verdict=Verdict.ERROR, reason=self._gone)
        if self._plan.compat:
            if self._reset is None:
                with suppress(Broken):
                    self._workers_before[file.path] = await known_workers(
                        file, self._unchecked_wire()
                    )
            return await play_as_published(file, self._wire(), self._reset)
        if why := self._features.lacks(file):
            return described(
                file, verdict=Verdict.SKIPPED, skipped=SkipReason.NOT_SUPPORTED, reason=why
            )
        if self._plan.apart is not None:
            return await self._on_fresh_server(file)
        return await run_case(await self._renamed(file), self._wire(), reset=self._reset)

    async def _on_fresh_server(self, file: CaseFile) -> CaseResult:
        process = ServerProcess(self._plan.commands[MAIN], self._plan.spawn)
        try:
            await process.start()
            async with _client(process.url, self._plan, process.grpc) as client:
                return await run_case(file, self._wire(client))
        except StartError as error:
            return described(file, verdict=Verdict.ERROR, reason=str(error))
        finally:
            await process.close()

    async def _renamed(self, file: CaseFile) -> CaseFile:
        """The case with names of its own, unless the server is wiped before it."""
        if self._reset is not None:
            return file
        if uses_common_queue(file):
            with suppress(Broken):
                await drain(self._unchecked_wire())
        return isolated(file)

    async def explain(self) -> None:
        """Find the causes of failures of published cases, once all of them have been played."""

        async def as_written(file: CaseFile, mended: frozenset[Quirk]) -> Again:
            quirks = Quirks(mended)
            replayed = await play_as_published(file, self._unchecked_wire(), self._reset, quirks)
            return Again(replayed.failures, tuple(quirks.bites))

        async def isolated(file: CaseFile, mended: frozenset[Quirk]) -> Again:
            return await as_written(await self._renamed(file), mended)

        if not self._gone:
            again = as_written if self._reset is None else None
            files = self._plan.files
            self.results = await with_causes(
                self.results, files, self._features, self._workers_before, again, isolated
            )

    async def _own(self, case: ServerCase) -> CaseResult:
        if self._gone:
            return _own_result(case, verdict=Verdict.ERROR, reason=self._gone)
        if why := self._lacks(case):
            skipped = SkipReason.NOT_SUPPORTED
            return _own_result(case, verdict=Verdict.SKIPPED, skipped=skipped, reason=why)
        needed = MAIN if self._plan.apart is not None else ""
        command = self._plan.commands.get(case.own_server or needed)
        if command is not None and (not case.grpc or GRPC_PORT in command):
            return await self._on_own_server(case, command)
        if why := self._missing(case):
            skipped = SkipReason.PRECONDITION
            return _own_result(case, verdict=Verdict.SKIPPED, skipped=skipped, reason=why)
        return await play_own(case, self._stage(self._wire()))

    def _stage(self, wire: Wire, process: ServerProcess | None = None) -> Stage:
        grpc = self._grpc if process is None else process.grpc
        return Stage(wire, self._manifest, process=process, receiver=self._receiver, grpc=grpc)

    def _missing(self, case: ServerCase) -> str | None:
        """Return the requirement of a case that the server of the run does not meet, or None."""
        if case.grpc and not self._grpc:
            return "it needs the port of gRPC: --grpc, or {grpc_port} in --server-cmd"
        if not case.own_server:
            return None
        if case.own_server != HOOKS or not self._plan.callback_url:
            option = "--server-cmd" if case.own_server == MAIN else f"--variant {case.own_server}="
            other = ", or --callback-url" if case.own_server == HOOKS else ""
            return f"it needs a server to itself: {option}{other}"
        if (self._features.capabilities or {}).get("test_hooks"):
            return "with its test hooks on, the server sends no webhooks"
        return None

    async def _on_own_server(self, case: ServerCase, command: str) -> CaseResult:
        process = ServerProcess(command, self._plan.spawn)
        try:
            if not case.unstarted:
                await process.start()
            async with _client(process.url, self._plan, process.grpc) as client:
                wire = self._wire(client)
                return await play_own(case, self._stage(wire, process))
        except StartError as error:
            return _own_result(case, verdict=Verdict.ERROR, reason=str(error))
        finally:
            await process.close()

    def _lacks(self, case: ServerCase) -> str | None:
        if self._plan.over_grpc and case.id in NOT_OVER_GRPC:
            return NOT_OVER_GRPC[case.id]
        if case.capability:
            has = self._features.has((case.capability,))
            return None if has else f"capability {case.capability} not claimed"
        return self._features.lacks_level(case.level)


async def play_own(case: ServerCase, stage: Stage) -> CaseResult:
    """Play one case of ours; a fault in the case is an error, never a verdict on the server."""
    wire = stage.wire
    outcome = await outcome_of(
        case.play(stage), case.seconds, _did_not_restart, lambda: wire.exchanges
    )
    await wire.check()
    return _own_result(
        case,
        findings=tuple(wire.findings),
        exchanges=tuple(wire.exchanges),
        **outcome,
    )


def _did_not_restart(error: StartError) -> tuple[Verdict, str]:
    return Verdict.FAIL, f"the server did not start again: {error}"


def _own_result(case: ServerCase, **outcome: Any) -> CaseResult:
    return result_of(case, f"{case.origin}/{case.suite}", level=level_of(case), **outcome)
