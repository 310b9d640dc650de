"""Skips for cases that run over gRPC and check something that gRPC does not carry."""

from collections.abc import Mapping
from typing import Final

import msgspec

from conformance.verdicts.result import CaseResult, FailedCheck, SkipReason, Verdict

# A header of answers to calls over gRPC.
BINDING: Final = "ojs-binding"
# Cases that are not played over gRPC.
NOT_OVER_GRPC: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "access.foreign_names",
            "backpressure.pressure",
            "backpressure.warnings",
            "http.answers_are_not_kept",
            "http.enqueue_says_where",
            "http.head_is_get_without_body",
            "http.headers_of_every_answer",
            "http.media_types_exactly",
            "http.media_types_of_answers",
            "http.media_types_that_are_asked_for",
            "http.request_ids_are_kept",
            "http.request_ids_of_every_answer",
            "http.request_ids_have_a_length",
            "http.request_ids_of_the_server",
        ),
        "it is about headers of HTTP",
    ),
    "http.copies_at_the_top": "messages of gRPC have no copies of their members",
    **dict.fromkeys(
        ("idempotency.equal_requests_at_once", "unique.every_policy_at_once"),
        "gRPC does not tell what is new from what was there",
    ),
    **dict.fromkeys(
        ("envelope.payloads_of_every_kind", "grpc.numbers"),
        "gRPC refuses numbers that it would round",
    ),
}


def without_unsupported(result: CaseResult) -> CaseResult:
    """Turn a failure into a skip if it only misses what gRPC does not carry.

    It carries no members that its messages do not have, and no status of a success such as 201.
    """
    if result.verdict is not Verdict.FAIL or not result.failures:
        return result
    unsupported = [failure for failure in result.failures if _is_unsupported(failure, result)]
    if len(unsupported) < len(result.failures):
        return result
    fields = ", ".join(sorted({failure.field for failure in unsupported}))
    return msgspec.structs.replace(
        result,
        verdict=Verdict.SKIPPED,
        skipped=SkipReason.NOT_SUPPORTED,
        reason=f"gRPC does not tell: {fields}",
        failures=(),
    )


def _is_unsupported(failure: FailedCheck, result: CaseResult) -> bool:
    if failure.exchange is None or not 0 <= failure.exchange < len(result.exchanges):
        return False
    exchange = result.exchanges[failure.exchange]
    if BINDING not in exchange.headers:
        return False
    if failure.absent or failure.actual.startswith("nothing"):
        return True
    is_success = failure.field == "status" and exchange.status in range(200, 300)
    return is_success and failure.expected.lstrip('{"$in:[ ').startswith("2")
