"""Faults of rate limits and of bounded queues."""

from typing import Any

import msgspec

from ojs_server.domain.jobs import request_shape
from ojs_server.domain.limits import limit_state
from ojs_server.domain.limits.rate_limit import Policy, RateLimit
from ojs_server.http.jobs import enqueue
from ojs_server.ops.limits import backpressure
from ojs_server.ops.limits.backpressure import BoundedQueues
from ojs_server.store.tables.queues import QueueWrites
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import change_request


def _in_force(change: Any) -> None:
    after(limit_state, "in_force", lambda policy, *_: change(policy))


@fault("OJS-RLM-006")
def keys_run_one_more() -> None:
    """One more job of a key runs than its concurrency allows."""

    def more(policy: Policy) -> Policy:
        if policy.concurrency is None:
            return policy
        return msgspec.structs.replace(policy, concurrency=policy.concurrency + 1)

    _in_force(more)


@fault("OJS-RLM-006")
def keys_of_one_run_two() -> None:
    """Two jobs of a key run where its concurrency is 1."""

    def two(policy: Policy) -> Policy:
        return msgspec.structs.replace(policy, concurrency=2) if policy.concurrency == 1 else policy

    _in_force(two)


@fault("OJS-RLM-007")
def rates_let_one_more_in() -> None:
    """One more job starts in a period than its rate allows."""

    def more(policy: Policy) -> Policy:
        if policy.rate is None:
            return policy
        rate = msgspec.structs.replace(policy.rate, limit=policy.rate.limit + 1)
        return msgspec.structs.replace(policy, rate=rate)

    _in_force(more)


@fault("OJS-RLM-008")
def throttles_let_pairs_through() -> None:
    """Starts under a throttle lie half as far apart as they should."""
    after(limit_state, "_gap", lambda gap, *_: gap // 2)


@fault("OJS-RLM-011")
def places_are_not_given_back() -> None:
    """A job that ends leaves its place taken."""
    put(limit_state, "finish", lambda row, count: row)


@fault("OJS-RLM-014")
def dropping_is_waiting() -> None:
    """With `drop` a job waits."""

    def wait(given: RateLimit | None, *_: object) -> RateLimit | None:
        drops = given is not None and given.on_limit == "drop"
        return msgspec.structs.replace(given, on_limit="wait") if given and drops else given

    after(request_shape, "parse_rate_limit", wait)


@fault("OJS-RLM-016")
def workers_cannot_close_keys() -> None:
    """`rate_limit_until` in a FAIL is ignored."""

    def forget(body: dict[str, Any], _: object) -> None:
        if isinstance(error := body.get("error"), dict):
            error.pop("rate_limit_until", None)

    change_request("/workers/nack", forget)


@fault("OJS-RLM-019")
def operators_are_not_heard() -> None:
    """The limits that an operator sets do not count."""
    put(limit_state, "in_force", lambda row, now: row.policy)


@fault("OJS-BPR-002")
def bounds_let_one_more_in() -> None:
    """A queue takes one job more than its bound."""

    def make(begin: Any) -> Any:
        def widened(self: Any, *arguments: Any) -> None:
            begin(self, *arguments)
            self._bounds = {
                name: msgspec.structs.replace(one, depth=one.depth and one.depth + 1)
                for name, one in self._bounds.items()
            }

        return widened

    wrap(BoundedQueues, "__init__", make)


@fault("OJS-BPR-003")
def full_queues_count_in_milliseconds() -> None:
    """A producer that meets a full queue is told to wait in milliseconds."""
    put(backpressure, "RETRY_AFTER_S", 1000)


@fault("OJS-BPR-006")
def the_youngest_make_room() -> None:
    """With `drop_oldest` the job that came last is dropped."""
    wrap(
        QueueWrites,
        "oldest_waiting",
        lambda oldest: lambda tx, queue, most: oldest(tx, queue, 1000)[::-1][:most],
    )


@fault("OJS-BPR-007")
def pressure_is_not_told() -> None:
    """No answer says how full a queue is."""
    put(enqueue, "pressure_headers", lambda done: {})
