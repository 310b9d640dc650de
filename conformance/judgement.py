"""What every own case ends with: played within its time, judged, and put into a result."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from conformance.case import Titled
from conformance.program import StartError
from conformance.reply import CheckFailed, Skipped
from conformance.verdict import CaseResult, FailedCheck, Verdict

# A call that runs beside the case, and that the case waits for, has not ended in its time.
_NO_ANSWER: Final = FailedCheck(
    step_id="waiting", field="time", expected="the answer to a call that waits", actual="none yet"
)


async def judged(
    playing: Awaitable[None],
    seconds: float,
    unstarted: Callable[[StartError], tuple[Verdict, str]],
) -> dict[str, Any]:
    """Play a case to its end; what is said of it, as members of a result."""
    started = time.perf_counter()
    verdict, skipped, reason = Verdict.PASS, None, ""
    failures: list[FailedCheck] = []
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            await playing
    except Skipped as error:
        verdict, skipped, reason = Verdict.SKIPPED, error.skipped, error.why
    except CheckFailed as error:
        verdict, failures = Verdict.FAIL, [error.failure]
    except StartError as error:
        verdict, reason = unstarted(error)
    except TimeoutError:
        verdict = Verdict.FAIL
        if limit.expired():
            reason = f"the case did not end within {seconds:g} seconds"
        else:
            failures = [_NO_ANSWER]
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        verdict, reason = Verdict.ERROR, f"the case itself is at fault: {told}"
    return {
        "verdict": verdict,
        "skipped": skipped,
        "reason": reason,
        "failures": tuple(failures),
        "duration_ms": int((time.perf_counter() - started) * 1000),
    }


def result_of(case: Titled, suite: str, **outcome: Any) -> CaseResult:
    """The result of an own case."""
    return CaseResult(
        path=case.path,
        test_id=case.id,
        name=case.title,
        suite=suite,
        category=case.suite,
        spec_ref=", ".join(case.clauses),
        clauses=case.clauses,
        **outcome,
    )


def by_contract(result: CaseResult, side: str) -> CaseResult:
    """Turn deviations from the contract on one side into failures of the case."""
    wrong = [finding for finding in result.findings if finding.side == side]
    if not wrong or result.verdict is not Verdict.PASS:
        return result
    failures = tuple(
        FailedCheck(
            step_id=finding.operation,
            field="contract",
            at=finding.at,
            expected=finding.pointer,
            actual=finding.message,
            exchange=finding.exchange,
        )
        for finding in wrong
    )
    reason = f"a {side} differs from the OpenAPI document"
    return msgspec.structs.replace(result, verdict=Verdict.FAIL, reason=reason, failures=failures)
