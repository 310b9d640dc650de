"""The ledger of a run: what was answered about each job, and what it may be found as after a kill.

Only an answer in the 200s is a promise. A call without one may have been carried out or not, and
both are allowed. A lease is counted from the moment its FETCH was sent, so that it ends no later
here than at the backend.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from conformance.guarantees.plan import Do
from conformance.guarantees.records import Call, Kill, Requirement, Violation

STATES: Final = frozenset(
    {
        *("available", "scheduled", "pending", "retryable", "active"),
        *("completed", "discarded", "cancelled"),
    }
)
FINAL: Final = frozenset({"completed", "discarded", "cancelled"})
ABSENT: Final = "nothing"
_BEFORE_FINAL: Final = STATES - FINAL
# The backend decides for how long it keeps these.
_MAY_GO: Final = frozenset({"completed", "cancelled"})
_RESULTS: Final[dict[Do, frozenset[str]]] = {
    "enqueue": frozenset({"available"}),
    "schedule": frozenset({"scheduled"}),
    "fetch": frozenset({"active"}),
    "complete": frozenset({"completed"}),
    "retry": frozenset({"retryable", "available"}),
    "discard": frozenset({"discarded"}),
    "cancel": frozenset({"cancelled"}),
}


class _Job(msgspec.Struct):
    id: str
    name: str
    promised: frozenset[str]
    last: Call  # the promise
    unknown: set[str] = msgspec.field(default_factory=set)  # results of calls without an answer
    under_way: bool = False  # a call that settles it has been sent
    leased_until_s: float = 0.0
    seen: str = ""  # the state in which it was last found
    counted_kill: int = 0  # the last kill after which it was seen to be as was promised
    is_closed: bool = False  # a violation was found, and nothing more is judged


class Ledger:
    """All jobs of one run of a backend."""

    def __init__(self, *, lease_s: float, tolerance_s: float) -> None:
        self.violations: list[Violation] = []
        self.kept: Counter[Requirement] = (
            Counter()
        )  # promises that lived through a kill, for each kill
        self.left = 0  # jobs that were still held, or waited for a retry, at the end
        self._lease_s = lease_s
        self._tolerance_s = tolerance_s
        self._jobs: dict[str, _Job] = {}
        self._names: dict[str, str] = {}  # of arguments to the id of their job
        self._sent: set[str] = set()
        self._kill = Kill(0, "none", 0.0)
        self._changed: set[str] = set()
        self._lost_fetch = False
        self._unkept: set[str] = set()

    @property
    def jobs(self) -> int:
        """The number of jobs that are known."""
        return len(self._jobs)

    # ------------------------------------------------------------------ what happens

    def killed(self, kill: Kill) -> None:
        """Note a kill."""
        self._kill = kill

    def clock_changed(self) -> None:
        """Note that the backend's clock was changed: leases that run are not judged."""
        for job in self._jobs.values():
            job.leased_until_s = 0.0

    def sends(self, name: str) -> None:
        """Note that a job with this argument is about to be enqueued."""
        self._sent.add(name)

    def enqueued(self, id: str, name: str, call: Call, state: str = "") -> None:
        """Note an enqueue that was answered with a job."""
        if id in self._jobs:
            # Another client was handed it before this answer came.
            return
        promised = _promised(call.do, state)
        self._jobs[id] = _Job(id=id, name=name, promised=promised, last=call)
        self._name(self._jobs[id])

    def lost_fetch(self) -> None:
        """Note a FETCH without an answer: any job may have been handed out to it."""
        self._lost_fetch = True

    def settles(self, id: str) -> None:
        """Note that a call is about to be sent that ends a delivery or a job."""
        self._jobs[id].under_way = True

    def settled(self, id: str, call: Call, state: str = "") -> None:
        """Note the end of that call; without a promise both results may be."""
        job = self._jobs[id]
        job.under_way = False
        self._changed.add(id)
        if not call.is_promise:
            job.unknown |= _RESULTS[call.do]
        else:
            job.promised, job.last = _promised(call.do, state), call

    def delivered(self, id: str, name: str, call: Call) -> None:
        """Note a delivery, and compare it with what was promised."""
        job = self._jobs.get(id)
        if job is None:
            job = self._jobs[id] = _Job(id=id, name=name, promised=frozenset(), last=call)
            if name not in self._sent:
                self._violated(job, ("DR-001",), f"delivered with other arguments: {name[:80]}")
            self._name(job)
        elif name != job.name:
            self._violated(job, ("DR-001",), f"delivered with other arguments: {name[:80]}")
        elif call.sent_s >= job.last.answered_s and not job.under_way:
            self._check_delivery(job, call)
        else:
            # Nobody knows which of the two calls came first.
            job.unknown |= job.promised
        self._changed.add(id)
        job.seen = ""
        job.promised, job.last = _RESULTS["fetch"], call
        job.leased_until_s = call.sent_s + self._lease_s

    # ------------------------------------------------------------------ what is found

    def looks_at(self, *, everything: bool = False) -> list[str]:
        """Return the ids of jobs that must be there, or were changed since this was last called."""
        changed, self._changed = self._changed, set()
        return [
            job.id
            for job in self._jobs.values()
            if not job.is_closed
            and (everything or job.id in changed or not job.promised <= _MAY_GO)
        ]

    def not_kept(self, id: str) -> None:
        """Note that a backend forgets such a job without any kill."""
        self._unkept |= self._jobs[id].promised

    def is_missed(self, id: str) -> bool:
        """Tell whether a job that is not there would be a loss."""
        job = self._jobs[id]
        may_go = _MAY_GO | self._unkept
        return not job.is_closed and job.promised.isdisjoint(may_go) and not job.unknown & may_go

    def seen(self, id: str, state: str, at_s: float) -> None:
        """Compare the state in which a job is found, or that there is none, with the promises."""
        job = self._jobs[id]
        if job.is_closed or state not in STATES | {ABSENT}:
            return
        if state == ABSENT and not self.is_missed(id):
            job.seen = state
            return
        if state not in self._allowed(job, at_s):
            self._violated(job, _broken_by(job, state, leased=self._is_leased(job, at_s)), state)
            return
        job.seen = state
        if job.counted_kill < self._kill.number:
            job.counted_kill = self._kill.number
            self.kept.update(self._requirements(job, at_s))

    def waits_for(self) -> list[str]:
        """Return the ids of jobs that have to be delivered yet."""
        return [
            job.id
            for job in self._jobs.values()
            if not job.is_closed
            and not job.promised <= FINAL | {"scheduled"}
            and job.seen not in FINAL | {ABSENT}
        ]

    def never_came(self, ids: Iterable[str]) -> None:
        """Note jobs that were not delivered in all the time that there was.

        Those that are held, or wait for a retry, may be so for longer than was asked for.
        """
        for job in map(self._jobs.__getitem__, ids):
            if job.seen == "available":
                self._violated(job, ("DR-003",), "it is available, and is never delivered")
            else:
                self.left += 1

    # ------------------------------------------------------------------ the rules

    def _name(self, job: _Job) -> None:
        first = self._names.setdefault(job.name, job.id)
        if first != job.id:
            self._violated(job, ("DR-002",), f"one enqueue has made two jobs: this one and {first}")

    def _check_delivery(self, job: _Job, call: Call) -> None:
        if job.is_closed or not job.promised:
            return
        who = f"delivered to {call.worker}"
        if job.promised <= FINAL:
            settled = job.promised & {"completed", "discarded"}
            self._violated(job, ("DR-009", "DR-002") if settled else ("DR-002",), who)
        elif self._is_leased(job, call.answered_s) and not job.unknown & {"available", "retryable"}:
            left = job.leased_until_s - call.answered_s
            self._violated(
                job, ("DR-008", "DR-002"), f"{who}, {left:.1f} s before the end of the lease"
            )
        elif job.promised == {"scheduled"}:
            self._violated(job, ("DR-002",), f"{who}, long before its time")

    def _is_leased(self, job: _Job, at_s: float) -> bool:
        return job.promised == {"active"} and at_s < job.leased_until_s - self._tolerance_s

    def _allowed(self, job: _Job, at_s: float) -> set[str]:
        allowed = set(job.promised)
        if job.promised <= FINAL:
            # Nothing that was sent before can open it again.
            return allowed
        allowed |= job.unknown
        if "active" in allowed and not self._is_leased(job, at_s):
            allowed |= {"available", "retryable"}
        if "available" in allowed and self._lost_fetch:
            allowed.add("active")
        return allowed

    def _requirements(self, job: _Job, at_s: float) -> Iterable[Requirement]:
        """Return the requirements that a job shows when it is as was promised."""
        if job.promised <= {"completed", "discarded"}:
            yield "DR-009"
        if job.last.do in ("enqueue", "schedule"):
            yield "DR-001"
        else:
            yield "DR-002"
        if not job.promised <= FINAL:
            yield "DR-003"
        if self._is_leased(job, at_s):
            yield "DR-008"

    def _violated(self, job: _Job, broken: tuple[Requirement, ...], found: str) -> None:
        if job.is_closed:
            return
        job.is_closed = True
        self.violations.append(
            Violation(
                requirements=broken,
                kill=self._kill.number,
                kind=self._kill.kind,
                job=job.id,
                answered=self._answered(job),
                found=found,
            )
        )

    def _answered(self, job: _Job) -> str:
        call = job.last
        by = f" to {call.worker}" if call.worker else ""
        if not self._kill.number:
            return f"{call.do} answered {call.status}{by}"
        before = self._kill.at_s - call.answered_s
        when = f"{before:.3f} s before" if before >= 0 else f"{-before:.3f} s after"
        return f"{call.do} answered {call.status}{by}, {when} kill {self._kill.number}"


def _promised(do: Do, state: str) -> frozenset[str]:
    """Return the states that an answer promises: the one that it names, or the usual ones."""
    if state == "retryable" or (do == "retry" and state not in FINAL):
        # The retry may be due at once.
        return _RESULTS["retry"]
    return frozenset({state}) if state in STATES else _RESULTS[do]


def _broken_by(job: _Job, state: str, *, leased: bool) -> tuple[Requirement, ...]:
    """Return the requirements that a job breaks by being found so."""
    if state == ABSENT:
        first: Requirement = "DR-001" if job.last.do in ("enqueue", "schedule") else "DR-002"
        return (first, "DR-003")
    if leased and state in _BEFORE_FINAL:
        return ("DR-008", "DR-002")
    return ("DR-002",)
