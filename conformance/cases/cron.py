"""Cases of cron entries: expressions, zones, firing, overlap and history."""

import asyncio
import itertools
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from conformance.case import case
from conformance.cases.http import ends_with_a_full_page
from conformance.cases.lifecycle import moment, seconds_between
from conformance.play.options import published
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record, Reply, record

CRON = "cron_jobs"
YEARLY = "0 0 1 1 *"
LONGEST = "0" + ",0" * 123 + " 0 1 1 *"  # 255 characters
REFUSED = (400, 422)  # the published texts ask for 400, a published case is content with 422
MARCH, OCTOBER = 3, 10
GONE = "Conformance/Gone"  # a zone that exists only in the server's own folder


async def register(stage: Stage, name: str, expression: str = YEARLY, **more: Any) -> Reply:
    """Register an entry; any answer is returned."""
    template = published({"type": "test.cron", "args": [1], **more.pop("job", {})})
    body = {"name": name, "expression": expression, "job_template": template, **more}
    return await stage.post("cron", body)


async def entry(stage: Stage, name: str) -> Record:
    """Read an entry that must be there."""
    return Record((await stage.get(f"cron/{name}")).expect(200)["cron"])


async def _in_each_form(stage: Stage, name: str, expression: str, **more: Any) -> list[Reply]:
    """Register an entry in the form of the OpenAPI document and of the published cases, and, where
    that is refused, in the form of the cron specification, which differs; return the answers."""
    replies = [await register(stage, name, expression, **more)]
    if replies[0].status in REFUSED:
        flat = {"name": name, "cron": expression, "type": "test.cron", "args": [1], **more}
        replies.append(await stage.post("cron", flat))
    return replies


async def registered(stage: Stage, name: str, expression: str = YEARLY, **more: Any) -> Reply:
    """Register an entry in a published form that is accepted; where none is, the answer to the
    form of the published cases is returned, because most servers know no other."""
    replies = await _in_each_form(stage, name, expression, **more)
    return replies[0] if replies[-1].status in REFUSED else replies[-1]


async def listed(stage: Stage, name: str) -> Record:
    """Return an entry, which must be there, as the list shows it."""
    entries = await _entries(stage)
    mine = [each for each in entries if each.get("name") == name]
    stage.check(len(mine) == 1, f"one entry {name} in the list", mine)
    return Record(mine[0])


def shown(reply: Reply) -> Record:
    """Return the entry of an answer, under either of its published names."""
    under = "cron" if reply.has("cron.name") else "cron_job"
    return record(reply[under], reply)


@case(
    "OJS-CRN-001",
    "OJS-CRN-002",
    "OJS-CRN-003",
    "OJS-CRN-007",
    "OJS-CRN-038",
    "OJS-CRN-042",
    level=2,
    capability=CRON,
)
async def registering(stage: Stage) -> None:
    """An entry is answered with every member, under both names, in every spelling."""
    name = stage.name("cron")
    reply = (await register(stage, name, description="d")).expect(201)
    stage.equal(reply["cron"], reply["cron_job"], "cron and cron_job")
    for members in (reply, await stage.get(f"cron/{name}")):
        members.expect(
            None,
            {
                "cron.name": {"$eq": name},
                "cron.id": {"$eq": name},
                "cron.expression": {"$eq": YEARLY},
                "cron.cron": {"$eq": YEARLY},
                "cron.schedule": {"$eq": YEARLY},
                "cron.timezone": "UTC",
                "cron.overlap_policy": "skip",
                "cron.enabled": True,
                "cron.status": "active",
                "cron.description": "d",
                "cron.job_template.type": "test.cron",
                "cron.type": "test.cron",
                "cron.args": [1],
                "cron.next_run_at": "string:datetime",
                "cron.run_count": 0,
                "cron.created_at": "string:datetime",
                "cron.updated_at": "string:datetime",
            },
        )
    for spelling in ("expression", "cron", "schedule"):
        other = stage.name("cron")
        flat = {"name": other, spelling: YEARLY, "type": "test.cron", "args": [2]}
        (await stage.post("cron", flat)).expect(201, {"cron.job_template.args": [2]})
        await stage.delete(f"cron/{other}")
    again = (await stage.post("cron", reply["cron"])).expect(200)
    stage.equal(again["cron.expression"], YEARLY, "an entry sent back as it was read")
    (await stage.get(f"cron/{stage.name('cron')}")).error(404, "not_found")
    await stage.delete(f"cron/{name}")


@case("OJS-CRN-007", level=2, capability=CRON)
async def reading(stage: Stage) -> None:
    """An entry is read by its name, and a name that is not there is 404."""
    name = stage.name("cron")
    (await registered(stage, name)).expect(201)
    reply = (await stage.get(f"cron/{name}")).expect(200)
    stage.equal(shown(reply)["name"], name, "name")
    (await stage.get(f"cron/{stage.name('cron')}")).expect(404)
    await stage.delete(f"cron/{name}")


