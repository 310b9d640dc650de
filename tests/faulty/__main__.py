"""``python -m tests.faulty [NAME ...]``: judges every fault, or those named; `make faults`."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Final

from conformance.language.nearest import nearest
from conformance.verdicts.contract import Contract, own_contract
from conformance.verdicts.result import CaseResult
from tests.faulty.fault import Fault, all_faults
from tests.faulty.judging import Finding, Found, judged, not_passed, shared_cases
from tests.faulty.table import last_line, listed, row, unbroken_lines
from tests.faulty.tenth import TENTHS, VARIABLE, tenth_of, tenth_on, today

SIDE_BY_SIDE: Final = 8
Print = Callable[[str], None]


def main(arguments: Sequence[str] | None = None, output: Print = print) -> int:
    """Run the command: 0 where every fault is caught and nothing else, 1 otherwise."""
    options = _parser().parse_args(arguments)
    known = all_faults()
    names = {fault.name for fault in known}
    for name in options.name:
        if name not in names:
            output(f"no fault is called {name!r} ({nearest(name, names)})")
            return 2
    chosen = [fault for fault in known if not options.name or fault.name in options.name]
    if options.tenth is not None:
        chosen = tenth_of(chosen, options.tenth)
        told = f"{len(chosen)} faults ({VARIABLE} chooses another day's)"
        output(f"tenth {options.tenth % TENTHS} of {TENTHS}: {told}")
    if options.list:
        output("\n".join(listed(chosen)))
        return 0
    return asyncio.run(judge(chosen, own_contract(), options.jobs, output))


async def judge(chosen: Sequence[Fault], checker: Contract | None, jobs: int, output: Print) -> int:
    """Judge faults side by side, and what is unbroken by all cases that were used."""
    free = asyncio.Semaphore(jobs)

    async def one(fault: Fault) -> Finding:
        async with free:
            finding = await judged(fault, checker)
        output(row(finding))
        return finding

    # The cases that the chosen faults share are known now; others are known once the faults are
    # judged. Cases that must pass are played apart from the faults, because many are about time.
    known = shared_cases(chosen)
    wrong: list[CaseResult] = []
    for kind, names in known.items():
        wrong += await not_passed(kind, names, checker)
    found = await asyncio.gather(*(one(each) for each in chosen))
    more = {name for finding in found for name in finding.used} - set().union(*known.values())
    wrong += await not_passed("servers", more, checker)
    output(unbroken_lines(wrong, sum(map(len, known.values())) + len(more)))
    output(last_line(found))
    caught = all(finding.found is Found.CAUGHT for finding in found)
    return 0 if caught and not wrong else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faulty", description=__doc__)
    parser.add_argument("name", nargs="*", help="faults to plant; all without any name")
    parser.add_argument(
        "--tenth",
        type=lambda given: tenth_on(today()) if given == "today" else int(given),
        metavar="N",
        help="only each tenth fault from N on; `today` for those of the day",
    )
    parser.add_argument("--list", action="store_true", help="only say what is planted")
    parser.add_argument("--jobs", type=int, default=SIDE_BY_SIDE, help="faults side by side")
    return parser


if __name__ == "__main__":
    sys.exit(main(output=lambda line: print(line, flush=True)))
