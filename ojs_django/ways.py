"""Ways to enqueue a job with a transaction, by their names in `OJS["AFTER_COMMIT"]`."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from django.db import connections, transaction

from ojs_django.project import get_client
from ojs_worker import outbox, transactional
from ojs_worker.client.requests import JobRequest
from ojs_worker.request_context import with_context

log = logging.getLogger("ojs.django")


class Target(NamedTuple):
    """The database of the transaction."""

    # Its alias in `DATABASES`.
    using: str
    # The schema of the server in it, if the server is there.
    schema: str


# Takes the call that follows once the job is enqueued.
Way = Callable[[JobRequest, Target, Callable[[], None]], None]


def _on_commit(request: JobRequest, target: Target, then: Callable[[], None]) -> None:
    """Send the job once the transaction is committed.

    The program's request has succeeded then, so an error is logged with the job, and not raised.
    """

    def send_or_log() -> None:
        try:
            get_client().send(request)
        except Exception:
            log.exception("job %s (%s) was not enqueued after the commit", request.id, request.type)
        else:
            then()

    if connections[target.using].get_autocommit():
        get_client().send(request)
        then()
    else:
        # The present request may be over when the transaction ends.
        with_context(request)
        transaction.on_commit(send_or_log, using=target.using, robust=True)


def _by(store: Callable[[Any, JobRequest, Target], str]) -> Way:
    """Return a way that stores the job by a statement in the transaction."""

    def by_statement(request: JobRequest, target: Target, then: Callable[[], None]) -> None:
        # Its savepoint keeps the transaction usable where the job is refused.
        with transaction.atomic(using=target.using):
            store(connections[target.using], get_client().sealed(request), target)
        then()

    return by_statement


def _in_server(connection: Any, request: JobRequest, target: Target) -> str:
    return transactional.enqueue_blocking(connection, request, in_schema=target.schema)


def _in_outbox(connection: Any, request: JobRequest, target: Target) -> str:
    return outbox.enqueue_blocking(connection, request)


WAYS: Final[Mapping[str, Way]] = {
    "on_commit": _on_commit,
    "transactional": _by(_in_server),
    "outbox": _by(_in_outbox),
}
