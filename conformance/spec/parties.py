"""Parties of the protocol, by rule: who makes a call, and whom a clause binds."""

import re
from collections.abc import Iterable
from typing import Final

from conformance.clauses import Clause
from conformance.played.calls import Kind, call_of
from conformance.spec.facts import Call

SERVERS: Final = "servers"
WORKERS: Final = "workers"
PRODUCERS: Final = "producers"
OPERATORS: Final = "operators"
PARTIES: Final = (SERVERS, WORKERS, PRODUCERS, OPERATORS)
_CALLERS: Final = frozenset({WORKERS, PRODUCERS, OPERATORS})

# Callers of what is none of the worker protocol; the first rule that matches counts.
_RULES: Final = tuple(
    (re.compile(pattern), frozenset(parties))
    for pattern, parties in (
        (r"GET .*/jobs/[^/]+/progress.*", (PRODUCERS,)),
        (r"\w+ (?:/ojs/v1)+/(?:checkpoints|blackboard)\b.*", (WORKERS,)),
        (r"\w+ /v2/(?:jobs/(?!search)|topology).*", (WORKERS,)),
        (r"\w+ /v2/(?:process-instances|deployments|element-instances)\b.*", (PRODUCERS,)),
        (r"\w+ (?:/v1/joblib|/socket\.io)/.*", (WORKERS, PRODUCERS)),
        (r"\w+ /ojs/v1/(?:jobs|workflows|unique-jobs)\b.*", (PRODUCERS,)),
        (r"\w+ /api/v1/jobs", (PRODUCERS,)),
        (r"\w+ /ojs/v1/(?:crons?|schemas|events|ws)\b.*", (PRODUCERS, OPERATORS)),
    )
)


def callers(call: Call) -> frozenset[str]:
    """Return who makes a call: of those that no rule names, operators."""
    kind = call_of(call.method, call.path).kind
    if kind is Kind.MANIFEST:
        return _CALLERS
    text = str(call)
    if kind is Kind.OTHER or (kind is Kind.PROGRESS and call.method == "GET"):
        found = (parties for rule, parties in _RULES if rule.fullmatch(text))
        return next(found, frozenset({OPERATORS}))
    return frozenset({WORKERS})


def bound_by(clause: Clause, calls: Iterable[Call]) -> frozenset[str]:
    """Return whom a clause binds: clients are those who make the calls that it names."""
    if clause.side == "client":
        return frozenset().union(*map(callers, calls)) or _CALLERS
    return {
        "server": frozenset({SERVERS}),
        "worker": frozenset({WORKERS}),
        "adapter": frozenset({PRODUCERS}),
    }.get(clause.side, frozenset())
