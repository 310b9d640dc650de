"""The command ``adapter``: tells the program of a framework adapter what to do, and judges it."""

import secrets
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Final

from conformance.case import adapter_cases
from conformance.commands.arguments import PASSED, Misuse, ReportOptions
from conformance.commands.judging import play, selected
from conformance.report.document import ADAPTER_MODE
from conformance.runs.adapter_runner import AdapterPlan, run_adapter
from conformance.verdicts.result import CaseResult

# Serves where neither a URL nor a command of a server is given.
OWN_SERVER: Final = (
    f"{shlex.quote(sys.executable)} -m ojs_server --port {{port}} --database {{dir}}/ojs.db"
)


class AdapterOptions(ReportOptions, frozen=True, kw_only=True):
    """The command line of ``adapter``, typed."""

    program: list[str]  # its command, after `--`
    url: str | None
    server_cmd: str | None
    rounds: int
    seed: int | None
    answer_timeout: int
    settle_timeout: int


def adapter_command(options: AdapterOptions) -> int:
    """Judge an adapter; the exit code says whether anything failed."""
    cases = selected(adapter_cases(), "adapter", options)
    if options.list:
        print("\n".join(case.id for case in cases))
        return PASSED
    if not options.program:
        raise Misuse("say how to start the program: ojs-conformance adapter -- COMMAND ...")
    if options.url and options.server_cmd:
        raise Misuse("--url names a server that runs, --server-cmd starts one: give one of them")
    seed = options.seed or secrets.randbelow(1_000_000) + 1
    print(f"kills are chosen by --seed {seed}")
    plan = AdapterPlan(
        command=options.program,
        cases=cases,
        url=options.url or "",
        server=options.server_cmd or OWN_SERVER,
        rounds=options.rounds,
        seed=seed,
        answer_s=options.answer_timeout,
        settle_s=options.settle_timeout,
    )

    async def run(on_result: Callable[[CaseResult], None]) -> Mapping[str, str]:
        abilities = await run_adapter(plan, on_result)
        if abilities is None:
            return {}
        return {"name": abilities.name, "version": abilities.version}

    return play(cases, run, options, command=options.program, mode=ADAPTER_MODE, seed=seed)
