"""``python -m tests.mutants [NAME ...]``: judges mutants of the domain's rules; `make mutants`."""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from conformance.verdicts.contract import Contract, own_contract
from conformance.verdicts.result import CaseResult
from tests.faulty.judging import is_apart, played
from tests.faulty.tenth import TENTHS, tenth_of, tenth_on, today
from tests.mutants.known import EQUIVALENT, UNCAUGHT
from tests.mutants.mutant import Mutant, all_mutants, sample
from tests.mutants.suites import cases_of

COUNT: Final = 200
SEED: Final = 1
SIDE_BY_SIDE: Final = 4
_SERVE: Final = "tests.mutants.serve"
Print = Callable[[str], None]


class Finding(msgspec.Struct, frozen=True):
    """The result for one mutant: the case that caught it, or none."""

    mutant: Mutant
    case: str = ""
    played: int = 0
    seconds: float = 0.0

    @property
    def word(self) -> str:
        """Return the verdict on the mutant in one word."""
        if self.case:
            return "caught"
        key = self.mutant.key
        return "equivalent" if key in EQUIVALENT else "known" if key in UNCAUGHT else "survived"

    @property
    def summary(self) -> str:
        """The line about it."""
        head = f"{self.word:10} {self.mutant.name}  {self.mutant.function}"
        if self.case:
            return f"{head}  {self.case}  {self.seconds:.1f} s"
        return f"{head}  ({self.played} cases)\n           {self.mutant.line}"


def main(arguments: Sequence[str] | None = None, out: Print = print) -> int:
    """Run the command: 0 where each mutant is caught or known, 1 otherwise."""
    options = _parser().parse_args(arguments)
    chosen = [each for each in all_mutants() if each.name in options.name]
    if unknown := set(options.name) - {each.name for each in chosen}:
        out(f"no mutant is called {min(unknown)}; --list names them")
        return 2
    if not options.name:
        chosen = sample(options.count, options.seed)
        if options.tenth is not None:
            chosen = tenth_of(chosen, options.tenth)
            out(f"tenth {options.tenth % TENTHS} of {TENTHS}: {len(chosen)} mutants")
    if options.list:
        out("\n".join(f"{each.name}  {each.function}: {each.line}" for each in chosen))
        return 0
    return asyncio.run(judge(chosen, own_contract(), options.jobs, out))


async def judge(chosen: Sequence[Mutant], checker: Contract | None, jobs: int, out: Print) -> int:
    """Judge mutants side by side."""
    free = asyncio.Semaphore(jobs)

    async def one(mutant: Mutant) -> Finding:
        async with free:
            finding = await judged(mutant, checker)
        out(finding.summary)
        return finding

    found = await asyncio.gather(*map(one, chosen))
    counts = Counter(each.word for each in found)
    out(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return 1 if counts["survived"] else 0


async def judged(mutant: Mutant, checker: Contract | None) -> Finding:
    """Judge one mutant until it is caught; cases that start servers of their own come last."""
    started = time.monotonic()
    cases = cases_of(mutant.subject)
    count = 0
    for apart in (False, True):
        left = {case.id for case in cases if is_apart(case) == apart}
        while left:
            results = await _played(mutant, left, checker)
            count += len(results)
            bad = _bad(results)
            # A case that failed because the machine was busy passes when it is played alone.
            if bad and _bad(await _played(mutant, {bad[0].test_id}, checker)):
                return Finding(mutant, bad[0].test_id, seconds=time.monotonic() - started)
            left -= {result.test_id for result in results}
    return Finding(mutant, played=count, seconds=time.monotonic() - started)


async def _played(
    mutant: Mutant, names: set[str], checker: Contract | None
) -> Sequence[CaseResult]:
    return await played(
        "servers", mutant.name, names, checker, lambda found: bool(_bad(found)), _SERVE
    )


def _bad(results: Sequence[CaseResult]) -> list[CaseResult]:
    return [result for result in results if result.is_bad]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("name", nargs="*", help="mutants to judge; a sample without any name")
    parser.add_argument("--count", type=int, default=COUNT, help=f"size of the sample ({COUNT})")
    parser.add_argument("--seed", type=int, default=SEED, help="choice of the sample")
    parser.add_argument(
        "--tenth",
        type=lambda given: tenth_on(today()) if given == "today" else int(given),
        metavar="N",
        help="only each tenth of the sample from N on; `today` for those of the day",
    )
    parser.add_argument("--list", action="store_true", help="only say what is changed")
    parser.add_argument("--jobs", type=int, default=SIDE_BY_SIDE, help="mutants side by side")
    return parser


if __name__ == "__main__":
    sys.exit(main(out=lambda line: print(line, flush=True)))
