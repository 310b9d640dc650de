"""Cron entries: registering, changing, firing on time, catching up, by hand."""

from typing import Any

import msgspec
import pytest

from ojs_server.domain.cron.entry import KEPT_RUNS, CronEntry, CronRun
from ojs_server.domain.cron.request import parse_changes
from ojs_server.domain.errors import InvalidRequest, NotFound, TenantFull
from ojs_server.domain.profile import OJS
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.ops.cron.entries import AmendEntry, Fire, Forget, Kept, RegisterEntry, Trigger
from ojs_server.ops.rules import Rules
from ojs_server.ops.tenants.administration import SaveTenant
from ojs_server.store.records import EventFilter
from tests.ops.bench import START, Bench, HandClock, meta_of
from tests.ops.limits.test_queue_limits import configure

MINUTE = 60_000
# The first full minute after the start.
FIRST = START - START % MINUTE + MINUTE


def register(bench: Bench, name: str = "a", expression: str = "* * * * *", **given: Any) -> Kept:
    body = {"name": name, "expression": expression, "type": "t", "queue": "q", **given}
    kept: Kept = bench.do(RegisterEntry(name, parse_changes(body)))
    return kept


def amend(bench: Bench, name: str = "a", **given: Any) -> CronEntry:
    entry: CronEntry = bench.do(AmendEntry(name, parse_changes(given))).entry
    return entry


def entry_of(bench: Bench, name: str = "a") -> CronEntry:
    with bench.store.reader() as reader:
        (entry,) = reader.cron([name])
    return entry


def runs_of(bench: Bench, name: str = "a") -> list[CronRun]:
    with bench.store.reader() as reader:
        return reader.cron_runs(name)


def fire_at(bench: Bench, moment: int) -> int:
    """Turn the clock to a moment and fire what is due."""
    bench.clock.now = moment
    entries: int = bench.do(Fire()).entries
    return entries


def test_an_entry_counts_from_its_registration(bench: Bench) -> None:
    committed = bench.commit(
        RegisterEntry("a", parse_changes({"name": "a", "cron": "* * * * *", "type": "t"}))
    )
    (kept,) = committed.outcomes
    assert kept.created
    assert kept.entry == entry_of(bench)
    assert kept.entry.next_run_at == FIRST
    # The timer of housekeeping hears of it.
    assert committed.due_at == FIRST


def test_a_due_entry_makes_its_job_once(bench: Bench) -> None:
    register(bench, args=[1], meta={"mine": True})
    assert fire_at(bench, FIRST - 1) == 0
    assert fire_at(bench, FIRST + 40) == 1
    assert fire_at(bench, FIRST + 41) == 0
    (delivery,) = bench.take(count=9)
    job = delivery.claimed.job
    assert (job.type, job.queue, delivery.claimed.args) == ("t", "q", b"[1]")
    assert meta_of(delivery) == {
        "mine": True,
        "cron_name": "a",
        "cron_scheduled_at": "2023-11-14T22:14:00Z",
        "cron_triggered_at": "2023-11-14T22:14:00.040Z",
    }
    entry = entry_of(bench)
    assert (entry.run_count, entry.last_run_at, entry.last_job_id) == (1, FIRST + 40, job.id)
    assert entry.next_run_at == FIRST + MINUTE
    (run,) = runs_of(bench)
    assert (run.scheduled_at, run.at, run.outcome, run.job_id) == (
        FIRST,
        FIRST + 40,
        "triggered",
        job.id,
    )


def test_a_firing_is_told(bench: Bench) -> None:
    register(bench, timezone="Asia/Tokyo")
    fire_at(bench, FIRST + 40)
    ((kind, data),) = bench.events_of("a")
    assert kind == "cron.triggered"
    job_id = data.pop("job_id")
    assert bench.event_types(job_id) == ["job.enqueued"]
    assert data == {
        "cron_name": "a",
        "cron_expr": "* * * * *",
        "cron_expression": "* * * * *",
        "timezone": "Asia/Tokyo",
        "job_type": "t",
        "queue": "q",
        "run_count": 1,
        "scheduled_at": "2023-11-14T22:14:00Z",
        "scheduled_time": "2023-11-14T22:14:00Z",
        "actual_time": "2023-11-14T22:14:00.040Z",
        "manual": False,
        "waiting": 0,
    }


