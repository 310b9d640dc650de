"""The plan of a run by its seed: the operations of each round, and the point of its kill."""

import random
from collections.abc import Sequence
from typing import Final, Literal, get_args

import msgspec

Kind = Literal["none", "process", "store", "both", "disk", "clock"]
Moment = Literal["sent", "answered"]
Do = Literal["enqueue", "schedule", "fetch", "complete", "retry", "discard", "cancel"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
# A job is fetched more often than made, since some are handed out again.
_WEIGHTS: Final[dict[Do, int]] = {
    "enqueue": 30,
    "schedule": 3,
    "fetch": 34,
    "complete": 20,
    "retry": 5,
    "discard": 5,
    "cancel": 3,
}
_LONGEST_SHIFT_S: Final = 3600


class Step(msgspec.Struct, frozen=True):
    """An operation of one client; `pick` chooses among the jobs that it can be about."""

    do: Do
    pick: int


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """Operations of several clients at the same time, and the kill in the middle of them."""

    number: int
    kind: Kind
    at: int  # the kill comes at the call of this number, counted over all clients
    moment: Moment  # as that call has been sent, or as its answer begins
    shift_s: int  # distance of the clock from the right time, in a round of kind `clock`
    clients: tuple[tuple[Step, ...], ...]


def plan_round(
    seed: int, number: int, kinds: Sequence[Kind], *, clients: int = 6, operations: int = 10
) -> Round:
    """Return a round of a plan; equal arguments give equal rounds.

    The kinds of kills take turns, so that a run of any length has as many of each.
    """
    luck = random.Random(f"guarantees {seed} {number}")
    total = clients * operations
    return Round(
        number=number,
        kind=kinds[(number - 1) % len(kinds)],
        # Late enough that there are answers to keep, and before the last calls.
        at=luck.randint(total // 3, total - clients),
        moment=luck.choice(get_args(Moment)),
        shift_s=luck.choice((-1, 1)) * luck.randint(60, _LONGEST_SHIFT_S),
        clients=tuple(
            tuple(
                Step(do, luck.randrange(1 << 16))
                for do in luck.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=operations)
            )
            for _ in range(clients)
        ),
    )
