"""Faults of FETCH: choice of jobs and workers, order, and waiting."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from ojs_server.domain.workers import fetch_policy
from ojs_server.domain.workers.requirements import Ability
from ojs_server.http.call import Call
from ojs_server.http.workers import fetch
from ojs_server.ops import unit_of_work
from ojs_server.ops.engine.wakeups import Wakeups
from ojs_server.ops.workers import claim, eligibility
from ojs_server.store.sqlite.statements import QUERIES
from ojs_server.store.tables.queues import QueueWrites
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer, drop_members

FETCH = "/workers/fetch"


@fault("OJS-FET-032")
def fetches_bring_one_job() -> None:
    """`count` is ignored."""
    drop_members(FETCH, "count")


@fault("OJS-FET-029")
def batch_sizes_are_ignored() -> None:
    """`batch_size` is ignored."""
    drop_members(FETCH, "batch_size")


@fault("OJS-FET-004")
def types_are_not_chosen() -> None:
    """`job_types` is ignored."""
    drop_members(FETCH, "job_types")


@fault("OJS-VER-006")
def handlers_are_not_heeded() -> None:
    """The handlers that a worker registers are forgotten."""
    drop_members("/workers/register", "handlers")


@fault("OJS-VER-008")
def half_of_the_tags_are_enough() -> None:
    """A job is handed out where the runtime has one of its tags."""
    put(
        Ability,
        "meets",
        lambda able, demand: able.tags is None or not set(demand.tags).isdisjoint(able.tags),
    )


@fault("OJS-FET-014")
def nobody_waits() -> None:
    """`wait_ms` is ignored."""
    drop_members(FETCH, "wait_ms")


@fault("OJS-FET-020")
def asking_again_is_asking_for_more() -> None:
    """`fetch_id` is ignored."""
    drop_members(FETCH, "fetch_id")


@fault("OJS-QUE-001")
def last_in_is_first_out() -> None:
    """A queue hands out its newest job first."""
    after(
        unit_of_work,
        "build_job",
        lambda new, *_: msgspec.structs.replace(
            new, job=msgspec.structs.replace(new.job, seq=-new.job.seq)
        ),
    )


@fault("OJS-FET-027")
def low_priority_goes_first() -> None:
    """Jobs of lower priority are handed out before those of higher."""
    for name in ("claim", "claim_types"):
        query = QUERIES[name]
        lane, sql = (text.replace("priority DESC", "priority") for text in (query.lane, query.sql))
        QUERIES[name] = msgspec.structs.replace(query, lane=lane, sql=sql)


@fault("OJS-FET-034")
def priorities_are_ignored() -> None:
    """Jobs are handed out in the order of joining, whatever their priority."""
    for name in ("claim", "claim_types"):
        query = QUERIES[name]
        lane, sql = (text.replace("priority DESC, seq", "seq") for text in (query.lane, query.sql))
        QUERIES[name] = msgspec.structs.replace(query, lane=lane, sql=sql)


@fault("OJS-FET-008")
def queues_are_turned_round() -> None:
    """Queues are looked at in another order than FETCH names them."""
    after(
        fetch,
        "claim_of",
        lambda wanted, *_, **__: msgspec.structs.replace(wanted, queues=wanted.queues[::-1]),
    )


@fault("OJS-FET-009")
def deliveries_are_given_twice() -> None:
    """A FETCH that finds nothing is given the jobs of the one before."""
    before: list[Any] = []

    def repeat(body: dict[str, Any]) -> None:
        if body.get("jobs"):
            before[:] = body["jobs"]
        elif before:
            body["jobs"] = list(before)
            before.clear()

    change_answer(V1 + FETCH, repeat, status=200)


@fault("OJS-FET-024")
def fetches_wait_for_the_sweep() -> None:
    """A FETCH does not promote due jobs; they are handed out only after the next sweep."""
    put(claim, "promote", lambda *_: None)


@fault("OJS-FET-011")
def paused_queues_go_on() -> None:
    """A pause is accepted and shown, but the queue hands out jobs as before."""
    put(QueueWrites, "set_paused", lambda *_: None)


@fault("OJS-FET-012")
def quiet_workers_are_served() -> None:
    """A worker that reported quiet is given jobs."""
    put(fetch_policy, "may_fetch", lambda worker: True)


@fault("OJS-FET-012")
def quiet_workers_are_not_told() -> None:
    """The empty answer to a quiet worker does not say why it is empty."""
    change_answer(V1 + FETCH, lambda body: body.pop("state", None), status=200)


@fault("OJS-FET-025")
def who_left_is_brought_back() -> None:
    """A FETCH brings a worker back that has deregistered."""
    put(eligibility, "refusal", lambda worker, profile: None)


@fault("OJS-FET-016")
def nobody_is_woken() -> None:
    """A job that becomes available wakes no FETCH that waits."""
    put(Wakeups, "wake", lambda *_: None)


@fault("OJS-FET-018")
def who_hung_up_is_served() -> None:
    """A FETCH whose connection has closed goes on waiting, and is given a job."""

    def make(_: Callable[..., Any]) -> Callable[..., Any]:
        async def never(self: Call) -> None:
            await asyncio.Event().wait()

        return never

    wrap(Call, "disconnected", make)
