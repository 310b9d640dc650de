"""Promises about limits: no more jobs of a key or queue run or start than its limits allow."""

from itertools import groupby
from typing import Any

import msgspec

from ojs_wire.values import parse_duration
from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Answers
from tests.simulation.oracles.stored import Stored, StoredEvent
from tests.simulation.oracles.stories import Stories
from tests.simulation.world import World


class Limit(msgspec.Struct):
    """Limits in one form: the most that run, and starts within periods in milliseconds."""

    concurrency: int | None = None
    rate: tuple[int, int] | None = None
    # Milliseconds between starts.
    gap: float | None = None


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    for sentence in [*of_keys(told, known), *of_queues(told)]:
        world.ledger.wrong("limits", sentence)
    for sentence in of_runs(world, told, known):
        world.ledger.wrong("limits", sentence)


def limit_of(policy: dict[str, Any]) -> Limit:
    """Read a policy of a job, of a queue or of an operator."""
    limit = Limit(policy.get("concurrency"))
    for name in ("rate", "rate_limit", "throttle"):
        given = policy.get(name)
        if given is None:
            continue
        most = given["limit"] if isinstance(given, dict) else given
        written = given.get("period", 1) if isinstance(given, dict) else policy.get("period", 1)
        period = parse_duration(written) if isinstance(written, str) else round(written * 1000)
        if name == "throttle":
            limit.gap = period / most
        else:
            limit.rate = most, period
    return limit


def keys(known: Answers) -> dict[str, Limit]:
    """Return the keys whose limits are the same in all requests, and that nobody overrides."""
    limits: dict[str, Limit] = {}
    changing: set[str] = set()
    for job_id in known.enqueues:
        policy = known.options(job_id).get("rate_limit")
        if policy is not None:
            limit = limit_of(policy)
            if limits.setdefault(policy["key"], limit) != limit:
                changing.add(policy["key"])
    for call in known.calls:
        if call.path.startswith("/rate-limits/") and call.method == "PUT" and not call.refused:
            changing.add(call.path.split("/")[2])
    return {key: limit for key, limit in limits.items() if key not in changing}


def of_keys(told: Stories, known: Answers) -> list[str]:
    """No more jobs of a key are active than its concurrency, no period holds more starts than its
    rate, and starts of a throttle lie apart (OJS-RLM-006 to 011)."""
    limits = keys(known)
    of_job = {
        job_id: policy["key"]
        for job_id in known.enqueues
        if (policy := known.options(job_id).get("rate_limit")) is not None
        and policy["key"] in limits
    }
    watch = {key: Watch(f"key {key}", limit) for key, limit in limits.items()}
    for _, together in groupby(told.log, key=lambda one: one.transaction):
        touched: dict[str, StoredEvent] = {}
        for entry in together:
            key = of_job.get(entry.subject)
            if key is not None and watch[key].take(entry, told):
                touched[key] = entry
        for key, entry in touched.items():
            watch[key].check(entry)
    return [sentence for one in watch.values() for sentence in one.found]


def of_queues(told: Stories) -> list[str]:
    """A queue keeps its limits, too, from their change on (OJS-QCF-007)."""
    watch: dict[str, Watch] = {}
    for _, together in groupby(told.log, key=lambda one: one.transaction):
        touched: dict[str, StoredEvent] = {}
        for entry in together:
            queue = entry.queue
            if queue is None:
                continue
            one = watch.setdefault(queue, Watch(f"queue {queue}", Limit()))
            if entry.type == "queue.configured":
                one.change(limit_of(_set(entry.data["config"])))
            elif one.take(entry, told):
                touched[queue] = entry
        for queue, entry in touched.items():
            watch[queue].check(entry)
    return [sentence for one in watch.values() for sentence in one.found]


def _set(config: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if value is not None}


class Watch:
    """Counts the jobs of one key or queue along the log."""

    def __init__(self, name: str, limit: Limit) -> None:
        self.name = name
        self.found: list[str] = []
        self._limit = limit
        self._active: dict[str, int] = {}
        self._starts: list[int] = []

    def change(self, limit: Limit) -> None:
        """Judge what starts from now on by other limits."""
        self._limit = limit
        self._starts = []

    def take(self, entry: StoredEvent, told: Stories) -> bool:
        """Note an event; True if it starts a job."""
        if entry.type == "job.started":
            self._active[entry.subject] = entry.place
            self._starts.append(entry.at)
            self._check_starts(entry)
            return True
        if entry.subject in self._active and any(
            delivery.ended is entry for delivery in told.jobs[entry.subject].deliveries
        ):
            del self._active[entry.subject]
        return False

    def check(self, entry: StoredEvent) -> None:
        """Check the number of active jobs at the end of a transaction that started one."""
        most = self._limit.concurrency
        if most is not None and len(self._active) > most:
            self.found.append(f"{len(self._active)} jobs of {self.name} run at {entry.at}")

    def _check_starts(self, entry: StoredEvent) -> None:
        limit, starts = self._limit, self._starts
        if limit.rate is not None:
            most, period = limit.rate
            if len(starts) > most and starts[-1] - starts[-1 - most] < period:
                self.found.append(
                    f"{most + 1} jobs of {self.name} start from {starts[-1 - most]} to {entry.at}"
                )
        if limit.gap is not None and len(starts) > 1 and starts[-1] - starts[-2] < limit.gap - 1:
            self.found.append(f"jobs of {self.name} start at {starts[-2]} and {starts[-1]}")


def of_runs(world: World, told: Stories, known: Answers) -> list[str]:
    """Of the runs whose ACK was accepted, no more overlap than the concurrency of their key: their
    jobs were active all the time."""
    limits = keys(known)
    marks: dict[str, list[tuple[float, int]]] = {}
    for start in world.ledger.starts:
        policy = known.options(start.job_id).get("rate_limit")
        story = told.jobs.get(start.job_id)
        if policy is None or policy["key"] not in limits or story is None:
            continue
        worker_id = known.workers.get(start.worker, start.worker)
        is_acked = any(
            (one.attempt, one.worker_id) == (start.attempt, worker_id)
            and one.ended is not None
            and one.ended.type == "job.completed"
            for one in story.deliveries
        )
        if is_acked and start.ended_at is not None:
            marks.setdefault(policy["key"], []).extend([(start.at, 1), (start.ended_at, -1)])
    found = []
    for key, ends in marks.items():
        most, running = limits[key].concurrency, 0
        for at, step in sorted(ends):
            running += step
            if most is not None and running > most:
                found.append(f"{running} handlers of key {key} run at {at:.3f}")
    return found
