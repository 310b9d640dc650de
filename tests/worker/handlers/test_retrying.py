"""The exceptions of a handler after which its job is retried."""

from collections.abc import Callable
from typing import Any

import pytest

from ojs_worker import Discard, OjsError, Retry, Router, Worker
from ojs_worker.errors import PermissionDenied
from ojs_worker.handlers.retrying import retrying
from tests.worker.conftest import Start
from tests.worker.scripted import NACK, ScriptedServer, job


class Declined(ValueError):
    """An error that no other try changes."""


class Busy(Declined):
    """One of its kind that another try may change."""


def test_the_nearest_class_decides() -> None:
    only = retrying((OSError, Busy), Declined)
    assert [only.retries(one) for one in (ConnectionError(), Busy(), Declined(), KeyError())] == [
        True,
        True,
        False,
        False,
    ]
    all_but = retrying(None, Declined)
    assert [all_but.retries(one) for one in (KeyError(), Declined(), Busy())] == [
        True,
        False,
        False,
    ]
    assert retrying(None, None).retries(KeyError())


def test_what_the_key_may_not_do_is_tried_again_only_on_request() -> None:
    denied = PermissionDenied("no")
    for given, tried in (((), False), (OjsError, False), (PermissionDenied, True)):
        assert retrying(given, None).retries(denied) is tried


def test_what_is_no_exception_is_told_where_it_is_written() -> None:
    wrong: Any = "OSError"
    with pytest.raises(TypeError, match="`retry_on` holds 'OSError'"):
        Worker().job("a.b", retry_on=wrong)
    with pytest.raises(ValueError, match="KeyError is in `retry_on` and in `no_retry_on`"):
        Router().job("a.b", retry_on=KeyError, no_retry_on=(KeyError, OSError))


@pytest.mark.parametrize(
    ("raised", "retryable"),
    [
        (Declined("no"), False),
        (OSError("away"), True),
        (KeyError("x"), False),
        (Retry("again"), True),
        (Discard("never"), False),
    ],
)
async def test_a_worker_reports_what_the_handler_wants(
    scripted: ScriptedServer,
    make_worker: Callable[..., Worker],
    start: Start,
    raised: Exception,
    retryable: bool,
) -> None:
    worker = make_worker()

    @worker.job("a.b", retry_on=OSError, no_retry_on=Declined)
    async def handler() -> None:
        raise raised

    one = job(1, "a.b")
    async with start(worker):
        await scripted.offer(one)
        assert (await scripted.settled(one, NACK))["error"]["retryable"] is retryable
    # Other options of the enqueue leave it as it is.
    assert handler.options(queue="q").retrying == retrying(OSError, Declined)
