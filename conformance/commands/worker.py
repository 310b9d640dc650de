"""The command ``worker``: plays the server to a worker process, and judges it."""

from collections.abc import Callable, Mapping

from conformance.case import worker_cases
from conformance.commands.arguments import PASSED, JudgingOptions, Misuse, brought_at, contract_at
from conformance.commands.judging import play, selected
from conformance.report.document import WORKER_MODE
from conformance.runs.worker_runner import WorkerPlan, run_worker
from conformance.verdicts.result import CaseResult


class WorkerOptions(JudgingOptions, frozen=True, kw_only=True):
    """The command line of ``worker``, typed."""

    worker: list[str]  # the command of the worker, after `--`
    time_scale: float
    must_only: bool
    start_timeout: int


def worker_command(options: WorkerOptions) -> int:
    """Judge a worker; the exit code says whether anything failed."""
    found = [*brought_at(options.cases).workers]
    if options.own or not options.cases:
        found += worker_cases()
    if not found:
        raise Misuse("the files of --cases have no case of workers: `run` plays those of servers")
    cases = selected(found, "worker", options, must_only=options.must_only)
    if options.list:
        print("\n".join(case.id for case in cases))
        return PASSED
    if not options.worker:
        raise Misuse("say how to start the worker: ojs-conformance worker -- COMMAND ...")
    plan = WorkerPlan(
        command=options.worker,
        cases=cases,
        time_scale=options.time_scale,
        jobs=options.jobs,
        start_s=options.start_timeout,
        checker=contract_at(options.openapi, expected=options.contract != "off"),
        contract="fail" if options.contract == "fail" else "report",
    )

    async def run(on_result: Callable[[CaseResult], None]) -> Mapping[str, str]:
        await run_worker(plan, on_result)
        return {}

    return play(
        cases,
        run,
        options,
        command=options.worker,
        mode=WORKER_MODE,
        narrowed=["must only"] if options.must_only else [],
    )