@case("OJS-CRN-004", level=2, capability=CRON)
async def registering_again(stage: Stage) -> None:
    """Registering a known name is 200 and updates the entry."""
    name, other = stage.name("cron"), "0 0 1 6 *"
    (await registered(stage, name)).expect(201)
    (await registered(stage, name, other)).expect(200)
    seen = await listed(stage, name)
    stage.equal(seen.get("expression", seen.get("cron")), other, "the expression")
    await stage.delete(f"cron/{name}")


@case("OJS-CRN-053", level=2, capability=CRON)
async def known_names_are_not_new(stage: Stage) -> None:
    """Registering a known name updates the entry or is refused, and never makes a new one."""
    name = stage.name("cron")
    (await registered(stage, name)).expect(201)
    (await registered(stage, name, "0 0 1 6 *")).expect((200, 409))
    await stage.delete(f"cron/{name}")


@case("OJS-CRN-004", "OJS-CRN-039", level=2, capability=CRON)
async def what_stays_of_an_entry(stage: Stage) -> None:
    """A known name replaces the entry and keeps its count, creation and whether it is enabled."""
    name = stage.name("cron")
    first = (await register(stage, name, description="old")).expect(201)["cron"]
    (await stage.call("PATCH", f"cron/{name}", {"enabled": False})).expect(200)
    (await stage.post(f"cron/{name}/trigger", {})).expect(201)
    again = (await register(stage, name, job={"args": ["new"]})).expect(200)["cron"]
    stage.equal(again["created_at"], first["created_at"], "created_at")
    stage.equal(again["enabled"], False, "enabled")
    stage.equal(again["run_count"], 1, "run_count")
    stage.equal(again["job_template"]["args"], ["new"], "args")
    stage.equal(again.get("description"), None, "description")
    on = (await register(stage, name, enabled=True)).expect(200)["cron"]
    stage.equal(on["next_run_at"], first["next_run_at"], "next_run_at")
    moved = (await register(stage, name, "0 0 1 6 *")).expect(200)["cron"]
    stage.check(moved["next_run_at"] != first["next_run_at"], "another next_run_at", moved)
    await stage.delete(f"cron/{name}")


@case("OJS-CRN-010", level=2, capability=CRON)
async def wrong_expressions(stage: Stage) -> None:
    """An expression that is empty, malformed or out of range is refused at the registration."""
    for wrong in (
        "",
        "not a valid cron",
        "60 * * * *",
        "* 24 * * *",
        "0 0 32 * *",
        "0 0 1 13 *",
        "0 0 * * 8",
        "1- * * * *",
        "*/0 * * * *",
        "0 0 0 0 0 0 0",
    ):
        (await registered(stage, stage.name("cron"), wrong)).expect(REFUSED)


@case("OJS-CRN-005", "OJS-CRN-011", "OJS-CRN-045", "OJS-CRN-046", level=2, capability=CRON)
async def wrong_entries(stage: Stage) -> None:
    """An invalid entry is 400 and names the member; a template that is too large is 413."""
    name = stage.name("cron")
    for wrong, members in (
        ("name", {"name": "Upper"}),
        ("name", {"name": "-a"}),
        ("name", {"name": "a b"}),
        ("name", {"name": "x" * 256}),
        ("expression", {"expression": "every day"}),
        ("expression", {"expression": LONGEST.replace(" 1 *", " 12 *")}),
        ("timezone", {"timezone": "Mars/Base"}),
        ("overlap_policy", {"overlap_policy": "explode"}),
        ("enabled", {"enabled": "yes"}),
        ("type", {"job_template": {"args": []}}),
        ("id", {"job_template": {"type": "a", "args": [], "id": stage.new_id()}}),
        ("pending", {"job_template": {"type": "a", "args": [], "pending": True}}),
    ):
        template = {"type": "test.cron", "args": []}
        body = {"name": name, "expression": YEARLY, "job_template": template, **members}
        reply = await stage.post("cron", body)
        reply.error(400, "invalid_request")
        text = f"{reply['error.message']} {reply.json['error'].get('details')}"
        stage.check(wrong in text, f"{wrong} in the error", text)
    (await register(stage, name, job={"args": ["x" * 66_000]})).error(413, "payload_too_large")
    (await stage.get(f"cron/{name}")).error(404, "not_found")


async def _entries(stage: Stage, **query: str) -> list[dict[str, Any]]:
    """Return the list of entries, which stands under either of its published members."""
    reply = (await stage.get("cron", limit=100, **query)).expect(200)
    entries: list[dict[str, Any]] = reply["crons" if reply.has("crons") else "cron_jobs"]
    return entries


async def _named(stage: Stage, names: list[str], **query: str) -> list[str]:
    """Return those of the names that stand in the list."""
    return [each["name"] for each in await _entries(stage, **query) if each["name"] in names]


@case("OJS-CRN-006", level=2, capability=CRON)
async def listing(stage: Stage) -> None:
    """The list has every entry that was registered."""
    names = [stage.name("cron") for _ in range(2)]
    for name in names:
        (await registered(stage, name)).expect(201)
    stage.equal(sorted(await _named(stage, names)), sorted(names), "entries in the list")
    for name in names:
        await stage.delete(f"cron/{name}")