def test_after_a_pause_one_run_is_made_up_for_the_newest(bench: Bench) -> None:
    register(bench, overlap_policy="allow")
    register(bench, "b", "@every 7m", overlap_policy="allow")
    late = FIRST + 30 * MINUTE + 5
    assert fire_at(bench, late) == 2
    assert [run.scheduled_at for run in runs_of(bench)] == [FIRST + 30 * MINUTE]
    assert entry_of(bench).next_run_at == FIRST + 31 * MINUTE
    assert [run.scheduled_at for run in runs_of(bench, "b")] == [START + 28 * MINUTE]
    assert entry_of(bench, "b").next_run_at == START + 35 * MINUTE
    assert fire_at(bench, late) == 0


def test_many_due_entries_fire_together(bench: Bench) -> None:
    for number in range(20):
        register(bench, f"e{number}")
    assert fire_at(bench, FIRST) == 20
    assert bench.counts() == {"available": 20}


@pytest.mark.parametrize(
    ("server_ms", "given", "lease_ms"),
    [(1_800_000, {}, 1_800_000), (30_000, {}, 600_000), (30_000, {"visibility_timeout": 5}, 5_000)],
)
def test_a_fired_job_is_hidden_for_ten_minutes_at_least_unless_it_says_so(
    with_rules: Any, server_ms: int, given: dict[str, Any], lease_ms: int
) -> None:
    bench = with_rules(Rules(profile=msgspec.structs.replace(OJS, lease_ms=server_ms)))
    register(bench, options=given)
    fire_at(bench, FIRST)
    (delivery,) = bench.take()
    assert delivery.lease.duration_ms == lease_ms


def test_a_disabled_entry_never_fires_and_starts_anew_when_enabled(bench: Bench) -> None:
    register(bench)
    entry = amend(bench, enabled=False)
    assert (entry.enabled, entry.next_run_at) == (False, None)
    assert fire_at(bench, FIRST + 5 * MINUTE) == 0
    # No run is made up for the time in which it was off.
    assert amend(bench, status="active").next_run_at == FIRST + 6 * MINUTE
    assert fire_at(bench, FIRST + 5 * MINUTE + 1) == 0


def test_registering_again_keeps_the_beat_the_history_and_the_pause(bench: Bench) -> None:
    register(bench, expression="@every 90s", overlap_policy="allow")
    fire_at(bench, START + 90_000)
    bench.clock.advance(80_000)
    kept = register(bench, expression="@every 90s", type="other")
    assert not kept.created
    assert kept.entry.next_run_at == START + 180_000
    assert (kept.entry.run_count, kept.entry.created_at) == (1, START)
    assert len(runs_of(bench)) == 1
    amend(bench, enabled=False)
    assert register(bench, expression="@every 90s").entry.enabled is False
    assert register(bench, expression="@every 90s", enabled=True).entry.next_run_at is not None


@pytest.mark.parametrize("changes", [{"expression": "@every 60s"}, {"timezone": "Asia/Tokyo"}])
def test_another_schedule_counts_from_now(bench: Bench, changes: dict[str, Any]) -> None:
    register(bench, expression="@every 90s")
    bench.clock.advance(80_000)
    entry = amend(bench, **changes)
    every = 60_000 if "expression" in changes else 90_000
    assert entry.next_run_at == bench.clock.now + every


def test_a_change_touches_only_what_it_names(bench: Bench) -> None:
    register(bench, args=[1], options={"queue": "r", "priority": 3}, description="nightly")
    before = entry_of(bench)
    after = amend(bench, queue="s")
    template = msgspec.json.decode(after.definition)
    assert template == {
        "job_template": {"type": "t", "queue": "s", "args": [1], "options": {"priority": 3}},
        "description": "nightly",
    }
    unchanged = {"definition": before.definition, "updated_at": before.updated_at}
    assert msgspec.structs.replace(after, **unchanged) == before


