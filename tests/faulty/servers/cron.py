"""Faults of cron entries."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from ojs_server.domain.cron import entry as cron_entry
from ojs_server.domain.cron import expression as cron_expression
from ojs_server.domain.cron import ownership
from ojs_server.domain.cron.entry import CronEntry, Meeting
from ojs_server.ops.cron import entries as cron
from ojs_server.ops.cron import firing as cron_firing
from ojs_server.ops.cron.firing import Firing
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer, change_request


@fault("OJS-CRN-021")
def due_times_fire_twice() -> None:
    """Each due time makes two jobs."""

    def twice(carry_out: Any) -> Any:
        def fire(self: Firing, entry: CronEntry) -> Any:
            self.run(entry, entry.next_run_at or 0)
            return carry_out(self, entry)

        return fire

    wrap(Firing, "carry_out", twice)


@fault("OJS-CRN-053")
def every_entry_is_new() -> None:
    """An entry that is registered again is answered as a new one."""
    change_answer(f"{V1}/cron", status=200, becomes=201)


@fault("OJS-CRN-029")
def runs_overlap() -> None:
    """A due time makes a job whatever the overlap policy says."""
    put(cron_firing, "meet", lambda entry, outstanding: Meeting.RUN)


@fault("OJS-CRN-019")
def every_place_has_one_time() -> None:
    """The time zone of an entry is checked, and UTC is used."""

    def utc(parse: Any) -> Any:
        def zone(name: str) -> Any:
            parse(name)
            return parse("UTC")

        return zone

    wrap(cron_entry, "parse_zone", utc)


@fault("OJS-CRN-020")
def times_that_are_jumped_over_fire() -> None:
    """A local time that a clock change jumps over fires an hour later."""

    def first(local: datetime, zone: ZoneInfo) -> int:
        return int(local.replace(tzinfo=zone).timestamp() * 1000)

    put(cron_expression, "_first_instant", first)


@fault("OJS-CRN-020")
def times_that_come_twice_fire_late() -> None:
    """A local time that comes twice fires the second time."""
    wrap(
        cron_expression,
        "_first_instant",
        lambda first: lambda local, zone: first(local.replace(fold=1), zone),
    )


@fault("OJS-CRN-012")
def weeks_begin_on_monday() -> None:
    """Days of the week are counted from Monday."""

    def shift(body: dict[str, Any], _: object) -> None:
        expression = body.get("expression")
        if isinstance(expression, str) and expression.endswith((" 0", " 7", " sun")):
            body["expression"] = f"{expression.rsplit(' ', 1)[0]} 1"

    change_request("/cron", shift)


@fault("OJS-CRN-004")
def registering_again_forgets_the_runs() -> None:
    """Registering a known name counts its runs from zero."""
    after(cron, "registered", lambda entry, *_, **__: msgspec.structs.replace(entry, run_count=0))


@fault("OJS-CRN-025")
def runs_do_not_say_for_when() -> None:
    """The meta of a fired job lacks its due time."""
    after(
        cron_firing,
        "draft_of",
        lambda draft, *_, **__: msgspec.structs.replace(
            draft, meta=draft.meta.replace(b'"cron_scheduled_at"', b'"scheduled_at"')
        ),
    )


@fault("OJS-CRN-027")
def entries_without_a_zone_sleep() -> None:
    """An entry that cannot be read any more is enabled, and never due again."""

    def sleeps(self: Firing, entry: CronEntry, error: Exception) -> CronEntry:
        return msgspec.structs.replace(entry, next_run_at=None)

    put(Firing, "_switched_off", sleeps)


@fault("OJS-CRN-008")
def disabled_entries_have_a_next_run() -> None:
    """A disabled entry still says when it would run."""

    def pretend(body: dict[str, Any]) -> None:
        for name in ("cron", "cron_job"):
            body[name]["next_run_at"] = body[name]["next_run_at"] or body[name]["created_at"]

    change_answer(f"{V1}/cron/[^/]+", pretend, status=200)


@fault("OJS-CRN-032")
def runs_have_one_name() -> None:
    """The history of an entry has no `executions`."""
    change_answer(f"{V1}/cron/[^/]+/history", lambda body: body.update(executions=[]), status=200)


@fault("OJS-CRN-036")
def entries_are_anybodys() -> None:
    """Every key that may register entries may change those of others."""
    put(ownership, "may_change", lambda entry, caller: True)


@fault("OJS-CRN-037")
def an_owner_has_several_keys() -> None:
    """A key registers entries of an owner that is another key's."""
    put(cron, "require_owner", lambda entry, holders, caller: None)