@case("OJS-HTP-022", "OJS-HTP-023", "OJS-CRN-006", level=2, capability=CRON, alone=True)
async def a_full_last_page(stage: Stage) -> None:
    """A list of entries whose last page is full ends with it."""

    async def add() -> str:
        name = stage.name("cron")
        (await registered(stage, name)).expect(201)
        return name

    for name in await ends_with_a_full_page(stage, "cron", ("crons", "cron_jobs"), add):
        await stage.delete(f"cron/{name}")


@case("OJS-CRN-041", level=2, capability=CRON)
async def listing_those_that_fire(stage: Stage) -> None:
    """The list can be limited to the entries that fire, or to those that do not."""
    name = stage.name("cron")
    (await registered(stage, name)).expect(201)
    stage.equal(await _named(stage, [name], enabled="true"), [name], "entries that fire")
    stage.equal(await _named(stage, [name], enabled="false"), [], "entries that do not")
    await stage.delete(f"cron/{name}")


@case("OJS-CRN-040", "OJS-CRN-041", "OJS-HTP-020", "OJS-HTP-022", level=2, capability=CRON)
async def names_and_order_of_the_list(stage: Stage) -> None:
    """Entries are listed newest first under all names, chosen by whether they fire."""
    names = [stage.name("cron") for _ in range(3)]
    for name in names:
        (await register(stage, name)).expect(201)
    (await stage.call("PATCH", f"cron/{names[1]}", {"enabled": False})).expect(200)

    async def listed(**query: str) -> list[str]:
        reply = (await stage.get("cron", limit=1000, **query)).expect(200)
        for other in ("cron_jobs", "items"):
            stage.equal(reply[other], reply["crons"], other)
        return [each["name"] for each in reply["crons"] if each["name"] in names]

    stage.equal(await listed(), names[::-1], "newest first")
    stage.equal(await listed(enabled="false"), [names[1]], "those that do not fire")
    stage.equal(await listed(enabled="true"), [names[2], names[0]], "those that fire")
    for name in names:
        (await stage.delete(f"cron/{name}")).expect(200)


@case("OJS-CRN-008", level=2, capability=CRON)
async def changing(stage: Stage) -> None:
    """An entry is disabled and enabled by PATCH, and has a next run only while it is enabled."""
    name = stage.name("cron")
    (await registered(stage, name)).expect(201)
    path = f"cron/{name}"
    for enabled in (False, True):
        (await stage.call("PATCH", path, {"enabled": enabled})).expect(200)
        seen = await listed(stage, name)
        stage.equal(seen["enabled"], enabled, "enabled")
        stage.equal(seen.get("next_run_at") is not None, enabled, "a next run")
    await stage.delete(path)


@case("OJS-CRN-008", "OJS-CRN-042", "OJS-CRN-043", "OJS-CRN-045", level=2, capability=CRON)
async def changing_members(stage: Stage) -> None:
    """PATCH changes only the members it names, and the answer has the entry as it is then."""
    name = stage.name("cron")
    (await register(stage, name, description="old", timezone="Europe/Berlin")).expect(201)
    path = f"cron/{name}"
    changed = (await stage.call("PATCH", path, {"description": "new"})).expect(200)["cron"]
    stage.equal([changed["description"], changed["timezone"]], ["new", "Europe/Berlin"], "members")
    off = (await stage.call("PATCH", path, {"enabled": False})).expect(200)["cron"]
    stage.equal([off["enabled"], off.get("next_run_at")], [False, None], "a disabled entry")
    on = (await stage.call("PATCH", path, {"enabled": True})).expect(200)["cron"]
    ahead_s = seconds_between(on["updated_at"], on["next_run_at"])
    stage.check(ahead_s > 0, "a run in the future", on)
    (await stage.call("PATCH", path, {"expression": "nonsense"})).error(400, "invalid_request")
    unknown = f"cron/{stage.name('cron')}"
    (await stage.call("PATCH", unknown, {})).error(404, "not_found")
    for call in ("trigger", "pause", "resume"):
        (await stage.post(f"{unknown}/{call}", {})).error(404, "not_found")
    (await stage.get(f"{unknown}/history")).error(404, "not_found")
    (await stage.delete(path)).expect(200)


@case("OJS-CRN-009", level=2, capability=CRON)
async def deleting(stage: Stage) -> None:
    """A deleted entry is gone, and a name that is not there cannot be deleted."""
    name = stage.name("cron")
    (await registered(stage, name)).expect(201)
    (await stage.delete(f"cron/{name}")).expect(200)
    stage.equal(await _named(stage, [name]), [], "entries in the list")
    (await stage.delete(f"cron/{name}")).expect(404)


