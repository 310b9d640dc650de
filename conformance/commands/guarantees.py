"""The command ``guarantees``: kills a backend under load, and says what it keeps."""

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from conformance.commands.arguments import (
    FAILED,
    INTERRUPTED,
    PASSED,
    Misuse,
    write_bytes,
)
from conformance.guarantees.plan import Kind
from conformance.guarantees.report import document, markdown, round_line, summary_lines
from conformance.guarantees.run import Plan, run_guarantees
from conformance.guarantees.store import Commands, listed
from conformance.guarantees.totals import BadState, Setting, Totals, read_totals, write_totals
from conformance.guarantees.verdicts import holds, verdicts_of
from conformance.processes.program import Spawn, spawn

# A delivery is later than its answer shows, and some backends keep whole seconds.
_TOLERANCE_S: Final = 1.0
_CLIENTS: Final = 6
_BLOCK: Final = 25


class GuaranteesOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of ``guarantees``, typed."""

    program: list[str]  # the command of the backend, after `--`
    store_start: str
    store_stop: str
    store_kill: str
    disk_full: str
    disk_free: str
    clock: str
    kinds: list[Kind]
    kills: int
    seed: int | None
    operations: int
    lease: float
    as_claimed: bool
    start_timeout: int
    call_timeout: int
    settle_timeout: int
    state: Path | None
    json: Path | None
    markdown: Path | None


def guarantees_command(options: GuaranteesOptions, spawn: Spawn = spawn) -> int:
    """Judge a backend by kills; the exit code says whether it holds what it claims."""
    plan = _plan(options, spawn)
    totals = _totals(options, plan.setting)
    print(f"operations and kills are chosen by --seed {plan.setting.seed}", flush=True)
    interrupted = False

    def ended(so_far: Totals) -> None:
        if options.state is not None:
            write_totals(options.state, so_far)

    try:
        asyncio.run(
            run_guarantees(
                plan, totals, lambda result: print(round_line(result), flush=True), ended
            )
        )
    except KeyboardInterrupt:
        interrupted = True
    except BadState as error:
        raise Misuse(str(error)) from error
    verdicts = verdicts_of(totals, as_claimed=options.as_claimed)
    print("\n".join(summary_lines(totals, verdicts)))
    if options.json is not None:
        write_bytes(options.json, document(totals, verdicts))
    if options.markdown is not None:
        write_bytes(options.markdown, markdown(totals, verdicts).encode(errors="replace"))
    if interrupted:
        print(f"interrupted: {totals.number} of {plan.kills} kills were carried out")
        return INTERRUPTED
    return PASSED if holds(verdicts) and not totals.stopped else FAILED


def _plan(options: GuaranteesOptions, spawn: Spawn) -> Plan:
    if not options.program:
        raise Misuse("say how to start the backend: ojs-conformance guarantees -- COMMAND ...")
    commands = Commands(
        start=options.store_start,
        stop=options.store_stop,
        kill=options.store_kill,
        disk_full=options.disk_full,
        disk_free=options.disk_free,
        clock=options.clock,
    )
    kinds = _kinds(options.kinds, commands)
    setting = Setting(
        command=tuple(options.program),
        store=tuple(listed(commands)),
        seed=options.seed or secrets.randbelow(1_000_000) + 1,
        kinds=kinds,
        clients=_CLIENTS,
        operations=options.operations,
        block=_BLOCK,
        lease_s=options.lease,
        tolerance_s=_TOLERANCE_S,
    )
    return Plan(
        setting=setting,
        kinds=kinds,
        commands=commands,
        kills=options.kills,
        start_s=options.start_timeout,
        call_s=options.call_timeout,
        settle_s=options.settle_timeout,
        spawn=spawn,
    )


def _kinds(chosen: Sequence[Kind], commands: Commands) -> tuple[Kind, ...]:
    """Return the kinds of kills, which are those that the commands allow unless some are chosen."""
    if (commands.stop or commands.kill) and not commands.start:
        raise Misuse("--store-start is missing: the store is started before it can be ended")
    if bool(commands.disk_full) != bool(commands.disk_free):
        raise Misuse("--disk-full and --disk-free go together")
    possible: dict[Kind, bool] = {
        "process": True,
        "store": bool(commands.start),
        "both": bool(commands.start),
        "disk": bool(commands.disk_full),
        "clock": bool(commands.clock),
    }
    for kind in chosen:
        if not possible[kind]:
            needs = {"disk": "--disk-full and --disk-free", "clock": "--clock"}
            raise Misuse(f"--kind {kind} needs {needs.get(kind, '--store-start')}")
    return tuple(chosen or (kind for kind, is_possible in possible.items() if is_possible))


def _totals(options: GuaranteesOptions, setting: Setting) -> Totals:
    """Read the totals so far; a file that cannot be written is reported before the run."""
    for place in (options.json, options.markdown):
        if place is not None:
            write_bytes(place, b"")
    if options.state is None:
        return Totals(setting=setting)
    try:
        totals = read_totals(options.state, setting)
        write_totals(options.state, totals)
    except BadState as error:
        raise Misuse(str(error)) from error
    return totals
