"""The person on whose behalf operations run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ojs_server.domain.admin.action import Actor

ACTOR: ContextVar[Actor | None] = ContextVar("actor", default=None)


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """Attribute operations in this block to a person; to nobody where a program calls."""
    token = ACTOR.set(actor)
    try:
        yield
    finally:
        ACTOR.reset(token)