@case("OJS-CRN-009", "OJS-CRN-031", "OJS-CRN-042", "OJS-CRN-044", level=2, capability=CRON)
async def jobs_outlive_their_entry(stage: Stage) -> None:
    """A deleted entry is answered as it was, and its jobs stay."""
    name, queue = stage.name("cron"), stage.name()
    (await register(stage, name, job={"queue": queue})).expect(201)
    job = (await stage.post(f"cron/{name}/trigger", {})).expect(201)["job"]
    (await stage.delete(f"cron/{name}")).expect(
        200, {"deleted": True, "name": {"$eq": name}, "cron.name": {"$eq": name}}
    )
    (await stage.delete(f"cron/{name}")).error(404, "not_found")
    stage.equal((await stage.look(job))["state"], "available", "state of its job")


async def _next(stage: Stage, expression: str, zone: str | None = "UTC") -> datetime | None:
    """Register an entry; return its next run, or None where the registration is refused."""
    found = await _next_or_refusal(stage, expression, zone)
    return found if isinstance(found, datetime) else None


async def _next_or_refusal(stage: Stage, expression: str, zone: str | None) -> datetime | str:
    """Register an entry; return its next run, or why the registration is refused in each form."""
    name = stage.name("cron")
    more = {} if zone is None else {"timezone": zone}
    replies = await _in_each_form(stage, name, expression, **more)
    if replies[-1].status in REFUSED:
        return "refused: " + ", and in another form: ".join(
            f"{reply.status} {reply.text.strip()}" for reply in replies
        )
    found = moment(shown(replies[-1].expect(201))["next_run_at"])
    await stage.delete(f"cron/{name}")
    return found.astimezone(UTC)


async def _meets(stage: Stage, expression: str, meets: Callable[[datetime], bool]) -> None:
    """Require that the next run of an expression is a moment that meets it."""
    found = await _next_or_refusal(stage, expression, "UTC")
    holds = isinstance(found, datetime) and meets(found)
    stage.check(holds, f"a moment that meets {expression}", str(found))


@case("OJS-CRN-012", level=2, capability=CRON)
async def expressions(stage: Stage) -> None:
    """The five fields, with lists, ranges, steps and names, fire at the right times."""
    for expression, meets in (
        ("30 6 * * *", lambda at: (at.hour, at.minute) == (6, 30)),
        ("*/20 * * * *", lambda at: at.minute in (0, 20, 40)),
        ("5,10-12 * * * *", lambda at: at.minute in (5, 10, 11, 12)),
        ("0 0 1 JAN *", lambda at: (at.month, at.day) == (1, 1)),
        ("0 0 * * sun", lambda at: at.weekday() == 6),
        ("0 0 * * 7", lambda at: at.weekday() == 6),
        ("0 0 * * 0", lambda at: at.weekday() == 6),
    ):
        await _meets(stage, expression, meets)


@case("OJS-CRN-014", level=2, capability=CRON)
async def special_days(stage: Stage) -> None:
    """The last day, the nearest working day, and the last and the nth day of the week are found."""
    for expression, meets in (
        ("0 0 L * *", lambda at: (at + timedelta(days=1)).day == 1),
        ("0 0 * * 5L", lambda at: at.weekday() == 4 and (at + timedelta(days=7)).month != at.month),
        ("0 0 * * 5#2", lambda at: at.weekday() == 4 and 8 <= at.day <= 14),
    ):
        await _meets(stage, expression, meets)
    # Some of these days are on a Saturday, and some on a Sunday.
    for month in range(1, 13):
        await _is_nearest_weekday(stage, 15, month)


@case("OJS-CRN-016", level=2, capability=CRON)
async def nicknames(stage: Stage) -> None:
    """The names of common schedules stand for their expressions, and are given back."""
    for expression, meets in (
        ("@yearly", lambda at: (at.month, at.day, at.hour, at.minute) == (1, 1, 0, 0)),
        ("@annually", lambda at: (at.month, at.day, at.hour, at.minute) == (1, 1, 0, 0)),
        ("@monthly", lambda at: (at.day, at.hour, at.minute) == (1, 0, 0)),
        ("@weekly", lambda at: (at.weekday(), at.hour, at.minute) == (6, 0, 0)),
        ("@daily", lambda at: (at.hour, at.minute) == (0, 0)),
        ("@midnight", lambda at: (at.hour, at.minute) == (0, 0)),
        ("@hourly", lambda at: (at.minute, at.second) == (0, 0)),
    ):
        await _meets(stage, expression, meets)
    name = stage.name("cron")
    seen = shown((await registered(stage, name, "@daily")).expect(201))
    stage.equal(seen.get("expression", seen.get("cron")), "@daily", "the expression")
    await stage.delete(f"cron/{name}")


@case("OJS-CRN-017", level=2, capability=CRON)
async def intervals(stage: Stage) -> None:
    """An interval is counted from the registration."""
    now = datetime.now(UTC)
    least, most = timedelta(hours=1.4), timedelta(hours=1.6)
    await _meets(stage, "@every 1h30m", lambda at: least < at - now < most)


