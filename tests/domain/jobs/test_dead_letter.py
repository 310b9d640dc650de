"""Dead letters: their records, and the changes that a retry may make."""

import pytest

from ojs_server.domain.errors import InvalidRequest, TooLarge, ValidationError
from ojs_server.domain.jobs.dead_letter import (
    Mark,
    RetryChanges,
    marks_of,
    overridden,
    parse_override,
)
from ojs_server.domain.jobs.job import Change, StoredJob
from ojs_server.domain.jobs.retry import RetryPolicy
from ojs_server.domain.jobs.validate import parse_draft
from ojs_wire import codec
from tests.domain.sample_jobs import JOB_ID, job, made


def stored(**given: object) -> StoredJob:
    draft = parse_draft({"type": "a", "args": [{"id": 1}], "meta": {"a": 1, "b": 1}, **given})
    return made(draft)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (b'{"code":"c","type":"Smtp.Timeout"}', "Smtp.Timeout"),
        (b'{"type":"a\\u0000b"}', "ab"),
        (b"{}", None),
        (None, None),
    ],
)
def test_discarded_jobs_are_marked(error: bytes | None, kind: str | None) -> None:
    dead = job("discarded", error=error)
    changes = [
        Change(job(), dead, (), dead_letter=True),
        Change(job(), dead, ()),
        Change(job(), job("completed"), ()),
    ]
    assert marks_of(changes) == [Mark(JOB_ID, kind, kept=True), Mark(JOB_ID, kind, kept=False)]


def test_nothing_is_overridden_where_nothing_is_asked_for() -> None:
    assert parse_override(None) is None
    assert parse_override({}) == RetryChanges()
    assert parse_override(dict.fromkeys(("queue", "args", "meta", "retry"))) == RetryChanges()
    before = stored()
    assert overridden(before, RetryChanges()) == before


def test_all_but_meta_is_replaced() -> None:
    override = parse_override(
        {"queue": "q", "args": [2], "meta": {"b": 2}, "retry": {"max_attempts": 9}}
    )
    assert override is not None
    before = stored(retry={"max_attempts": 2, "jitter": False}, x_more=1)
    after = overridden(before, override)
    assert (after.job.queue, after.job.max_attempts) == ("q", 9)
    assert (after.args, codec.decode(after.meta)) == (b"[2]", {"a": 1, "b": 2})
    spec = codec.decode(after.job.spec)
    assert spec["retry"] == codec.decode(codec.encode(RetryPolicy(max_attempts=9).as_wire()))
    assert spec["x_more"] == 1


def test_a_changed_job_has_another_fingerprint() -> None:
    unique = {"keys": ["args"]}
    before = stored(unique=unique)
    after = overridden(before, RetryChanges(args=[{"id": 2}]))
    assert after.unique_key == stored(unique=unique, args=[{"id": 2}]).unique_key
    assert after.unique_key != before.unique_key
    assert overridden(before, RetryChanges(queue="q")).unique_key == before.unique_key
    with pytest.raises(InvalidRequest, match="args_keys"):
        overridden(stored(unique={"args_keys": ["id"]}), RetryChanges(args=[]))


def test_a_job_stays_within_its_limits() -> None:
    with pytest.raises(TooLarge):
        overridden(stored(), RetryChanges(meta={"a": "x" * 70_000}))
    with pytest.raises(TooLarge):
        overridden(stored(), RetryChanges(args=["x" * 1_100_000]))


@pytest.mark.parametrize("given", [[], "x", {"args": {}}, {"meta": 1}, {"queue": "Q"}], ids=str)
def test_a_wrong_override_is_refused(given: object) -> None:
    with pytest.raises(InvalidRequest):
        parse_override(given)


def test_what_cannot_be_overridden_is_named() -> None:
    with pytest.raises(ValidationError, match='did you mean "queue"'):
        parse_override({"queues": "q"})
    with pytest.raises(ValidationError, match="max_attempts"):
        parse_override({"retry": {"max_attempts": -1}})
