"""Find the outcome of a transaction whose COMMIT got no answer, by the token that it wrote.

The check inserts the same token. If a committed transaction has it, that transaction was carried
out; if not, it cannot commit any more, as its token would be a duplicate. The unique index waits
for a transaction that is still about to end. See docs/decisions/0021.
"""

import logging
import time
from contextlib import closing
from typing import Final

import msgspec
import psycopg

from ojs_server.store.errors import OutcomeUnknown, StoreUnavailable
from ojs_server.store.postgres.connect import Address
from ojs_server.store.postgres.failures import first_line
from ojs_server.store.postgres.pipe import Pipe
from ojs_server.store.postgres.statements import STATEMENTS
from ojs_wire.values import RandomBits, uuid7

log = logging.getLogger("ojs.store")

# Time from the begin of a transaction, by the database's clock, in which it may write its token and
# be looked up by it. Removed tokens are much older, should the clock of a new primary differ.
VALID_MS: Final = 300_000
KEPT_MS: Final = 900_000
# After this many transactions with tokens, this many old ones are removed, more than were added.
FORGET_EVERY: Final = 64
FORGOTTEN: Final = 128
# Time limit to find the outcome of a COMMIT before it counts as unknown.
PATIENCE_S: Final = 10.0
_PAUSE_S: Final = 0.1


class Token(msgspec.Struct, frozen=True):
    """The token of one transaction, and how long it serves."""

    text: str
    until: int


def token_at(moment: int, bits: RandomBits) -> Token:
    """A new token for a transaction that began at a moment of the database's clock."""
    return Token(uuid7(moment, bits), moment + VALID_MS)


def note(pipe: Pipe, token: Token) -> None:
    """Write a transaction's token, together with its COMMIT."""
    pipe.send(STATEMENTS["note_outcome"], {"token": token.text, "until": token.until})


def forget(pipe: Pipe, now: int) -> None:
    """Remove some tokens that are not needed any more."""
    before = uuid7(now - KEPT_MS, lambda bits: 0)
    pipe.send(STATEMENTS["forget_outcomes"], {"before": before, "limit": FORGOTTEN})


def unknown(address: Address, token: Token, patience_s: float, reason: str) -> OutcomeUnknown:
    """Return the exception for a COMMIT that was not answered, which can ask for the outcome."""
    deadline = time.monotonic() + patience_s
    return OutcomeUnknown(
        f"a COMMIT got no answer: {reason}", lambda: _carried_out(address, token, deadline)
    )


def _carried_out(address: Address, token: Token, deadline: float) -> bool:
    """Ask the database repeatedly until it answers or the deadline passes."""
    reason = "the deadline passed before it could be asked"
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            return _query_outcome(address, token, left_s)
        except (psycopg.Error, StoreUnavailable) as error:
            reason = first_line(error)
        time.sleep(max(0.0, min(_PAUSE_S, deadline - time.monotonic())))
    raise OutcomeUnknown(f"the outcome of a COMMIT is unknown: {reason}")


def _query_outcome(address: Address, token: Token, left_s: float) -> bool:
    deadline = time.monotonic() + left_s
    with closing(address.connect(within_s=left_s)) as connection:
        left_s = min(deadline - time.monotonic(), address.answer_s)
        if left_s <= 0:
            raise StoreUnavailable("connecting took too long")
        pipe = Pipe(connection, prepare=False, patience_s=left_s)
        pipe.send(STATEMENTS["begin"], {})
        pipe.send(STATEMENTS["asking"], {"limit_ms": str(int(1000 * left_s) + 1)})
        rows = pipe.rows(STATEMENTS["ask_outcome"], {"token": token.text, "until": token.until})
        if warning := pipe.commit():
            raise StoreUnavailable(warning)
    if not rows:
        raise OutcomeUnknown("a COMMIT got no answer, and its outcome is not kept any more")
    return bool(rows[0][0])
