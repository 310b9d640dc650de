"""Play a case of ours within its time, judge it, and make its result."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec

from conformance.case import OwnCase
from conformance.processes.program import StartError
from conformance.published.requirements import published_of
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.reply import CheckFailed, Skipped
from conformance.verdicts.result import CaseResult, FailedCheck, Verdict
from conformance.verdicts.strength import dispute_of, profile_of, strength_of

# Raised by a case that reads an answer of unexpected form.
_MISREAD: Final = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    msgspec.MsgspecError,
)
_SHOWN: Final = 300
# A call beside the case has not ended in time.
_NO_ANSWER: Final = FailedCheck(
    step_id="waiting", field="time", expected="the answer to a call that waits", actual="none yet"
)


class Held(BaseException):
    """A case held the run; no `except Exception` of the case is to catch this."""


async def outcome_of(
    playing: Awaitable[None],
    seconds: float | None,
    unstarted: Callable[[StartError], tuple[Verdict, str]],
    exchanges_of: Callable[[], Sequence[Exchange]] = tuple,
) -> dict[str, Any]:
    """Play a case to its end, or to its limit if it has one; return the outcome for its result.

    If a case raises an unexpected error after an answer (`exchanges_of` has some), the answer has
    an unexpected form: that is a failure. Before any answer, the case itself is at fault.
    """
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
    except Held as error:
        verdict, reason = Verdict.ERROR, f"the case itself is at fault: {error}"
    except Exception as error:
        exchanges = exchanges_of()
        if exchanges and isinstance(error, _MISREAD):
            verdict, failures = Verdict.FAIL, [_misread(error, exchanges)]
        else:
            text = f"{type(error).__name__}: {error}"
            verdict, reason = Verdict.ERROR, f"the case itself is at fault: {text}"
    return {
        "verdict": verdict,
        "skipped": skipped,
        "reason": reason,
        "failures": tuple(failures),
        "duration_ms": int((time.perf_counter() - started) * 1000),
    }


def _misread(error: Exception, exchanges: Sequence[Exchange]) -> FailedCheck:
    last = exchanges[-1]
    line = traceback.extract_tb(error.__traceback__)[-1].line
    context = f"last it was said {_shown(last.request_body)}, and answered {last.status}"
    return FailedCheck(
        step_id=f"{last.method} {last.url}",
        field="message",
        expected=f"what this line can read: {line}",
        actual=f"{type(error).__name__}: {error}; {context} {_shown(last.body)}",
        exchange=len(exchanges) - 1,
    )


def _shown(body: str) -> str:
    return body[:_SHOWN] or "nothing"


def result_of(case: OwnCase, suite: str, **outcome: Any) -> CaseResult:
    """Return the result of a case of this suite."""
    return CaseResult(
        path=case.path,
        test_id=case.id,
        name=case.title,
        suite=suite,
        category=case.suite,
        spec_ref=", ".join(case.clauses),
        clauses=case.clauses,
        strength=strength_of(case.clauses),
        profile=profile_of(case.clauses),
        published=published_of(case.clauses),
        dispute=dispute_of(case.clauses),
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