@case("OJS-CRN-046", "OJS-CRN-047", "OJS-CRN-048", level=2, capability=CRON)
async def all_that_expressions_have(stage: Stage) -> None:
    """Every special day, interval and spelling is known, and expressions may be long."""
    now = datetime.now(UTC)
    least, most = timedelta(hours=1.4), timedelta(hours=1.6)
    for expression, meets in (
        ("0 0 L * *", lambda at: (at + timedelta(days=1)).day == 1),
        ("0 0 LW * *", lambda at: at.weekday() < 5 and at.day >= 26),
        ("0 0 * * 5L", lambda at: at.weekday() == 4 and (at + timedelta(days=7)).month != at.month),
        ("@every 1h30m", lambda at: least < at - now < most),
    ):
        await _meets(stage, expression, meets)
    for day, month in itertools.product((1, 15), range(1, 13)):
        await _is_nearest_weekday(stage, day, month)
    # All weekdays, so that every day of these weeks is covered in any year.
    for weekday, nth in itertools.product(range(8), (1, 2, 5)):
        found = await _next(stage, f"0 0 * 1 {weekday}#{nth}")
        expected = _nth_weekday(now, weekday % 7, nth)
        stage.equal(found, expected, f"a time that meets {weekday}#{nth}")
    found = await _next(stage, LONGEST)
    stage.check(found is not None and found.month == 1, "the longest expression", str(found))
    name = stage.name("cron")
    (await register(stage, name, "@Daily")).expect(201, {"cron.expression": {"$eq": "@Daily"}})
    (await stage.delete(f"cron/{name}")).expect(200)


async def _is_nearest_weekday(stage: Stage, day: int, month: int) -> None:
    """Require that `W` finds the working day nearest to a day."""
    found = await _next_or_refusal(stage, f"0 0 {day}W {month} *", "UTC")
    holds = isinstance(found, datetime) and found == _nearest_weekday(found.replace(day=day))
    stage.check(holds, f"nearest to {day}.{month}.", str(found))


def _nth_weekday(now: datetime, weekday: int, nth: int) -> datetime:
    """Return the next day of this kind in a January; days of the week are counted from Sunday."""
    days = (
        datetime(now.year + years, 1, day, tzinfo=UTC)
        for years in range(30)
        for day in range(7 * nth - 6, min(7 * nth, 31) + 1)
    )
    return next(day for day in days if day.isoweekday() % 7 == weekday and day > now)


def _nearest_weekday(at: datetime) -> datetime:
    """Return the working day nearest to a day, of the same month."""
    moved = {5: 2 if at.day == 1 else -1, 6: 1}
    return at + timedelta(days=moved.get(at.weekday(), 0))


@case("OJS-CRN-013", "OJS-CRN-015", "OJS-CRN-018", "OJS-CRN-048", level=2, capability=CRON)
async def fields(stage: Stage) -> None:
    """Six fields begin with the second; other numbers, and dates that never come, are refused."""
    at = await _next(stage, "15 * * * * *")
    stage.check(at is not None and at.second == 15, "second 15", str(at))
    for wrong in (
        "* * * *",
        "0 0 0 0 0 0 0",
        "",
        "60 * * * *",
        "* 24 * * *",
        "@sometimes",
        "0 0 31 2 *",
        "0 0 30 FEB *",
        "@every 0s",
        "5-1 * * * *",
        "*/0 * * * *",
        "0 0 */32 * *",
        "0 0 * * 5#0",
        "0 0 * * 5#6",
    ):
        stage.check(await _next(stage, wrong) is None, f"{wrong!r} refused", "accepted")
    either = await _next(stage, "0 0 13 * 5")
    stage.check(
        either is not None and (either.day == 13 or either.weekday() == 4), "either", str(either)
    )
    both = await _next(stage, "0 0 */1 * 5")
    stage.check(
        both is not None and both.weekday() == 4, "both, where one begins with *", str(both)
    )


@case("OJS-CRN-019", level=2, capability=CRON)
async def zones(stage: Stage) -> None:
    """Zones are UTC or places; a time of a place is that of its clocks."""
    at = await _next(stage, "0 12 15 1 *", "America/New_York")
    stage.check(at is not None and at.astimezone(UTC).hour == 17, "17:00 UTC in January", str(at))
    at = await _next(stage, "0 12 15 7 *", "America/New_York")
    stage.check(at is not None and at.astimezone(UTC).hour == 16, "16:00 UTC in July", str(at))
    at = await _next(stage, "0 12 15 1 *", None)
    stage.check(
        at is not None and at.astimezone(UTC).hour == 12, "UTC where none is named", str(at)
    )
    wrong = ("+02:00", "-08:00", "UTC+5", "EST", "PST", "CEST", "Mars/Base")
    accepted = [zone for zone in wrong if await _next(stage, YEARLY, zone) is not None]
    stage.equal(accepted, [], "zones that are accepted, of those that must not be")


@case("OJS-CRN-020", level=2, capability=CRON)
async def clock_changes(stage: Stage) -> None:
    """A time that a clock change jumps over does not come that day, and one that comes twice
    comes the first time."""
    now = datetime.now(UTC)
    for month in (MARCH, OCTOBER):
        day = _change(now.year + (now.month >= month), month)
        at = await _next(stage, f"30 2 {day} {month} *", "Europe/Berlin")
        expected = next(moment for moment in _half_past_two(now.year, month, day) if moment > now)
        stage.equal(
            str(at and at.astimezone(UTC)), str(expected), f"half past two of {day}/{month}"
        )


