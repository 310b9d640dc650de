"""A PostgreSQL write transaction: the statements that differ from SQLite.

Locks are taken in one order, so that nodes wait for each other but never in a circle:

1. the version number of the settings that nodes hold in memory; it is held to change their rows
2. webhooks, deliveries
3. cron entries
4. fingerprints of unique jobs
5. workers, jobs, leases, each in the order of their ids
6. workflows, limits
7. counters of queues

A mixed batch locks first and reads then. Workflows and limits come late because only a job says
which of them it concerns; a transaction that holds a limit skips jobs that are locked.
Sweeps wait for no lock: they skip locked rows.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.fairness.fair_choice import Candidate
from ojs_server.domain.fairness.sharing import ALONE
from ojs_server.domain.jobs.job import Change, Job, Lease, StoredJob
from ojs_server.domain.queues.config import QueueConfig
from ojs_server.domain.workers.worker import Worker
from ojs_server.store.postgres.arrays import numbers, texts
from ojs_server.store.postgres.counter_rows import CounterRows
from ojs_server.store.postgres.due_floors import DueFloors
from ojs_server.store.postgres.floors import (
    FORGOTTEN,
    NOTES_KEPT_MS,
    Floors,
    Level,
    first_due,
    inserted,
    returned,
)
from ojs_server.store.postgres.followers import Followers
from ojs_server.store.postgres.pipe import Look, touched
from ojs_server.store.postgres.statements import (
    STATEMENTS,
    PostgresStatements,
    Statement,
    can_hold,
    claim_of,
)
from ojs_server.store.postgres.writer import StartedTransaction
from ojs_server.store.records import (
    LAPSE_GRACE_MS,
    POSITION_BITS,
    Claimed,
    Held,
    Lane,
    Leased,
    Released,
)
from ojs_server.store.tables.catalog import wiped_tables
from ojs_server.store.tables.contract import Tx
from ojs_server.store.tables.events import Events
from ojs_server.store.tables.jobs import check_written, in_turn
from ojs_server.store.tables.sharing import waiting_in
from ojs_server.store.tables.statements import Values, Writing
from ojs_wire.codec import encode

# A notice of more than 8000 bytes is refused by the database.
MAX_NOTICE: Final = 7000


class Node(msgspec.Struct, frozen=True):
    """The node that writes: its name, the channel for notices, and the followers of its events."""

    name: str
    channel: str
    followers: Followers


class PostgresTx(PostgresStatements, Tx):
    """The write operations of the store contract."""

    def __init__(
        self,
        begun: StartedTransaction,
        now: int,
        node: Node,
        configs: Mapping[str, QueueConfig],
        floors: Floors,
        due_floors: DueFloors,
        counter_rows: CounterRows,
    ) -> None:
        self._pipe, self._reads = begun.pipe, begun.reads
        Writing.__init__(self, now, begun.base, node.name)
        # Above its own positions.
        self._upto = begun.base + (1 << POSITION_BITS)
        self._channel = node.channel
        self._followers = node.followers
        self.configs = configs
        self._floors = floors
        self._due_floors = due_floors
        self._counter_rows = counter_rows
        self._renews_counters = False
        # Workers that were looked for and are not there.
        self._unknown_workers: set[str] = set()
        # The earliest moments below the floors that this transaction writes.
        self._due: list[tuple[int | None, int | None]] = []
        # Looks for floors, whose answers hold once this transaction is committed.
        self._looks: list[tuple[Callable[[], Sequence[Any]], Callable[[], Sequence[Any]]]] = []
        self._forgotten: Callable[[], Sequence[Any]] = list

    def _rows(self, statement: Statement, bound: Mapping[str, Any]) -> list[Any]:
        return self._pipe.rows(statement, bound)

    def _touched(self, statement: Statement, bound: Mapping[str, Any]) -> int:
        return self._pipe.touched(statement, bound)

    def run_batch(self, name: str, columns: Sequence[Values]) -> int:
        """Run a statement for all rows of a table; answers how many rows it touched."""
        statement = STATEMENTS[name]
        return self._pipe.touched(statement, statement.packed(columns))

    def all_batch(self, name: str, columns: Sequence[Values]) -> list[Any]:
        """Run a statement for all rows of a table; answers the rows it returns."""
        statement = STATEMENTS[name]
        return self._pipe.rows(statement, statement.packed(columns))

    def _send(self, name: str, columns: Sequence[Values], look: Look | None = None) -> None:
        """Send a statement for all rows without waiting for its answer; errors are raised later."""
        if columns[0]:
            statement = STATEMENTS[name]
            self._pipe.send(statement, statement.packed(columns), look)

    def _send_alone(self, name: str, **bound: Any) -> None:
        """Send a statement without rows, and do not wait for its answer."""
        self._pipe.send(STATEMENTS[name], bound)

    def _lock(self, name: str, ids: Iterable[str]) -> None:
        self._send(name, [self.holdable(ids)])

    def configs_changed(self) -> None:
        """Note that settings have changed; nodes read them again in their next transaction."""
        self.run("bump_configs")

    def touch(self) -> str:
        """Update the row of this node, which others watch."""
        self._send_alone("enter", node=self.node)
        ((address, port),) = self.all("primary")
        return f"{self._pipe.peer}, which is {address}:{port}" if address else self._pipe.peer

    def lock(
        self,
        workers: Iterable[str],
        jobs: Iterable[str],
        leases: Iterable[str],
        leaving: Iterable[str] = (),
    ) -> None:
        """Lock the rows of a whole batch in the one order."""
        self._reads.lock_workers(workers)
        held = [job_id for _, job_id in self.all_ids("held_by", leaving)]
        self._lock("lock_jobs", {*jobs, *held} - self._reads.ahead)
        self._lock("lock_leases", {*leases, *held})

    def lock_workflows(self, jobs: Collection[str], ids: Collection[str]) -> None:
        """Lock these workflows and those that these jobs are members of."""
        known = {"jobs": jobs, "ids": ids}
        columns = {name: texts([*filter(can_hold, some)]) for name, some in known.items()}
        self._send_alone("lock_workflows", **columns)

    def load_workers(self, ids: Iterable[str]) -> dict[str, Worker]:
        """Lock and read workers, once where the batch has locked them."""
        requested = set(ids)
        found = self._reads.workers(requested)
        self._unknown_workers |= requested - found.keys()
        return found

    def save_workers(self, workers: Sequence[Worker]) -> None:
        """Insert or replace workers; they are read anew after that.

        StaleWrite if another node has made one known since it was looked for: no lock can be had of
        a row that is not there.
        """
        self._reads.forget()
        new = {worker.id: worker for worker in workers if worker.id in self._unknown_workers}
        self._unknown_workers -= new.keys()
        self.run_records("insert_workers", [new[worker_id] for worker_id in sorted(new)])
        super().save_workers([worker for worker in workers if worker.id not in new])

    def delete_workers(self, before: int, limit: int) -> int:
        """Remove workers that were deleted or left long ago; they are read anew after that."""
        self._reads.forget()
        return super().delete_workers(before, limit)

    def lock_unique(self, keys: Iterable[bytes]) -> None:
        """Wait for every other transaction that has one of these fingerprints."""
        # In order, or two nodes could wait in a circle.
        column = sorted(set(keys))
        self._send("lock_unique", [column])
        self._send("unlock_unique", [column])

    def lock_settings(self) -> None:
        """Wait for every other transaction that changes settings."""
        self._send_alone("lock_configs")

    def lock_schemas(self) -> None:
        """Lock the schemas against changes by others, and read them."""
        self.lock_settings()
        self.schemas = self.all_schemas()

    def announce(self, queues: Mapping[str, int]) -> None:
        """Send one notice, at commit, if a fetch waits at another node."""
        notice = encode({"node": self.node, "queues": queues})
        if len(notice) > MAX_NOTICE:
            notice = encode({"node": self.node})
        self._send_alone(
            "announce", channel=self._channel, notice=notice.decode(), node=self.node, now=self.now
        )

    def announce_due(self, moment: int) -> None:
        """Send one notice, at commit."""
        self._notify(due_at=moment)

    def write_changes(self, changes: Sequence[Change]) -> None:
        """Write guarded transitions, all or none; failed guards are seen before the COMMIT."""
        if not changes:
            return
        now = self.now
        dues = [due for one in changes if (due := one.after.due_at) is not None]
        first = min(dues, default=now + 1)
        if first <= now:
            self._reads.forget_due()
            self._lower_due(first)
        self._note_returns(returned((change.after for change in changes), self._base))
        columns = self.columns_of("write_changes", changes)
        self._send("write_changes", columns, lambda result: check_written(touched(result), changes))

    def _lower_due(self, job: int | None = None, lease: int | None = None) -> None:
        """Note a due moment that may lie below those that this node begins to look at."""
        if self._due_floors.lower(job, lease):
            self._due.append((job, lease))

    def load_due(self, limit: int) -> list[Job]:
        """Lock the jobs whose `due_at` has come, earliest first."""
        since = self._due_floors.jobs
        return self.read(Job, "load_due", since=since, now=self.now, limit=limit)

    def load_lapsed(self, reachable_since: int, until: int, limit: int) -> list[Held]:
        """Lock the jobs whose lease or run time ended before the moment `until`."""
        parameters = {"since": reachable_since, "until": until, "grace": LAPSE_GRACE_MS}
        bound = {**parameters, "from": self._due_floors.leases, "limit": limit}
        return self.made(Held, "load_lapsed", self.all("load_lapsed", **bound))

    def extend_leases(self, leases: Sequence[Lease]) -> None:
        """Store the new `expires_at` of leases."""
        self._lower_leases(leases)
        super().extend_leases(leases)

    def _lower_leases(self, leases: Sequence[Lease]) -> None:
        ends = [min(one.expires_at, one.deadline_at or one.expires_at) for one in leases]
        if ends and (first := min(ends)) <= self.now:
            self._lower_due(lease=first)

    def drop_leases(self, job_ids: Sequence[str]) -> None:
        """End leases."""
        self._send("drop_leases", [job_ids])

    def insert_leases(self, leases: Sequence[Lease]) -> None:
        """Store the leases of jobs that were just claimed."""
        if leases:
            self._lower_leases(leases)
            self._send("insert_leases", self.columns_of("insert_leases", leases))

    def insert_new_jobs(self, jobs: Sequence[StoredJob]) -> None:
        """Store jobs with ids that were just made."""
        if jobs:
            self._note_inserted(jobs)
            self._send("insert_new_jobs", self.new_jobs("insert_new_jobs", jobs))

    def add_counts(self, deltas: Mapping[str, Mapping[str, int]]) -> None:
        """Move the counters of queues, in the order of names, in which rows are locked."""
        rows = self._counter_rows
        columns = self.count_columns(deltas) | {"node": [rows.name] * len(deltas)}
        self._send("add_counts", self.in_order("add_counts", columns))
        rows.write(deltas)
        self._renews_counters = rows.worn
        if rows.worn and (queues := rows.renamed):
            statement = STATEMENTS["fold_rows"]
            bound = statement.named([queues]) | {"node": self.node, "name": rows.name}
            self._pipe.send(statement, bound)

    def insert_events(self, events: Events) -> int:
        """Append to the event log, and tell the nodes that follow it."""
        columns = self.event_columns(events)
        if not columns:
            return 0
        self._send("insert_events", self.in_order("insert_events", columns))
        last = int(columns["pos"][-1])
        if self._followers.listening:
            self._notify(position=last)
        return last

    def insert_jobs(self, jobs: Sequence[StoredJob]) -> set[str]:
        """Store new jobs; answers the ids that another node stored before."""
        self._note_inserted(jobs)
        # In the order of ids, or two nodes that store the same ones could wait in a circle.
        ordered = sorted(jobs, key=lambda stored: stored.job.id)
        stored = {job_id for (job_id,) in self.all_records("insert_jobs", ordered)}
        return {job.job.id for job in jobs} - stored

    def load_jobs(self, ids: Iterable[str]) -> dict[str, Leased]:
        """Lock and read jobs with their leases."""
        return self._reads.jobs(ids)

    def due_queues(self, queues: Iterable[str]) -> list[str]:
        """Queues in which a scheduled job or a retry is due."""
        names = list(dict.fromkeys(queues))
        due = self._reads.next_due(names)
        return [name for name in names if name in due and due[name] <= self.now]

    def load_due_in(self, queues: Sequence[str], each: int) -> list[Job]:
        """Scheduled jobs and retries that are due."""
        names = texts([*queues])
        jobs = self.read(Job, "load_due_in", queues=names, now=self.now, limit=each)
        return sorted(jobs, key=lambda job: (job.due_at or 0, job.id))

    def claim(
        self, queues: Sequence[str], job_types: Sequence[str] | None, limit: int
    ) -> list[Claimed]:
        """Claim available jobs."""
        spans = self._floors.spans(queues, job_types, self.now)
        bound = {
            "queues": texts(spans.queues),
            "tops": numbers(spans.tops),
            "bottoms": numbers(spans.bottoms),
            "floors": numbers(spans.floors),
            "since": spans.since,
            "upto": self._upto,
            "now": self.now,
            "limit": limit,
        }
        if job_types is None:
            statement = claim_of(limit)
        elif job_types:
            statement = claim_of(limit, len(job_types))
            bound["types"] = texts(job_types)
        else:
            return []
        rows = self._pipe.rows(statement, bound)
        claimed = in_turn(self.made(Claimed, statement.name, rows), queues)
        self._floors.claimed(claimed, job_types, self.now)
        self._find_floors(queues, job_types)
        return claimed

    def _find_floors(self, queues: Sequence[str], job_types: Sequence[str] | None) -> None:
        """Look for new floors from time to time, without waiting for the answer."""
        if not (due := self._floors.due(queues, job_types, self.now)):
            return
        name = "find_floors" if job_types is None else "find_floors_of_types"
        statement = STATEMENTS[name]
        bound = statement.named(list(zip(*due, strict=True)))
        end = self._pipe.ask(STATEMENTS["log_end"], {})
        self._looks.append((end, self._pipe.ask(statement, bound)))

    def committed(self) -> None:
        """Take over the floors that this transaction has found, and renew the rows of counters."""
        if self._renews_counters:
            self._counter_rows.renew()
        for job, lease in self._due:
            # Once more: a look may have begun before the commit.
            self._due_floors.lower(job, lease)
        for end, found in self._looks:
            self._floors.learn(found(), end()[0][0] << POSITION_BITS, self.now)
        if removed := self._forgotten():
            self._floors.notes_from = max(pos for (pos,) in removed)

    def _note_inserted(self, jobs: Sequence[StoredJob]) -> None:
        """Have new jobs found that lie below what nodes have seen already."""
        self._note_returns(inserted(jobs, self._base))
        if (first := first_due(jobs)) is not None:
            self._lower_due(first)

    def _note_returns(self, lowest: Mapping[Level, int]) -> None:
        """Have every node look for jobs that are available at positions of earlier transactions."""
        if lowest:
            rows = [(self._base, *level, seq, self.now) for level, seq in lowest.items()]
            self._send("note_returns", list(zip(*rows, strict=True)))
            if self._floors.noted():
                bound = {
                    "after": self._floors.notes_from,
                    "before": self.now - NOTES_KEPT_MS,
                    "limit": FORGOTTEN,
                }
                self._forgotten = self._pipe.ask(STATEMENTS["forget_returns"], bound)

    def save_priorities(self, jobs: Sequence[Job]) -> None:
        """Store the priorities of locked jobs."""
        self._note_returns(returned(jobs, self._base))
        super().save_priorities(jobs)

    def override_jobs(self, jobs: Sequence[StoredJob]) -> None:
        """Store what a retry or a move changes about jobs."""
        self._note_returns(inserted(jobs, self._base))
        super().override_jobs(jobs)

    def send_back(self, jobs: Sequence[tuple[str, bool]]) -> None:
        """Undo the claim of jobs with a rate key; floors were found without them."""
        self._looks.clear()
        super().send_back(jobs)

    def next_types(
        self, queues: Sequence[str], job_types: Sequence[str], most: int
    ) -> list[tuple[str, str]]:
        """The wanted types of each queue, by their first jobs."""
        parameters = {
            "queues": texts([*dict.fromkeys(queues)]),
            "types": texts(sorted({*job_types})),
        }
        return [(row[0], row[1]) for row in self.all("next_types", **parameters, most=most)]

    def tenants_waiting(self, queues: Mapping[str, str], limit: int) -> list[tuple[str, str]]:
        """Return the tenants that have jobs in queues."""
        parameters = {"queues": texts([*queues]), "after": texts([*queues.values()])}
        return [(row[0], row[1]) for row in self.all("tenants_waiting", **parameters, limit=limit)]

    def waiting(self, lanes: Sequence[Lane], limit: int) -> list[Candidate]:
        """The first jobs of lanes; a statement for each kind of them."""
        kinds: dict[str, list[Lane]] = {}
        for lane in lanes:
            kinds.setdefault(waiting_in(lane), []).append(lane)
        found: list[Candidate] = []
        for name, alike in kinds.items():
            bound = {
                "queues": texts([lane.queue for lane in alike]),
                "tenants": texts([lane.tenant for lane in alike]),
                "types": texts([lane.type for lane in alike]),
            }
            found += self.read(Candidate, name, **bound, upto=self._upto, now=self.now, limit=limit)
        return found

    def claim_chosen(self, ids: Sequence[str]) -> list[Claimed]:
        """Claim chosen jobs."""
        return self.read(Claimed, "claim_chosen", ids=texts(ids), now=self.now)

    def release_gated(self, counts: Mapping[str, int]) -> list[Released]:
        """Let the next jobs of keys be claimed."""
        if not counts:
            return []
        named = STATEMENTS["release_gated"].named([list(counts), list(counts.values())])
        rows = self.all("release_gated", **named, pos=self._base, now=self.now)
        return self.made(Released, "release_gated", rows)

    def _notify(self, **notice: int) -> None:
        text = encode({"node": self.node, **notice}).decode()
        self._send_alone("tell", channel=self._channel, notice=text)

    def wipe(self) -> None:
        """Delete all data."""
        self._reads.forget()
        for table in wiped_tables():
            statement = Statement("wipe", f"DELETE FROM {table}", changes=(table,))
            self._pipe.send(statement, {})
        self.configs = {}
        self.maintenance, self.schemas = None, {}
        self.sharing, self.routings = ALONE, {}
        self.configs_changed()
        self.run("begin_tally")
