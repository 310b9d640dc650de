"""Nothing waits that could run: a FETCH that waits has a job as soon as there is one (OJS-FET-016).

A wake-up that was lost is made good by a look of housekeeping, so that it only costs half a second:
this is judged where nothing disturbs the system, which then has no reason to be slow.
"""

import math
from collections.abc import Iterator

import msgspec

from ojs_wire.values import parse_timestamp
from tests.simulation.faults import HOOK
from tests.simulation.ledger import Exchange
from tests.simulation.oracles import answers, rows, stories
from tests.simulation.oracles.answers import Answers, Call
from tests.simulation.oracles.stored import Stored
from tests.simulation.oracles.stories import Stories, Story
from tests.simulation.processes import START_MS
from tests.simulation.scenario import Fault
from tests.simulation.world import World

# Time after the end of a fault until the system is undisturbed.
SETTLED_S = 45.0
# Longest time for which a job may lie beside a FETCH, with the look of housekeeping behind it.
LIES_S = 4.0
# Time within which a FETCH gets a job, beside three commits and reads, and that for a notice: less
# than the half a second between two looks of housekeeping.
SOON_MS = 30
NOTICE_MS = 10
FETCH = "/workers/fetch"
AVAILABLE = """
    SELECT id, queue, type, attempt FROM jobs
    WHERE state = 'available' AND gated = 0 AND rate_key IS NULL AND tenant IS NULL
        AND demand IS NULL AND (expires_at IS NULL OR expires_at > :now)
        AND queue NOT IN (SELECT name FROM queues WHERE paused OR config IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM maintenance)
"""


def is_calm(world: World, since: float, until: float) -> bool:
    """True if no fault was there that FETCHes notice, nor shortly before."""
    return all(until < fault.at or _settled_at(fault) < since for fault in world.scenario.faults)


def _settled_at(fault: Fault) -> float:
    if fault.kind in HOOK:
        # Targets of webhooks are apart from the rest.
        return 0.0
    # A clock stays as it is set, and the times of the log with it.
    return math.inf if fault.kind == "clock" else fault.at + fault.lasts + SETTLED_S


class Watch:
    """Looks again and again for jobs that lie beside a FETCH."""

    def __init__(self, world: World) -> None:
        self._world = world
        # Since when each job has been seen, by its delivery to come.
        self._since: dict[tuple[str, int], float] = {}
        self._open: list[Exchange] = []
        self._looked_at = 0
        self._told: set[str] = set()

    def look(self) -> None:
        """Compare waiting FETCHes with available jobs."""
        world = self._world
        now = world.loop.now
        fetches = [one for one in self._waiting() if one.sent_at < now - LIES_S]
        if not fetches or not is_calm(world, now - LIES_S, now):
            self._since.clear()
            return
        bound = START_MS + round(now * 1000)
        found = rows.of(world, AVAILABLE, now=bound)
        self._since = {
            (row["id"], row["attempt"]): self._since.get((row["id"], row["attempt"]), now)
            for row in found
        }
        awaited = {
            queue
            for node in world.nodes
            if node.server is not None and node.up
            for queue in node.server.engine.wakeups.queues()
        }
        for row in found:
            lies_s = now - self._since[row["id"], row["attempt"]]
            if lies_s < LIES_S or row["queue"] not in awaited or row["id"] in self._told:
                continue
            for fetch in fetches:
                if _wants(fetch, row["queue"], row["type"]) and is_calm(world, fetch.sent_at, now):
                    self._told.add(row["id"])
                    world.ledger.wrong(
                        "wakeups",
                        f"{row['id']} lies in {row['queue']} for {lies_s:.1f} s at {now:.1f}, and"
                        f" a FETCH of {fetch.who} waits since {fetch.sent_at:.1f}",
                    )
                    break

    def _waiting(self) -> list[Exchange]:
        exchanges = self._world.ledger.exchanges
        self._open += [one for one in exchanges[self._looked_at :] if one.path.endswith(FETCH)]
        self._looked_at = len(exchanges)
        self._open = [one for one in self._open if one.answered_at is None]
        alive = {process.lane.name for process in (*self._world.workers,) if process.up}
        return [one for one in self._open if one.who in alive]