def test_a_change_that_cannot_be_leaves_the_entry_as_it_was(bench: Bench) -> None:
    register(bench)
    before = entry_of(bench)
    for given in ({"priority": 1000}, {"name": "b"}, {"type": "No Type"}, {"pending": True}):
        with pytest.raises(InvalidRequest):
            bench.do(AmendEntry("a", parse_changes(given)))
    assert entry_of(bench) == before


def test_unknown_names_are_not_found(bench: Bench) -> None:
    for op in (Forget("a"), Trigger("a"), AmendEntry("a", parse_changes({}))):
        with pytest.raises(NotFound, match="no cron entry a"):
            bench.do(op)


def test_a_forgotten_entry_fires_no_more_and_its_jobs_stay(bench: Bench) -> None:
    register(bench)
    fire_at(bench, FIRST)
    assert bench.do(Forget("a")).entry.name == "a"
    assert fire_at(bench, FIRST + MINUTE) == 0
    assert bench.counts() == {"available": 1}
    assert runs_of(bench) == []


def test_a_run_by_hand_leaves_the_beat_alone(bench: Bench) -> None:
    register(bench, expression="@every 90s")
    amend(bench, enabled=False)
    bench.clock.advance(10)
    done = bench.do(Trigger("a"))
    assert bench.state(done.stored.job.id) == "available"
    (run,) = runs_of(bench)
    assert (run.manual, run.scheduled_at) == (True, START + 10)
    entry = entry_of(bench)
    assert (entry.next_run_at, entry.run_count) == (None, 1)
    assert bench.events_of("a")[0][1]["manual"] is True


def test_the_history_is_bounded(bench: Bench) -> None:
    register(bench, overlap_policy="allow")
    for _ in range(KEPT_RUNS + 5):
        bench.do(Trigger("a"))
    assert len(runs_of(bench)) == KEPT_RUNS
    assert entry_of(bench).run_count == KEPT_RUNS + 5


def test_a_local_time_that_a_clock_change_swallowed_is_told(bench: Bench, clock: HandClock) -> None:
    clock.now = 1_772_900_000_000  # 2026-03-07 16:13 UTC; next day at 02:00 New York jumps to 03:00
    register(bench, expression="30 2 * * *", timezone="America/New_York")
    due_at = entry_of(bench).next_run_at
    assert due_at == 1_773_037_800_000  # 2026-03-09 02:30 in New York
    fire_at(bench, due_at)
    told = dict(bench.events_of("a"))
    assert told["cron.skipped"]["reason"] == "dst_skip"
    assert told["cron.skipped"]["local_time"] == "2026-03-08T02:30:00"
    assert told["cron.skipped"]["scheduled_at"] is None
    assert told["cron.triggered"]["scheduled_at"] == "2026-03-09T06:30:00Z"
    fire_at(bench, entry_of(bench).next_run_at or 0)
    assert bench.event_types("a").count("cron.skipped") == 2  # this one for the overlap
    assert bench.events_of("a")[-1][1]["reason"] == "overlap_skip"


def test_an_entry_that_cannot_be_read_any_more_is_switched_off(bench: Bench) -> None:
    register(bench)
    register(bench, "b")
    broken = msgspec.structs.replace(entry_of(bench), timezone="Mars/Olympus")
    with bench.store.transaction() as tx:
        tx.update_cron([broken])
    assert fire_at(bench, FIRST) == 2
    entry = entry_of(bench)
    assert (entry.enabled, entry.next_run_at) == (False, None)
    ((kind, data),) = bench.events_of("a")
    assert (kind, data["reason"]) == ("cron.skipped", "invalid")
    assert "Mars/Olympus" in data["message"]
    assert entry_of(bench, "b").run_count == 1


def test_a_run_has_the_retry_policy_of_its_queue(bench: Bench) -> None:
    bench.do(configure(default_retry={"max_attempts": 7}))
    register(bench)
    register(bench, "own", retry={"max_attempts": 2})
    assert fire_at(bench, FIRST) == 2
    jobs = {meta_of(one)["cron_name"]: one.claimed.job for one in bench.take(count=9)}
    assert {name: job.max_attempts for name, job in jobs.items()} == {"a": 7, "own": 2}