@case("OJS-CRN-049", level=2, capability=CRON)
async def abbreviated_zones(stage: Stage) -> None:
    """Names that are abbreviations, or nothing, are refused as zones."""
    for wrong in ("CET", "EST5EDT", "EST5EDT4", "GMT+2", ""):
        stage.check(await _next(stage, YEARLY, wrong) is None, f"{wrong!r} refused", "accepted")


def _change(year: int, month: int) -> int:
    """The day on which the clocks of Berlin change: the last Sunday of March or October."""
    last = date(year, month, 31)
    return 31 - last.isoweekday() % 7


def _half_past_two(first: int, month: int, day: int) -> Iterator[datetime]:
    """The moments of this time of Berlin, year by year. In March the change jumps over it, and in
    October it comes twice."""
    for year in range(first, first + 9):
        change = _change(year, month)
        summer = day > change if month == MARCH else day <= change
        if (month, day) != (MARCH, change):
            yield datetime(year, month, day, 0 if summer else 1, 30, tzinfo=UTC)


@case(
    "OJS-CRN-021",
    "OJS-CRN-022",
    "OJS-CRN-025",
    "OJS-CRN-028",
    "OJS-CRN-033",
    level=2,
    capability=CRON,
)
async def firing(stage: Stage) -> None:
    """Each due time fires once, with the job, the history and the event together."""
    name, queue = stage.name("cron"), stage.name()
    reply = await register(
        stage,
        name,
        "* * * * * *",
        overlap_policy="allow",
        job={"queue": queue, "meta": {"cron_name": "mine", "own": 1}},
    )
    reply.expect(201)
    await asyncio.sleep(4.2)
    (await stage.call("PATCH", f"cron/{name}", {"enabled": False})).expect(200)
    jobs = await stage.fetch(queue, count=20)
    stage.check(3 <= len(jobs) <= 6, "one job a second", len(jobs))
    due = [job["meta"]["cron_scheduled_at"] for job in jobs]
    stage.equal(len(set(due)), len(due), "different due times")
    for job in jobs:
        stage.equal([job["meta"]["cron_name"], job["meta"]["own"]], [name, 1], "meta")
        stage.check("cron_triggered_at" in job["meta"], "cron_triggered_at", job["meta"])
    seen = await entry(stage, name)
    stage.equal(seen["run_count"], len(jobs), "run_count")
    stage.check(seen["last_job_id"] in [job["id"] for job in jobs], "last_job_id", dict(seen))
    history = (await stage.get(f"cron/{name}/history")).expect(200)
    stage.equal(history["executions"], history["history"], "executions")
    runs = [run for run in history["history"] if run["outcome"] == "triggered"]
    stage.equal(len(runs), len(jobs), "runs in the history")
    events = (await stage.get("events", types="cron.triggered", limit=1000)).expect(200)["events"]
    mine = [event for event in events if event["subject"] == name]
    stage.equal(len(mine), len(jobs), "events")
    for member in (
        "cron_name",
        "cron_expression",
        "cron_expr",
        "timezone",
        "job_type",
        "job_id",
        "run_count",
        "scheduled_time",
        "scheduled_at",
        "actual_time",
        "queue",
    ):
        stage.check(member in mine[0]["data"], member, mine[0]["data"])
    (await stage.delete(f"cron/{name}")).expect(200)


@case(
    "OJS-CRN-024",
    "OJS-CRN-048",
    "OJS-CRN-050",
    level=2,
    capability=CRON,
    own_server="main",
    seconds=120,
)
async def catching_up(stage: Stage) -> None:
    """After a time without the server one run is made up for, and the entry goes on."""
    assert stage.process is not None
    # Most jobs that may be due long before the restart: the run that is made up for, and one from
    # before the kill, which comes too soon for an interval.
    most = {"*/3 * * * * *": 2, "@every 3s": 1}
    # Together the schedules of a step are due every second; each fires at its own seconds only.
    whole = {(first, step): stage.name() for step in (4, 5) for first in range(step)}
    for (first, step), queue in whole.items():
        expression = f"{first}-59/{step} * * * * *"
        reply = await register(
            stage, stage.name("cron"), expression, overlap_policy="allow", job={"queue": queue}
        )
        reply.expect(201)
    queues = {expression: stage.name() for expression in most}
    names = {expression: stage.name("cron") for expression in queues}
    for expression, queue in queues.items():
        reply = await register(
            stage, names[expression], expression, overlap_policy="allow", job={"queue": queue}
        )
        reply.expect(201)
    await stage.process.kill()
    await asyncio.sleep(10)
    woken = datetime.now(UTC)
    await stage.process.start()
    await asyncio.sleep(0.7)
    started = datetime.now(UTC)
    for expression, queue in queues.items():
        jobs = await stage.fetch(queue, count=20)
        due = [moment(job["meta"]["cron_scheduled_at"]) for job in jobs]
        early = [at for at in due if at < started - timedelta(seconds=3.7)]
        stage.check(len(early) <= most[expression], f"one run of {expression} made up for", due)
        stage.check(len(jobs) <= 4, "no run for every time that passed", len(jobs))
        newest = [at for at in due if woken - timedelta(seconds=3.5) < at <= started]
        stage.check(bool(newest), f"a run of {expression} for the newest due time", due)
        seen = await entry(stage, names[expression])
        stage.check(moment(seen["next_run_at"]) > started, "a run in the future", seen)
    for (first, step), queue in whole.items():
        jobs = await stage.fetch(queue, count=20)
        due = [moment(job["meta"]["cron_scheduled_at"]) for job in jobs]
        exact = all(at.microsecond == 0 and at.second % step == first for at in due)
        stage.check(bool(due) and exact, f"due times of {first}-59/{step}, no others", due)