def _wants(fetch: Exchange, queue: str, kind: str) -> bool:
    terms = msgspec.json.decode(fetch.body or b"{}")
    types = terms.get("job_types")
    return queue in terms.get("queues", ()) and (types is None or kind in types)


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    for sentence in late(world, told, known):
        world.ledger.wrong("wakeups", sentence)


def late(world: World, told: Stories, known: Answers) -> Iterator[str]:
    """A job is handed out at once if a FETCH for it waits: once the job is available, its queue is
    not paused, and the FETCH has come."""
    pace = world.scenario.options.pace
    slow_ms = SOON_MS + 3000 * (pace.commit_s[1] + pace.read_s[1])
    slow_ms += NOTICE_MS * (len(world.nodes) > 1)
    gates = _Gates(told)
    directives = [call for call in known.calls if _directive(call)]
    for call in known.calls:
        if call.path != FETCH or not call.well or call.answered_at is None:
            continue
        sent_ms = START_MS + call.sent_at * 1000
        for job in call.answer["jobs"]:
            story = told.jobs.get(job["id"])
            if story is None or "rate_limit" in known.options(story.job_id):
                continue
            for joined, started in _deliveries(story, job["started_at"], call):
                ready = max(joined, sent_ms, gates.resumed(story.queue, started))
                if (
                    started - ready > slow_ms
                    and not gates.limited(story.queue, round(ready), started)
                    and not _is_directed(call, directives)
                    and is_calm(world, (ready - START_MS) / 1000, call.answered_at)
                ):
                    yield (
                        f"{story.job_id} was available at {joined} and handed out at {started} by"
                        f" a FETCH that {call.who} had sent at {sent_ms:.0f}"
                    )


class _Gates:
    """Pauses, limits and maintenance, which keep the jobs of queues back."""

    def __init__(self, told: Stories) -> None:
        self._resumed: dict[str | None, list[int]] = {}
        self._configured: dict[str | None, int] = {}
        # The end of maintenance wakes nobody: FETCHes notice it at the next look.
        self._maintained: list[int] = []
        for entry in told.log:
            match entry.type:
                case "queue.resumed":
                    self._resumed.setdefault(entry.queue, []).append(entry.at)
                case "queue.configured":
                    self._configured.setdefault(entry.queue, entry.at)
                case "maintenance.ended":
                    self._maintained.append(entry.at)

    def resumed(self, queue: str, until: int) -> int:
        """Return when a queue was resumed last."""
        return max((at for at in self._resumed.get(queue, ()) if at <= until), default=0)

    def limited(self, queue: str, since: int, until: int) -> bool:
        """True if a queue may have had limits, or there was maintenance."""
        return self._configured.get(queue, until) < until or any(
            since <= at <= until for at in self._maintained
        )


def _directive(call: Call) -> str | None:
    """Return the word that a call tells workers, if it does."""
    if call.method != "POST" or not call.path.startswith("/admin/workers/"):
        return None
    word = call.path.rpartition("/")[2]
    return str(call.body["directive"]) if word == "directive" else word


def _is_directed(fetch: Call, directives: list[Call]) -> bool:
    """True if the worker of a FETCH may have been told to take no jobs when that came: it is then
    held to its end, whatever the worker is told meanwhile."""
    directed = False
    for one in directives:
        if fetch.answered_at is None or one.sent_at > fetch.answered_at:
            break
        if one.path.endswith("/directive") or str(fetch.body.get("worker_id")) in one.path:
            if one.answered_at is None or one.answered_at > fetch.sent_at:
                return True
            directed = _directive(one) != "resume"
    return directed


def _deliveries(story: Story, started_at: str, call: Call) -> Iterator[tuple[int, int]]:
    """Yield when the job became available and was handed out to a FETCH at a moment."""
    joined = None
    for entry in story.entries:
        match entry.type:
            case "job.enqueued" | "job.failed" | "job.released" | "dead_letter.retried":
                joined = entry.at
            case "job.retrying" | "job.scheduled":
                joined = None
            case "job.started" if (
                entry.at == parse_timestamp(started_at)
                and entry.data["worker_id"] == call.body.get("worker_id")
                and "tenant_id" not in entry.data
                and joined is not None
            ):
                yield joined, entry.at
