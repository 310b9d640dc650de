"""Promises about workers and servers (spec/07, 31 and 34)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from tests.simulation.ledger import Exchange, Told
from tests.simulation.oracles.stored import Stored
from tests.simulation.processes import START_MS

if TYPE_CHECKING:
    from tests.simulation.world import World

BEAT = "/ojs/v1/workers/heartbeat"
FETCH = "/ojs/v1/workers/fetch"
REGISTER = "/ojs/v1/workers/register"
ORDER = {"running": 0, "quiet": 1, "terminate": 2}
DIRECTIVES = ("worker directive", "worker direct all")
# Longest grace period of a worker, and what it may take longer.
END_S = 33.0
# Bounds of the time after which a silent worker is dead: how much the measure may be off, when all
# servers have been there for long, and how late they may be.
SLACK_S = 0.1
SETTLED_S = 35.0
LATE_S = 8.0
# Time in which a worker acts on an answer.
REACTION_S = 0.05
# A worker that is silent for so long is declared dead, when nothing disturbs.
DEAD_MS = 35_000
Wrong = Callable[[str], None]


class _Beat(msgspec.Struct):
    worker_id: str = ""
    state: str = ""


_beat = msgspec.json.Decoder(_Beat)


class Beat(msgspec.Struct, frozen=True):
    """A BEAT: what a worker said, and what it was answered."""

    sent_at: float
    answered_at: float
    worker_id: str
    said: str
    answered: str


def judge(world: "World", stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    beats: dict[str, list[Beat]] = {}
    fetches: dict[str, list[float]] = {}
    registered: dict[str, list[float]] = {}
    for exchange in world.ledger.exchanges:
        if not exchange.who.startswith("worker"):
            continue
        if exchange.path == FETCH:
            fetches.setdefault(exchange.who, []).append(exchange.sent_at)
        elif exchange.path == BEAT and exchange.status == 200:
            beats.setdefault(exchange.who, []).append(_beat_of(exchange))
        elif exchange.path == REGISTER and exchange.status in (200, 201):
            worker_id = msgspec.json.decode(exchange.reply)["worker_id"]
            registered.setdefault(worker_id, []).append(exchange.sent_at)
    for who, said in beats.items():
        _obeys(world, who, said, fetches.get(who, []))
    _directives(world, stored, beats, registered)
    _handed_nothing(world, stored)
    _ends(world, beats)
    _deaths(world, stored)
    _incarnations(world, stored)
    _leases(world, stored)
    _nodes(world)
    _numbers(world, stored)


def _beat_of(exchange: Exchange) -> Beat:
    asked = _beat.decode(exchange.body or b"{}")
    answer = _beat.decode(exchange.reply)
    return Beat(
        exchange.sent_at,
        exchange.answered_at or 0.0,
        asked.worker_id,
        asked.state or "running",
        answer.state or "running",
    )


def _obeys(world: "World", who: str, beats: list[Beat], fetches: list[float]) -> None:
    """A worker that was told quiet or terminate fetches no more, until it is told to run or gets
    SIGCONT (OJS-WPR-029, 030, OJS-WRK-016)."""
    conts = [
        at
        for worker in world.workers
        for at, name, signal in worker.signals
        if name == who and signal == "SIGCONT"
    ]
    for beat in beats:
        if ORDER[beat.answered] == 0:
            continue
        lifts = [
            later.answered_at
            for later in beats
            if later.answered_at >= beat.answered_at and ORDER[later.answered] == 0
        ]
        lifts += [at for at in conts if at >= beat.answered_at]
        if beat.answered == "terminate":
            lifts = []
        until = min(lifts, default=1e9)
        for at in fetches:
            if beat.answered_at + REACTION_S < at < until:
                world.ledger.wrong(
                    "quiet",
                    f"{who} was told {beat.answered} at {beat.answered_at:g}, fetched {at:g}",
                )
                return


def _directives(
    world: "World",
    stored: Stored,
    beats: dict[str, list[Beat]],
    registered: dict[str, list[float]],
) -> None:
    """An answered directive is in the answer to each BEAT after it, until another one replaces it,
    the worker registers anew, or is gone (OJS-WRK-020)."""
    calls = [
        told for told in world.ledger.told if told.kind in DIRECTIVES and told.outcome != "refused"
    ]
    if world.ledger.lost("/resume", "/workers/directive"):
        return
    for told in calls:
        directive = told.what["directive"]
        if told.outcome != "ok" or told.answer is None or directive == "resume":
            continue
        until = _replaced(world, told, calls)
        for said in beats.values():
            worker_id = said[0].worker_id
            if told.answer.get("id", worker_id) != worker_id or not told.answer["updated"]:
                continue
            until = min([until, *(at for at in registered.get(worker_id, []) if at > told.at)])
            gone = any(
                event.type == "worker.stopped" and event.place > (told.head_at or 0)
                for event in stored.by_subject.get(worker_id, [])
            )
            known = any(at < told.at for at in registered.get(worker_id, []))
            for beat in said:
                if (
                    (told.answered_at or 0) < beat.sent_at
                    and beat.answered_at < until
                    and ORDER[beat.answered] < ORDER[directive]
                    and known
                    and not gone
                ):
                    world.ledger.wrong(
                        "directive",
                        f"{worker_id} was to be {directive} from {told.answered_at:g} on, and was"
                        f" answered {beat.answered} at {beat.answered_at:g}",
                    )
                    return


def _replaced(world: "World", told: Told, calls: list[Told]) -> float:
    """Return when another directive may have come, or the operator may have resumed all."""
    mine = told.what.get("worker")
    others = [
        other.at
        for other in calls
        if other is not told
        and (other.answered_at or 1e9) >= told.at
        and other.what.get("worker", mine) == (mine or other.what.get("worker"))
    ]
    return min([*others, world.scenario.options.storm_s])


def _handed_nothing(world: "World", stored: Stored) -> None:
    """A worker that was told quiet or terminate is handed no job, until another directive comes,
    it registers anew, or is gone (OJS-FET-012, OJS-WRK-020)."""
    calls = [told for told in world.ledger.told if told.kind in DIRECTIVES]
    if world.ledger.lost("/resume", "/workers/directive"):
        return
    for told in calls:
        if told.outcome != "ok" or not told.answer or told.what["directive"] == "resume":
            continue
        since = told.head_answered or 0
        others = [
            other.head_at or 0
            for other in calls
            if other is not told and (other.answered_at or 1e9) >= told.at
        ]
        until = min([*others, world.ledger.tidied])
        for event in stored.events:
            if not since < event.place <= until or event.type != "job.started":
                continue
            worker_id = event.data["worker_id"]
            if worker_id is None or told.answer.get("id", worker_id) != worker_id:
                continue
            lives = [
                one.place
                for one in stored.by_subject.get(worker_id, [])
                if one.type in ("worker.started", "worker.stopped", "worker.deleted")
            ]
            known = any(place <= (told.head_at or 0) for place in lives)
            if known and not any((told.head_at or 0) < place < event.place for place in lives):
                world.ledger.wrong(
                    "quiet",
                    f"{worker_id} was handed {event.subject} at {event.place}, after it was told"
                    f" {told.what['directive']} at {since}",
                )
                return


def _ends(world: "World", beats: dict[str, list[Beat]]) -> None:
    """A worker that is told to end does so in its grace period and a few seconds
    (OJS-WPR-028, 032), unless its process stands still meanwhile."""
    for worker in world.workers:
        told = {who: at for at, who, signal in reversed(worker.signals) if signal == "SIGTERM"}
        for who, said in beats.items():
            if who.partition(".")[0] == worker.name:
                ends = [beat.answered_at for beat in said if beat.answered == "terminate"]
                told[who] = min([*ends, told.get(who, 1e9)])
        for who, at in told.items():
            ended = worker.ended.get(who, world.loop.now)
            if ended - at > END_S and not _stood_still(world, worker.name, at, ended):
                world.ledger.wrong("worker", f"{who} was told to end at {at:g}, not by {ended:g}")


def _stood_still(world: "World", name: str, since: float, until: float) -> bool:
    return any(
        fault.target == name
        and fault.kind in ("freeze", "suspend")
        and fault.at < until
        and fault.at + fault.lasts > since
        for fault in world.scenario.faults
    )


def _deaths(world: "World", stored: Stored) -> None:
    """No worker is declared dead that gave a sign of life in the heartbeat timeout, and the jobs of
    a dead one come back soon after it (OJS-WRK-032, 033)."""
    if any(fault.kind == "clock" for fault in world.scenario.faults) and world.database is None:
        # The server's clock is not that of the simulation.
        return
    profile = world.nodes[0].settings.profile
    silent_s = (profile.dead_after_ms or 0) / 1000
    heard: dict[str, list[tuple[float, float]]] = {}
    for exchange in world.ledger.exchanges:
        if exchange.path in (BEAT, REGISTER) and exchange.who.startswith("worker"):
            worker_id = _beat.decode(exchange.body or b"{}").worker_id
            answered = exchange.answered_at if exchange.status in (200, 201) else None
            heard.setdefault(worker_id, []).append((exchange.sent_at, answered or 1e9))
    for event in stored.events:
        if event.type != "worker.stopped" or event.data.get("reason") != "error":
            continue
        at = (event.at - START_MS) / 1000
        signs = heard.get(event.subject, [])
        early = [sent for sent, done in signs if sent > at - silent_s + SLACK_S and done < at]
        if early:
            world.ledger.wrong(
                "death", f"{event.subject} was declared dead at {at:g}, heard at {early[-1]:g}"
            )
        last = max([sent for sent, _ in signs], default=0.0)
        calm = world.scenario.options.storm_s + SETTLED_S
        if signs and at > max(last, calm) + silent_s + LATE_S:
            world.ledger.wrong(
                "death", f"{event.subject} was declared dead at {at:g}, silent since {last:g}"
            )


def _incarnations(world: "World", stored: Stored) -> None:
    """Each life of a worker begins once, with the next number (OJS-WRK-026)."""
    last: dict[str, int] = {}
    for event in stored.events:
        if event.type == "worker.started":
            number = event.data["incarnation"]
            if number <= last.get(event.subject, 0):
                world.ledger.wrong(
                    "worker", f"{event.subject}: life {number} after {last[event.subject]}"
                )
            last[event.subject] = number


def _leases(world: "World", stored: Stored) -> None:
    """Once everything has ended, nobody holds anything; each worker has left or is dead."""
    for row in stored.rows("SELECT job_id, worker_id FROM leases ORDER BY job_id"):
        world.ledger.wrong("lease", f"{row['worker_id']} holds {row['job_id']}, which has ended")
    # One that neither registered nor sent a BEAT is never declared dead (OJS-WRK-031).
    now = max((event.at for event in stored.events), default=0)
    living = "SELECT id, state, alive_at FROM workers WHERE gone_at IS NULL AND alive_at > 0"
    for row in stored.rows(f"{living} ORDER BY id"):
        if row["alive_at"] < now - DEAD_MS:
            world.ledger.wrong("worker", f"{row['id']} is {row['state']}, long after its end")


def _nodes(world: "World") -> None:
    """The list of servers says who lives (OJS-ADM-028)."""
    answer = world.ledger.answers.get("/ojs/v1/admin/nodes")
    if answer is None:
        return
    online: list[Any] = [node["host"] for node in answer["items"] if node["state"] == "online"]
    expected = sorted(node.name for node in world.nodes if node.up)
    if sorted(online) != expected:
        world.ledger.wrong("nodes", f"{sorted(online)} are said to be online, and {expected} are")
    if sum(node["is_this"] for node in answer["items"]) != 1:
        world.ledger.wrong("nodes", "not one server says that it is the one that answers")


def _numbers(world: "World", stored: Stored) -> None:
    """The numbers of operators are those of the rows (OJS-ADM-009, OJS-ADM-012)."""
    answer = world.ledger.answers.get("/ojs/v1/admin/stats")
    if answer is not None:
        before = [row["state"] for row in stored.jobs.values()]
        after = [row["state"] for row in stored.rows("SELECT state FROM jobs")]
        _compare(world, "all jobs", answer["jobs"], before, after)
        queues = {row["queue"] for row in stored.rows("SELECT DISTINCT name AS queue FROM queues")}
        if answer["queues"] < len(queues):
            world.ledger.wrong("numbers", f"{answer['queues']} queues, and {len(queues)} are there")
        if answer["workers"]:
            world.ledger.wrong("numbers", f"{answer['workers']} workers after the end of all")
    listed = world.ledger.answers.get("/ojs/v1/admin/queues?limit=100")
    if listed is not None:
        rows = stored.rows("SELECT queue, state FROM jobs")
        for queue in listed["items"]:
            name = queue["name"]
            before = [row["state"] for row in stored.jobs.values() if row["queue"] == name]
            after = [row["state"] for row in rows if row["queue"] == name]
            _compare(world, f"queue {name}", queue["counts"], before, after)


def _compare(
    world: "World", what: str, shown: dict[str, int], before: list[str], after: list[str]
) -> None:
    """Compare with what was there before and after the call: a pending job may have expired."""
    for state, number in shown.items():
        if number not in (known := (before.count(state), after.count(state))):
            world.ledger.wrong("numbers", f"{what}: {number} {state} are told, {known} are there")