@case("OJS-CRN-026", level=2, capability=CRON)
async def leases_of_fired_jobs(stage: Stage) -> None:
    """A fired job that names no visibility timeout is hidden for ten minutes, or the usual time."""
    name, queue = stage.name("cron"), stage.name()
    (await register(stage, name, job={"queue": queue})).expect(201)
    (await stage.post(f"cron/{name}/trigger", {})).expect(201)
    job = await stage.take(queue)
    other = stage.name()
    await stage.enqueue(other)
    wait_s = max(600, _lease_s(await stage.take(other)))
    stage.check(abs(_lease_s(job) - wait_s) < 5, f"{wait_s} s", _lease_s(job))
    (await register(stage, name, job={"queue": queue, "visibility_timeout": 60})).expect(200)
    (await stage.ack(job)).expect(200)
    (await stage.post(f"cron/{name}/trigger", {})).expect(201)
    job = await stage.take(queue)
    stage.check(abs(_lease_s(job) - 60) < 5, "the minute that it names", _lease_s(job))
    (await stage.delete(f"cron/{name}")).expect(200)


def _lease_s(job: Record) -> float:
    return seconds_between(job["started_at"], job["lease_expires_at"])


@case("OJS-CRN-027", level=2, capability=CRON, own_server="zones", unstarted=True)
async def zones_that_vanish(stage: Stage) -> None:
    """An entry whose time zone no longer exists is disabled, and an event gives the reason."""
    assert stage.process is not None
    name = stage.name("cron")
    file = Path(stage.process.folder, "zones", GONE)
    await asyncio.to_thread(_put_zone, file)
    await stage.process.start()
    (await register(stage, name, "* * * * * *", timezone=GONE)).expect(201)
    await stage.process.kill()
    await asyncio.to_thread(file.unlink)
    await stage.process.start()

    async def is_disabled() -> bool:
        return not (await entry(stage, name))["enabled"]

    await stage.until(is_disabled, 15, "the entry is disabled")
    last = (await stage.events(types="cron.*"))[-1]
    stage.equal([last["type"], last["subject"]], ["cron.skipped", name], "type and subject")
    stage.equal(last["data"]["reason"], "invalid", "reason")
    stage.check(bool(last["data"]["message"]), "a message", last)


def _put_zone(file: Path) -> None:
    """Write the file of a time zone that has one name, one offset, and no changes."""
    file.parent.mkdir(parents=True)
    counts = struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    file.write_bytes(b"TZif" + bytes(16) + counts + struct.pack(">lBB", 3600, 0, 0) + b"XYZ\0")


