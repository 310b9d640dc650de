"""Checks every job: the answers that its clients got against the state that the servers keep.

Times are the clients', so every rule is about an order that the clients saw: an exchange was
carried out, if at all, between its `sent` and its `ended`. No rule convicts a server that is right.
Leases and the patience with silent workers must be longer than the round, and workers must say
which delivery they settle: then only an ACK or a FAIL of its holder ends a delivery.

What counts:

lost            An enqueue was answered 2xx, or the row of the job's transaction is there, and the
                job is not there after the round; or an ACK was
                answered 2xx and the job is not completed, or was completed by another delivery; or
                a FAIL was answered 2xx and its attempt is handed out again.
ran after ACK   An answer to a FETCH that arrived after the end of an ACK hands the job out, whoever
                asks. An ACK has ended when its answer is 2xx, or 409 because the job is completed
                where an earlier try of the same ACK had no answer.
two holders     Two answers to FETCHes hand out the same job, to two workers or as two attempts, and
                the first holder had not even sent a FAIL of it when the second answer arrived. A
                FETCH that is repeated with its `fetch_id` and brings the same attempt to the same
                worker is the same delivery. A FETCH without any answer gives nobody anything:
                what it may have claimed lies with its worker until the same `fetch_id` finds it.
lease lost      The holder's first ACK or FAIL is refused, or a repeated ACK is refused and the job
                is not completed, or a BEAT calls a job lost that its worker holds.
stored twice    One enqueue, repeated with its id or its Idempotency-Key, made two jobs; or a
                transaction's job has another id than its row says.
orphan          Nobody enqueued the job over HTTP, and the row of its transaction is not there.
refused         An enqueue, new or repeated, is answered 4xx.
never finished  The job is there, nobody was told that it is completed, and the round is over.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tests.chaos.history import Act, Exchange, Fate


class Wrong(StrEnum):
    """The ways in which a server breaks its word."""

    LOST = "lost"
    AFTER_ACK = "ran after its ACK"
    TWO_HOLDERS = "two holders"
    LEASE_LOST = "lease lost"
    STORED_TWICE = "stored twice"
    REFUSED = "refused"
    NEVER_FINISHED = "never finished"
    ORPHAN = "orphan"


class Kept(msgspec.Struct, frozen=True):
    """A job as the servers show it after the round."""

    job: str
    id: str
    state: str
    attempt: int


class Row(msgspec.Struct, frozen=True):
    """A row of a program, and the id of the job that was enqueued in its transaction."""

    job: str
    id: str


class Violation(msgspec.Struct, frozen=True):
    """A broken promise, and the job that it was about."""

    wrong: Wrong
    job: str
    said: str


class Delivery(msgspec.Struct, frozen=True):
    """A job that an answer brought to a worker."""

    worker: str
    attempt: int
    arrived: float


class Account(msgspec.Struct):
    """Everything about one job."""

    job: str
    ids: set[str] = msgspec.field(default_factory=set)
    enqueues: list[Exchange] = []
    deliveries: list[Delivery] = []
    settlements: list[Exchange] = []
    # BEATs that called it lost.
    beats: list[Exchange] = []
    kept: Kept | None = None
    row: Row | None = None

    def tries(self, delivery: tuple[str, int], act: Act | None = None) -> list[Exchange]:
        """The settlements of one delivery, as (worker, attempt), in the order of their tries."""
        return [
            one
            for one in self.settlements
            if (one.client, one.attempt) == delivery and act in (None, one.act)
        ]

    def confirmed(self) -> list[Exchange]:
        """The ACKs that have ended."""
        return [
            one
            for one in self.settlements
            if one.act is Act.ACK
            and (one.accepted or (_says_completed(one) and self._was_unknown(one)))
        ]

    def released(self, delivery: Delivery) -> float:
        """The moment from which another may hold the job: a FAIL was sent, or an ACK has ended.

        After an ACK it is another rule that nobody may.
        """
        key = (delivery.worker, delivery.attempt)
        fails = [one.sent for one in self.tries(key, Act.FAIL) if one.accepted or one.unknown]
        acks = [
            one.ended
            for one in self.confirmed()
            if (one.client, one.attempt) == key and one.ended is not None
        ]
        return min([*fails, *acks], default=float("inf"))

    def _was_unknown(self, last: Exchange) -> bool:
        tries = self.tries((last.client, last.attempt), last.act)
        return any(one.unknown and one.sent < last.sent for one in tries)


def judge(
    exchanges: Sequence[Exchange], kept: Sequence[Kept], rows: Sequence[Row] = ()
) -> list[Violation]:
    """Return the broken promises, at most one of a kind for each job."""
    return [
        Violation(wrong, account.job, said)
        for account in accounts(exchanges, kept, rows)
        for wrong, rule in _RULES.items()
        if (said := next(rule(account), None)) is not None
    ]


def accounts(
    exchanges: Sequence[Exchange], kept: Sequence[Kept], rows: Sequence[Row] = ()
) -> list[Account]:
    """Gather the exchanges and the final state of each job."""
    found: dict[str, Account] = {}

    def of(job: str) -> Account:
        return found.setdefault(job, Account(job))

    for one in exchanges:
        if one.act is Act.ENQUEUE:
            of(one.about).enqueues.append(one)
            of(one.about).ids.update({one.id} - {""})
        elif one.act is Act.FETCH:
            for handed in one.handed:
                account = of(handed.job)
                account.ids.add(handed.id)
                arrived = one.sent if one.ended is None else one.ended
                account.deliveries.append(Delivery(one.client, handed.attempt, arrived))
        elif one.act is Act.BEAT:
            for job in one.lost:
                of(job).beats.append(one)
        else:
            of(one.about).settlements.append(one)
    for stored in kept:
        of(stored.job).kept = stored
        of(stored.job).ids.add(stored.id)
    for row in rows:
        of(row.job).row = row
        of(row.job).ids.add(row.id)
    return list(found.values())


def _lost(account: Account) -> Iterator[str]:
    kept = account.kept
    if kept is None and any(one.accepted for one in account.enqueues):
        yield "its enqueue was answered 2xx, and it is not there"
    if kept is None and account.row is not None:
        yield "the row of its transaction is there, and it is not"
    for one in account.confirmed():
        if kept is None:
            yield "its ACK was answered, and it is not there"
        elif kept.state != "completed":
            yield f"its ACK was answered, and it is {kept.state}"
        elif kept.attempt != one.attempt:
            yield f"the ACK of attempt {one.attempt} was answered, and {kept.attempt} completed it"
    for one in account.settlements:
        for delivery in account.deliveries:
            undone = one.ended is not None and delivery.arrived > one.ended
            if one.act is Act.FAIL and one.accepted and undone and delivery.attempt <= one.attempt:
                yield f"its FAIL was answered, and attempt {delivery.attempt} came out again"


def _after_ack(account: Account) -> Iterator[str]:
    ends = [one.ended for one in account.confirmed() if one.ended is not None]
    for delivery in account.deliveries:
        if ends and delivery.arrived > min(ends):
            late = delivery.arrived - min(ends)
            yield f"handed to {delivery.worker} {late:.4f} s after its ACK was answered"


def _two_holders(account: Account) -> Iterator[str]:
    first: dict[tuple[str, int], Delivery] = {}
    for delivery in sorted(account.deliveries, key=lambda one: one.arrived):
        first.setdefault((delivery.worker, delivery.attempt), delivery)
    ordered = sorted(first.values(), key=lambda one: (one.attempt, one.arrived))
    for number, earlier in enumerate(ordered):
        for later in ordered[number + 1 :]:
            if account.released(earlier) > later.arrived:
                yield (
                    f"{earlier.worker} held attempt {earlier.attempt} when {later.worker} was "
                    f"handed attempt {later.attempt}"
                )


def _lease_lost(account: Account) -> Iterator[str]:
    for settled in sorted({(one.client, one.attempt) for one in account.settlements}):
        unknown = False
        for one in account.tries(settled):
            if one.refused and not unknown:
                yield f"the {one.act} of its holder {one.client} was answered {one.status}"
            elif one.refused and one.act is Act.ACK and not _says_completed(one):
                yield f"the repeated ACK of {one.client} found it {one.state or one.status}"
            unknown = unknown or one.unknown
    for beat in account.beats:
        for delivery in account.deliveries:
            tries = account.tries((delivery.worker, delivery.attempt))
            first = min([one.sent for one in tries], default=float("inf"))
            ended = beat.sent if beat.ended is None else beat.ended
            if delivery.worker == beat.client and delivery.arrived < beat.sent and first > ended:
                yield f"a BEAT of its holder {beat.client} was told that it is lost"


def _stored_twice(account: Account) -> Iterator[str]:
    if len(account.ids) > 1:
        yield f"it has {len(account.ids)} ids: {', '.join(sorted(account.ids))}"


def _refused(account: Account) -> Iterator[str]:
    for one in account.enqueues:
        if one.refused:
            yield f"its enqueue was answered {one.status}"


def _never_finished(account: Account) -> Iterator[str]:
    kept = account.kept
    if kept is not None and kept.state != "completed" and not account.confirmed():
        yield f"it is {kept.state} in attempt {kept.attempt}"


def _orphan(account: Account) -> Iterator[str]:
    if not account.enqueues and account.row is None:
        yield "the row of its transaction is not there"


def _says_completed(one: Exchange) -> bool:
    return one.fate is Fate.ANSWERED and one.status == 409 and one.state == "completed"


_RULES: Final[dict[Wrong, Callable[[Account], Iterator[str]]]] = {
    Wrong.LOST: _lost,
    Wrong.AFTER_ACK: _after_ack,
    Wrong.TWO_HOLDERS: _two_holders,
    Wrong.LEASE_LOST: _lease_lost,
    Wrong.STORED_TWICE: _stored_twice,
    Wrong.REFUSED: _refused,
    Wrong.NEVER_FINISHED: _never_finished,
    Wrong.ORPHAN: _orphan,
}