def test_an_entry_is_refused_for_a_type_that_its_queue_does_not_take(bench: Bench) -> None:
    bench.do(configure(allowed_job_types=["mail.*"]))
    with pytest.raises(InvalidRequest, match="queue q takes no jobs of type t") as refusal:
        register(bench)
    assert (refusal.value.details or {})["field"] == "type"
    with bench.store.reader() as reader:
        assert reader.cron(["a"]) == []
    kept = register(bench, type="mail.send").entry
    with pytest.raises(InvalidRequest):
        amend(bench, type="t")
    assert entry_of(bench) == kept


def test_an_entry_whose_type_is_refused_since_skips_and_goes_on_later(bench: Bench) -> None:
    register(bench)
    bench.do(configure(allowed_job_types=["mail.*"]))
    fire_at(bench, FIRST)
    (run,) = runs_of(bench)
    assert (run.outcome, run.reason, run.job_id) == ("skipped", "type_refused", None)
    ((kind, data),) = bench.events_of("a")
    assert (kind, data["reason"]) == ("cron.skipped", "type_refused")
    assert "takes no jobs of type t" in data["message"]
    with pytest.raises(InvalidRequest):
        bench.do(Trigger("a"))
    amend(bench, enabled=False)
    amend(bench, enabled=True)
    bench.do(configure(allowed_job_types=None))
    fire_at(bench, FIRST + MINUTE)
    assert entry_of(bench).run_count == 1


def test_events_of_cron_are_found_by_their_prefix(bench: Bench) -> None:
    register(bench)
    fire_at(bench, FIRST)
    with bench.store.reader() as reader:
        page = reader.events(0, EventFilter(types=("cron.*",), queues=("q",)), 9)
    assert [placed.event.type for placed in page.events] == ["cron.triggered"]


def test_an_entry_of_a_tenant_fires_its_jobs_while_there_is_room(bench: Bench) -> None:
    for name in ("a", "b"):
        own = {"name": name, "cron": "* * * * *", "type": name, "queue": "q"}
        bench.do(RegisterEntry(f"acme/{name}", parse_changes(own, tenant="acme")))
    register(bench, "a")
    bench.do(SaveTenant("acme", Tenant(max_queue_depth=1)))
    assert fire_at(bench, FIRST) == 3
    fired = bench.take(count=9)
    # One of its two at the same moment, and the one that is nobody's.
    assert sorted(str(one.claimed.job.tenant) for one in fired) == ["_default", "acme"]
    assert {meta_of(one)["cron_name"] for one in fired} <= {"a", "b"}
    for one in fired:
        bench.ack(one.claimed.job.id)
    runs = [run for name in ("acme/a", "acme/b") for run in runs_of(bench, name)]
    assert sorted((run.outcome, run.reason) for run in runs) == [
        ("skipped", "tenant_limit"),
        ("triggered", None),
    ]
    bench.put(type="t", meta={"tenant_id": "acme"})
    with pytest.raises(TenantFull):
        bench.do(Trigger("acme/a"))
    assert entry_of(bench, "acme/a").enabled
    with bench.store.reader() as reader:
        events = reader.events(0, EventFilter(types=("cron.*",), tenant="acme"), 9).events
    assert sorted(one.event.type for one in events) == ["cron.skipped", "cron.triggered"]
    assert {one.event.subject for one in events} == {"a", "b"}


def test_a_run_without_room_leaves_the_one_before(bench: Bench) -> None:
    register(bench, meta={"tenant_id": "acme"}, overlap_policy="cancel_previous")
    fire_at(bench, FIRST)
    bench.do(SaveTenant("acme", Tenant(max_queue_depth=1)))
    fire_at(bench, FIRST + MINUTE)
    assert [run.reason for run in runs_of(bench)] == ["tenant_limit", None]
    assert len(bench.take(count=9)) == 1