@case(
    "OJS-CRN-028",
    "OJS-CRN-029",
    "OJS-CRN-030",
    "OJS-CRN-034",
    "OJS-CRN-051",
    level=2,
    capability=CRON,
)
async def overlap(stage: Stage) -> None:
    """The overlap policy decides the effect of a due time while the previous run is unfinished."""
    names: dict[str, tuple[str, str]] = {}
    for policy in ("skip", "allow", "cancel_previous", "enqueue"):
        name, queue = stage.name("cron"), stage.name()
        (
            await register(stage, name, "* * * * * *", overlap_policy=policy, job={"queue": queue})
        ).expect(201)
        names[policy] = (name, queue)
    await asyncio.sleep(3.4)
    for name, _ in names.values():
        (await stage.call("PATCH", f"cron/{name}", {"enabled": False})).expect(200)
    counts = {
        policy: (await stage.get(f"queues/{queue}/stats")).expect(200)["queue"]
        for policy, (_, queue) in names.items()
    }
    stage.equal(counts["skip"]["available"], 1, "jobs with skip")
    stage.check(counts["allow"]["available"] >= 3, "a job a second with allow", counts["allow"])
    cancelled = counts["cancel_previous"]
    stage.equal(cancelled["available"], 1, "jobs left with cancel_previous")
    stage.check(cancelled["cancelled"] >= 2, "the others cancelled", cancelled)
    held = counts["enqueue"]
    stage.equal(held["available"], 1, "jobs at once with enqueue")
    stage.check(held["pending"] >= 2, "the others held back", held)
    history = (await stage.get(f"cron/{names['skip'][0]}/history")).expect(200)["history"]
    skipped = [run for run in history if run["outcome"] == "skipped"]
    stage.check(bool(skipped), "skipped runs", history)
    stage.equal({run["reason"] for run in skipped}, {"overlap_skip"}, "reasons")
    events = (await stage.get("events", types="cron.skipped", limit=1000)).expect(200)["events"]
    mine = [event for event in events if event["subject"] == names["skip"][0]]
    stage.check(bool(mine) and "existing_job_id" in mine[0]["data"], "existing_job_id", mine[:1])
    queue = names["enqueue"][1]
    first = await stage.take(queue)
    (await stage.ack(first)).expect(200)
    second = await stage.take(queue, wait_ms=2500)
    stage.check(
        moment(second["meta"]["cron_scheduled_at"]) > moment(first["meta"]["cron_scheduled_at"]),
        "the next due time, within a second of the end before",
        second["meta"],
    )
    (await stage.delete(f"cron/{names['enqueue'][0]}")).expect(200)
    left = (await stage.get(f"queues/{queue}/stats")).expect(200)["queue"]
    stage.equal(left["pending"], 0, "runs held back after the entry is gone")
    for policy in ("skip", "allow", "cancel_previous"):
        (await stage.delete(f"cron/{names[policy][0]}")).expect(200)


@case("OJS-CRN-029", level=2, capability=CRON)
async def names_of_overlap_policies(stage: Stage) -> None:
    """The four overlap policies are known."""
    for policy in ("skip", "allow", "cancel_previous", "enqueue"):
        name = stage.name("cron")
        seen = shown((await registered(stage, name, overlap_policy=policy)).expect(201))
        stage.equal(seen["overlap_policy"], policy, "overlap_policy")
        await stage.delete(f"cron/{name}")


@case("OJS-CRN-052", level=2, capability=CRON)
async def no_overlap_policy(stage: Stage) -> None:
    """An entry that names no overlap policy skips, as far as it says so."""
    name = stage.name("cron")
    seen = shown((await registered(stage, name)).expect(201))
    stage.equal(seen.get("overlap_policy", "skip"), "skip", "overlap_policy")
    await stage.delete(f"cron/{name}")


@case("OJS-CRN-051", level=2, capability=CRON)
async def other_names_of_overlap_policies(stage: Stage) -> None:
    """The other names of overlap policies stand for them."""
    for spelling, canonical in (
        ("cancel", "cancel_previous"),
        ("replace", "cancel_previous"),
        ("queue", "enqueue"),
        ("allow", "allow"),
    ):
        name = stage.name("cron")
        (await register(stage, name, overlap_policy=spelling)).expect(
            201, {"cron.overlap_policy": canonical}
        )
        (await stage.delete(f"cron/{name}")).expect(200)


@case("OJS-CRN-031", "OJS-CRN-032", level=2, capability=CRON)
async def running_by_hand(stage: Stage) -> None:
    """An entry runs by hand, also disabled, within its overlap policy; its history says so."""
    name, queue = stage.name("cron"), stage.name()
    reply = await register(stage, name, enabled=False, job={"queue": queue})
    reply.expect(201)
    job = (await stage.post(f"cron/{name}/trigger", {})).expect(201)["job"]
    stage.equal(job["queue"], queue, "queue")
    (await stage.post(f"cron/{name}/trigger", {})).error(409, "conflict")
    (await stage.ack(await stage.take(queue))).expect(200)
    (await stage.post(f"cron/{name}/trigger", {})).expect(201)
    history = (await stage.get(f"cron/{name}/history")).expect(200)
    stage.equal(history["executions"], history["history"], "executions")
    runs = [run for run in history["history"] if run["outcome"] == "triggered"]
    stage.equal(len(runs), 2, "runs")
    stage.equal(runs[1]["job_id"], job["id"], "the first run last")
    for run in runs:
        stage.equal(run["manual"], True, "manual")
        for member in ("scheduled_at", "triggered_at"):
            stage.check(member in run, member, run)
    stage.equal((await entry(stage, name)).get("next_run_at"), None, "next_run_at")
    (await stage.delete(f"cron/{name}")).expect(200)


@case("OJS-CRN-035", level=2, capability=CRON)
async def pausing_entries(stage: Stage) -> None:
    """Pause and resume have the effect of a change of `enabled`."""
    name = stage.name("cron")
    (await register(stage, name)).expect(201)
    (await stage.post(f"cron/{name}/pause")).expect(200)
    off = await entry(stage, name)
    stage.equal([off["enabled"], off.get("next_run_at")], [False, None], "a paused entry")
    (await stage.post(f"cron/{name}/resume")).expect(200)
    on = await entry(stage, name)
    stage.check(
        on["enabled"] is True and bool(on["next_run_at"]), "an entry that goes on", dict(on)
    )
    (await stage.delete(f"cron/{name}")).expect(200)
