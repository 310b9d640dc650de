"""Compares what cases say that they test with what they look for, and with their clauses."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from conformance.case import OwnCase, ServerCase, WorkerCase
from conformance.clauses import Spec
from conformance.spec.code import checks_statuses, code_of, own_numbers, refusals_of

_STATUS: Final = re.compile(r"(?<![\d.,])\b[45]\d\d\b(?![.,]?\d)")
# Something is refused, if not by a status that the clause says.
_REFUSED: Final = re.compile(r"(?<!that )(?<!which )\b(?:is|are) refused\b")
_NO_REFUSAL: Final = re.compile(r"\bno \w+ is refused\b")


def title_problems(
    spec: Spec, cases: Iterable[OwnCase], errors: Mapping[str, int]
) -> Iterator[str]:
    """Yield what contradicts itself in a case, or contradicts its clauses."""
    for case in cases:
        if not isinstance(case, ServerCase | WorkerCase):
            continue
        looks = own_numbers if checks_statuses(case.play) else _all_numbers
        cited = ", ".join(case.clauses)
        for status in sorted(set(map(int, _STATUS.findall(case.title)))):
            if status not in looks(case.play):
                yield f"case {case.id} ({cited}) is about {status}, and does not look for it"
        for status, code in refusals_of(case.play):
            if errors.get(code, status) != status:
                yield (
                    f"case {case.id} ({cited}) looks for {status} {code}; the "
                    f"table of errors has {errors[code]} for {code}"
                )
    yield from _accepted(spec, cases)


def _all_numbers(play: Callable[..., Any]) -> frozenset[int]:
    return code_of(play).numbers


def _accepted(spec: Spec, cases: Iterable[OwnCase]) -> Iterator[str]:
    """Yield clauses that refuse something, where all their cases accept everything."""
    by_clause: dict[str, list[ServerCase]] = {}
    for case in cases:
        if isinstance(case, ServerCase):
            for name in case.clauses:
                by_clause.setdefault(name, []).append(case)
    for clause in spec.clauses:
        mine = by_clause.get(clause.id)
        text = _NO_REFUSAL.sub("", clause.summary)
        refuses = clause.binds_servers and _REFUSED.search(text)
        if mine and refuses and not any(map(_looks_for_a_refusal, mine)):
            names = ", ".join(case.id for case in mine)
            yield (
                f"{clause.file}:{clause.line}: {clause.id} refuses something; its cases look for "
                f"no refusal ({names})"
            )


def _looks_for_a_refusal(case: ServerCase) -> bool:
    # gRPC refuses without a status of HTTP.
    return case.grpc or any(400 <= number < 600 for number in _all_numbers(case.play))
