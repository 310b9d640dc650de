"""Query plans of PostgreSQL, and the rules that the plans of our statements keep.

A statement is not compiled (JIT), since that takes longer than to carry it out, and it reads no
table that grows from one end to the other.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec
from psycopg.errors import Diagnostic

from ojs_server.store.postgres.statements import STATEMENTS, claim_of

# Tables of configuration, of present workers and nodes, of steps of the schema, and of single rows;
# all others may grow.
SMALL: Final = frozenset(
    {
        "cron",
        "event_tally",
        "maintenance",
        "nodes",
        "pg_database",
        "pools",
        "queue_counts",
        "queues",
        "routings",
        "schema_versions",
        "schemas",
        "settings",
        "tenants",
        "webhooks",
        "workers",
    }
)
# Statements that have to read the whole of a table that grows, and why that is no harm.
WHOLE: Final[Mapping[str, Mapping[str, str]]] = {
    "count_workflows": {"workflows": "the total that a list of them tells"},
    "last_position": {"jobs": "once, when a node starts"},
    "waits": {"leases": "a row for each job that runs at the moment"},
}
# A session that tells its client the plan of everything that it carries out.
TELLING: Final = (
    "-csession_preload_libraries=auto_explain -cauto_explain.log_min_duration=0"
    " -cauto_explain.log_level=notice -cauto_explain.log_format=json"
    " -cauto_explain.log_nested_statements=on"
)
# Like it, with the number of pages that each statement has read.
COUNTING: Final = " -cauto_explain.log_analyze=on -cauto_explain.log_buffers=on"
_PARAMETER: Final = re.compile(r"%\(\w+\)s|\$\d+")
_EMPTIES: Final = re.compile(r"DELETE FROM \w+\s*$")
_INDEX_SCANS: Final = ("Index Scan", "Index Only Scan", "Bitmap Index Scan")


class Plan(msgspec.Struct, frozen=True):
    """A query plan and its statement."""

    statement: str
    described: Mapping[str, Any]

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """Return the plan in a message of auto_explain, or None where it is another message."""
        if not re.match(r"duration: .* plan:\n", text):
            return None
        described = json.loads(text.partition("plan:\n")[2])
        query = described["Query Text"]
        return cls(_NAMES.get(_shape(query), query), described)

    @property
    def pages(self) -> int:
        """The pages that the statement has read, where they were counted."""
        plan = self.described["Plan"]
        return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    def compiled(self) -> bool:
        """True if the statement is compiled by JIT."""
        return "JIT" in self.described

    def read_whole(self, indexes: Collection[str] = ()) -> set[str]:
        """Return the tables that grow and are read from one end to the other.

        To read all of one of these indexes is that, too, unless a LIMIT says where to stop.
        """
        return set(_whole(self.described["Plan"], indexes, limited=False)) - SMALL


class Watched:
    """The plans that connections were sent as notices."""

    def __init__(self) -> None:
        self._plans: list[Plan] = []

    def note(self, message: Diagnostic) -> None:
        """Keep the plan in a notice, if there is one."""
        if (plan := Plan.parsed(message.message_primary or "")) is not None:
            self._plans.append(plan)

    def taken(self) -> list[Plan]:
        """Return all plans since the last time, and forget them."""
        plans, self._plans = self._plans, []
        return plans


def telling(url: str, more: str = "") -> str:
    """Return the URL with auto_explain on, with more options; the user must be a superuser."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    query["options"] = f"{query.get('options', '')} {TELLING}{more}"
    return parts._replace(query=urlencode(query, quote_via=quote)).geturl()


def amiss(plans: Sequence[Plan], indexes: Collection[str] = ()) -> list[str]:
    """Describe what is wrong with plans, each statement once."""
    compiled = {f"compiled: {plan.statement}" for plan in plans if plan.compiled()}
    whole = {
        f"reads {table} whole: {plan.statement}"
        for plan in plans
        if not _EMPTIES.match(plan.statement)
        for table in plan.read_whole(indexes) - WHOLE.get(plan.statement, {}).keys()
    }
    return sorted(compiled | whole)


def _whole(node: Mapping[str, Any], indexes: Collection[str], *, limited: bool) -> Iterator[str]:
    kind = node["Node Type"]
    limited = limited or kind == "Limit"
    is_open = kind in _INDEX_SCANS and "Index Cond" not in node and not limited
    if kind == "Seq Scan" or (is_open and node["Index Name"] in indexes):
        yield node.get("Relation Name", node.get("Index Name"))
    for part in node.get("Plans", ()):
        yield from _whole(part, indexes, limited=limited)


def _shape(query: str) -> str:
    return _PARAMETER.sub("?", query)


_NAMES: Final = {
    **{_shape(statement.sql): name for name, statement in STATEMENTS.items()},
    **{_shape(claim_of(10**digits).sql): "claim" for digits in range(5)},
    **{_shape(claim_of(1, types).sql): "claim_types" for types in range(1, 3)},
}
