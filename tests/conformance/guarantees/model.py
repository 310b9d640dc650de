"""A model of an honest backend, and its client, which writes the ledger; they have a clock of their
own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from conformance.guarantees.ledger import ABSENT, Ledger
from conformance.guarantees.plan import Do, Kind
from conformance.guarantees.records import Call, Kill

LEASE_S: Final = 10.0
TOLERANCE_S: Final = 1.0
RETRY_S: Final = 1.0
TICK_S: Final = 0.01

_ENDS: Final[dict[Do, str]] = {
    "complete": "completed",
    "discard": "discarded",
    "retry": "retryable",
    "cancel": "cancelled",
}

# The fate of a call: answered, or carried out and not answered, or neither.
Fate = Literal["answered", "lost_answer", "lost_call"]


class Act(msgspec.Struct, frozen=True):
    """One thing that happens in a history."""

    do: Do | Literal["kill", "look", "wait"]
    pick: int = 0
    fate: Fate = "answered"


@dataclass
class Job:
    """A job of the model."""

    id: str
    name: str
    state: str
    due_s: float = 0.0  # end of the lease, or time of the retry


class Model:
    """An honest backend, its client and the client's ledger."""

    def __init__(self) -> None:
        self.ledger = Ledger(lease_s=LEASE_S, tolerance_s=TOLERANCE_S)
        self.jobs: dict[str, Job] = {}
        self.now_s = 1000.0
        self.kills = 0
        self._number = 0
        self._workers = 0
        self._holders: dict[str, str] = {}

    def act(self, act: Act) -> None:
        """Let one thing happen."""
        self._promote()
        match act.do:
            case "kill":
                self.kill()
            case "look":
                self.look()
            case "wait":
                self.now_s += act.pick % 12
            case "enqueue" | "schedule":
                self._enqueue(act)
            case "fetch":
                self._fetch(act)
            case "cancel":
                self._cancel(act)
            case _:
                self._settle(act, act.do)

    def kill(self, kind: Kind = "process") -> None:
        """Note a kill, after which all is as before."""
        self.kills += 1
        self.ledger.killed(Kill(self.kills, kind, self.now_s))

    def look(self) -> None:
        """Read each job."""
        self._promote()
        for id in self.ledger.looks_at(everything=True):
            self.ledger.seen(id, self.jobs[id].state if id in self.jobs else ABSENT, self.now_s)

    def deliver(self, job: Job, sent_s: float | None = None) -> None:
        """Hand a job out, whatever its state is, to a FETCH that was sent now or before."""
        self._workers += 1
        call = self._called("fetch", Act("fetch"), f"w-deliver-{self._workers}")
        if sent_s is not None:
            call = msgspec.structs.replace(call, sent_s=sent_s)
        job.state, job.due_s = "active", self.now_s + LEASE_S
        self.ledger.delivered(job.id, job.name, call)
        self._holders[job.id] = call.worker

    @contextmanager
    def in_the_middle(self, job: Job, do: Do) -> Iterator[None]:
        """Let other things happen between a call of the holder and its answer."""
        worker = self._holders.pop(job.id)
        self.ledger.settles(job.id)
        yield
        self.ledger.settled(job.id, self._called(do, Act(do), worker), _ENDS[do])

    def _enqueue(self, act: Act) -> None:
        self._number += 1
        id, name = f"j-{self._number}", f"name {self._number}"
        self.ledger.sends(name)
        call = self._called("enqueue" if act.do == "enqueue" else "schedule", act)
        state = "available" if act.do == "enqueue" else "scheduled"
        if act.fate != "lost_call":
            self.jobs[id] = Job(id, name, state)
        if call.is_promise:
            self.ledger.enqueued(id, name, call, state)

    def _fetch(self, act: Act) -> None:
        there = [job for job in self.jobs.values() if job.state == "available"]
        worker = f"w-{act.pick % 3}"
        call = self._called("fetch", act, worker)
        if act.fate != "answered":
            self.ledger.lost_fetch()
        if act.fate == "lost_call" or not there:
            return
        job = there[act.pick % len(there)]
        job.state, job.due_s = "active", self.now_s + LEASE_S
        if call.is_promise:
            self.ledger.delivered(job.id, job.name, call)
            self._holders[job.id] = worker

    def _settle(self, act: Act, do: Do) -> None:
        held = [id for id in self._holders if self.jobs[id].state == "active"]
        if held:
            self.end(self.jobs[held[act.pick % len(held)]], do, act.fate)

    def end(self, job: Job, do: Do, fate: Fate = "answered") -> None:
        """Let the holder of a job settle it, or its producer cancel it."""
        worker = self._holders.pop(job.id, "")
        self.ledger.settles(job.id)
        call = self._called(do, Act(do, fate=fate), worker)
        if fate != "lost_call":
            job.state, job.due_s = _ENDS[do], self.now_s + RETRY_S
        self.ledger.settled(job.id, call, _ENDS[do])

    def _cancel(self, act: Act) -> None:
        there = [job for job in self.jobs.values() if job.state == "scheduled"]
        there = [job for job in there if job.id in self.ledger.looks_at(everything=True)]
        if not there:
            return
        self.end(there[act.pick % len(there)], "cancel", act.fate)

    def _called(self, do: Do, act: Act, worker: str = "") -> Call:
        sent_s = self._tick()
        if act.fate != "answered":
            return Call(do=do, worker=worker, sent_s=sent_s)
        return Call(do=do, worker=worker, sent_s=sent_s, answered_s=self._tick(), status=200)

    def _promote(self) -> None:
        for job in self.jobs.values():
            if job.state in ("active", "retryable") and job.due_s <= self.now_s:
                job.state = "available"

    def _tick(self) -> float:
        self.now_s += TICK_S
        return self.now_s
