"""Promises about sessions: a worker is dead once its last session has ended, and not before
(OJS-PRS-015 and 016)."""

import msgspec

from tests.simulation.ledger import Session
from tests.simulation.oracles.stored import Stored
from tests.simulation.oracles.wakeups import is_calm
from tests.simulation.processes import START_MS
from tests.simulation.world import World

# Time by which the server may notice the end of a session before the client.
SLACK_S = 0.2
# Longest time in which an undisturbed server notices that the grace period is over.
LATE_S = 3.0
SIGNS = ("/ojs/v1/workers/register", "/ojs/v1/workers/heartbeat", "/ojs/v1/workers/fetch")


class _Said(msgspec.Struct):
    worker_id: str = ""


_said = msgspec.json.Decoder(_Said)


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    if any(fault.kind == "clock" for fault in world.scenario.faults) and world.database is None:
        # The server's clock is not that of the simulation.
        return
    held: dict[str, list[Session]] = {}
    for session in world.ledger.sessions:
        held.setdefault(session.worker_id, []).append(session)
    for worker_id, sessions in held.items():
        signs = _signs(world, worker_id)
        ends = [
            (event.at - START_MS) / 1000
            for event in stored.by_subject.get(worker_id, [])
            if event.type in ("worker.stopped", "worker.deleted")
        ]
        deaths = [
            (event.at - START_MS) / 1000
            for event in stored.by_subject.get(worker_id, [])
            if event.type == "worker.stopped" and event.data["reason"] == "error"
        ]
        for sentence in [
            *_early(world, sessions, signs, deaths),
            *_late(world, sessions, signs, ends),
        ]:
            world.ledger.wrong("sessions", f"{worker_id}: {sentence}")


def _early(
    world: World, sessions: list[Session], signs: list[tuple[float, float]], deaths: list[float]
) -> list[str]:
    """A worker with a session is not dead, nor one that ended it a moment ago, or gave a sign of
    life since."""
    grace_s = world.scenario.options.session_grace_s
    silent_s = (world.nodes[0].settings.profile.dead_after_ms or 0) / 1000
    found = []
    for at in deaths:
        last = max(
            (each for each in sessions if each.opened_at is not None and each.opened_at < at),
            key=lambda each: each.opened_at or 0.0,
            default=None,
        )
        heard = max((sent for sent, done in signs if done < at), default=0.0)
        if last is None or heard < at - silent_s or not is_calm(world, last.asked_at, at):
            continue
        ended = at if last.ended_at is None else last.ended_at
        if max(ended, heard) > at - grace_s + SLACK_S:
            found.append(f"dead at {at:g}, with a session to {ended:g}, and heard at {heard:g}")
    return found


def _late(
    world: World, sessions: list[Session], signs: list[tuple[float, float]], ends: list[float]
) -> list[str]:
    """A worker that ends its last session, and gives no sign of life, is dead soon after."""
    last = sessions[-1]
    if last.opened_at is None or last.ended_at is None or not last.closed:
        return []
    until = last.ended_at + world.scenario.options.session_grace_s + LATE_S
    if (
        any(last.opened_at < at < until for at in ends)
        or any(done > last.ended_at for _, done in signs)
        or until > world.loop.now
        or not is_calm(world, last.asked_at, until)
    ):
        return []
    return [f"has no session since {last.ended_at:g}, and is not dead by {until:g}"]


def _signs(world: World, worker_id: str) -> list[tuple[float, float]]:
    """Return when each sign of life was sent and answered."""
    return [
        (exchange.sent_at, exchange.answered_at or 1e9)
        for exchange in world.ledger.exchanges
        if exchange.path in SIGNS and _said.decode(exchange.body or b"{}").worker_id == worker_id
    ]
