"""Progress and checkpoints through the life of a job; jobs without them cost no statements."""

from collections.abc import Callable
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, NotFound
from ojs_server.domain.jobs.attachments import Checkpoint, Progress
from ojs_server.domain.jobs.progress import ProgressReport, Shown
from ojs_server.domain.retention import DAY
from ojs_server.ops.jobs.checkpoint import Clear, Save
from ojs_server.ops.jobs.progress import Advance, Advanced
from ojs_server.ops.jobs.settle import Cancel, Remove, Revive
from ojs_server.store.postgres.transaction import PostgresTx
from ojs_server.store.sqlite.transaction import SqliteTx
from tests.ops.bench import Bench
from tests.ops.statements import ways

NOBODY = "01965000-0000-7000-8000-000000000000"
RETRY = {"retry": {"initial_interval": "PT1S", "jitter": False}}


def advance(bench: Bench, job_id: str, value: float | None = None, **given: Any) -> Shown:
    """Report progress; answers what is known then."""
    who = {name: given.pop(name) for name in ("worker_id", "attempt") if name in given}
    done: Advanced = bench.do(Advance(job_id, ProgressReport(value, **given), **who))
    return done.shown


def progress(bench: Bench, job_id: str) -> Progress | None:
    """Return the stored progress of a job."""
    with bench.store.reader() as reader:
        return reader.progress(job_id)


def checkpoint(bench: Bench, job_id: str) -> Checkpoint | None:
    """A job's checkpoint."""
    with bench.store.reader() as reader:
        return reader.checkpoint(job_id)


def again(bench: Bench, job_id: str) -> None:
    """Fail the job, and wait until its next attempt may begin."""
    bench.fail(job_id)
    bench.clock.advance(60_000)
    bench.sweep()


# Progress.


def test_a_report_is_kept_told_and_counts_as_a_beat(bench: Bench) -> None:
    job_id = bench.put(heartbeat_timeout=10)
    bench.take()
    bench.clock.advance(9000)
    assert advance(bench, job_id, 0.5, message=b'"half"').value == 0.5
    lease = bench.lease(job_id)
    assert lease is not None
    assert lease.expires_at == bench.clock.now + 10_000
    assert bench.event_types(job_id)[-2:] == ["job.progress", "progress.updated"]
    stored = progress(bench, job_id)
    assert stored is not None
    assert (stored.attempt, stored.value, stored.message) == (1, 0.5, b'"half"')


def test_a_flood_of_reports_is_kept_but_not_told(bench: Bench) -> None:
    job_id = bench.put()
    bench.take()
    for tenth in range(1, 10):
        bench.clock.advance(100)
        advance(bench, job_id, tenth / 10)
    assert advance(bench, job_id).value == 0.9
    assert bench.event_types(job_id).count("progress.updated") == 1


def test_a_report_by_another_worker_or_delivery_is_refused(bench: Bench) -> None:
    job_id = bench.put()
    bench.take("w")
    for wrong in ({"worker_id": "v"}, {"attempt": 2}):
        with pytest.raises(Conflict):
            advance(bench, job_id, 0.5, **wrong)
    assert progress(bench, job_id) is None
    assert bench.job(job_id).attached == 0
    assert advance(bench, job_id, 0.5, worker_id="w", attempt=1).value == 0.5


def test_a_report_that_comes_too_late_changes_nothing(bench: Bench) -> None:
    job_id = bench.put(**RETRY)
    assert advance(bench, job_id, 0.5) == Shown()
    bench.take()
    advance(bench, job_id, 0.5)
    bench.fail(job_id)
    assert advance(bench, job_id, 0.9).value == 0.5
    assert advance(bench, job_id, 0.9, worker_id="nobody", attempt=7).value == 0.5


def test_a_report_for_an_unknown_job_is_refused_alone(bench: Bench) -> None:
    job_id = bench.put()
    bench.take()
    good, bad = bench.commit(
        Advance(job_id, ProgressReport(0.5)), Advance(NOBODY, ProgressReport(0.5))
    ).outcomes
    assert good.shown.value == 0.5
    assert isinstance(bad, NotFound)


def test_reports_and_beats_of_one_transaction_get_along(bench: Bench) -> None:
    ids = [bench.put() for _ in range(3)]
    bench.take(count=3)
    bench.clock.advance(60_000)
    outcomes = bench.commit(*(Advance(job_id, ProgressReport(0.5)) for job_id in ids)).outcomes
    assert [one.shown.value for one in outcomes] == [0.5] * 3
    assert set(bench.beat(ids=ids).extended) == set(ids)


def test_an_ack_completes_the_progress(bench: Bench) -> None:
    job_id = bench.put()
    bench.take()
    advance(bench, job_id, 0.5)
    bench.ack(job_id)
    assert bench.event_types(job_id)[-2:] == ["progress.completed", "job.completed"]


def test_silence_after_a_report_is_told_with_it(bench: Bench) -> None:
    job_id = bench.put(heartbeat_timeout=5)
    other = bench.put(heartbeat_timeout=5)
    bench.take(count=2)
    advance(bench, job_id, 0.25)
    bench.clock.advance(5000)
    bench.sweep()
    told = dict(bench.events_of(job_id))
    assert told["progress.stalled"]["last_progress"] == 0.25
    assert "progress.stalled" not in bench.event_types(other)


def test_the_last_reports_checkpoint_comes_with_the_next_delivery(bench: Bench) -> None:
    job_id = bench.put(**RETRY)
    (first,) = bench.take()
    assert first.left.last_checkpoint is None
    advance(bench, job_id, 0.5, checkpoint=b'{"row":7}')
    advance(bench, job_id, 0.6)
    again(bench, job_id)
    (second,) = bench.take(fetch_id="f1")
    assert (second.left.last_checkpoint, second.left.checkpoint) == (b'{"row":7}', None)
    # A repeated fetch is answered with all of it again.
    (repeated,) = bench.take(fetch_id="f1")
    assert repeated.left == second.left


def test_a_dead_letter_retry_forgets_the_progress_and_keeps_the_checkpoints(bench: Bench) -> None:
    job_id = bench.put(retry={"max_attempts": 1})
    bench.take()
    advance(bench, job_id, 0.5, checkpoint=b'{"row":7}')
    bench.do(Save(job_id, b"[1]"))
    bench.fail(job_id)
    bench.do(Revive(job_id))
    # Its first attempt has the number of the one that failed.
    (delivery,) = bench.take()
    assert delivery.left.last_checkpoint == b'{"row":7}'
    assert delivery.left.checkpoint == checkpoint(bench, job_id)
    assert advance(bench, job_id, 0.125).value == 0.125


# Checkpoints.


def test_checkpoints_are_counted_told_and_handed_out(bench: Bench) -> None:
    job_id, other = bench.put(**RETRY), bench.put()
    bench.take(count=2)
    for sequence, state in enumerate((b'{"n":1}', b"null", b"[1.0]"), 1):
        assert bench.do(Save(job_id, state)).sequence == sequence
    said = [data for kind, data in bench.events_of(job_id) if kind == "job.checkpointed"]
    assert [(one["sequence"], one["size_bytes"]) for one in said] == [(1, 7), (2, 4), (3, 5)]
    bench.fail(job_id)
    bench.fail(other)
    bench.clock.advance(60_000)
    bench.sweep()
    left = {one.claimed.job.id: one.left.checkpoint for one in bench.take(count=2)}
    assert left == {job_id: checkpoint(bench, job_id), other: None}
    assert left[job_id] == Checkpoint(job_id, 3, b"[1.0]", bench.clock.now - 60_000)


def test_the_count_starts_over_after_a_delete(bench: Bench) -> None:
    job_id = bench.put()
    bench.do(Save(job_id, b"1"))
    bench.do(Save(job_id, b"2"))
    for _ in range(2):
        assert bench.do(Clear(job_id)).job_id == job_id
    assert checkpoint(bench, job_id) is None
    (delivery,) = bench.take()
    assert delivery.left.checkpoint is None
    assert bench.do(Save(job_id, b"3")).sequence == 1


def test_a_named_sequence_must_be_higher(bench: Bench) -> None:
    job_id = bench.put()
    assert bench.do(Save(job_id, b"1", sequence=5)).sequence == 5
    for named in (4, 5):
        with pytest.raises(Conflict, match="must be higher"):
            bench.do(Save(job_id, b"2", sequence=named))
    stored = checkpoint(bench, job_id)
    assert stored is not None
    assert (stored.sequence, stored.state) == (5, b"1")
    assert bench.do(Save(job_id, b"2")).sequence == 6


def test_an_ended_job_takes_no_checkpoint_and_keeps_the_last(bench: Bench) -> None:
    done, called_off, dead = (bench.put(retry={"max_attempts": 1}) for _ in range(3))
    bench.take(count=2)
    bench.take()
    for job_id in (done, called_off, dead):
        bench.do(Save(job_id, b"1"))
    bench.ack(done)
    bench.do(Cancel(called_off))
    bench.fail(dead)
    for job_id in (done, called_off, dead):
        with pytest.raises(Conflict):
            bench.do(Save(job_id, b"2"))
        stored = checkpoint(bench, job_id)
        assert stored is not None
        assert stored.state == b"1"
        bench.do(Clear(job_id))
        assert checkpoint(bench, job_id) is None


def test_an_unknown_job_has_no_checkpoint(bench: Bench) -> None:
    for op in (Save(NOBODY, b"1"), Clear(NOBODY)):
        with pytest.raises(NotFound):
            bench.do(op)
    assert checkpoint(bench, NOBODY) is None


# The end.


@pytest.mark.parametrize("way", ["retention", "dead letter", "after a delete"])
def test_attached_records_go_with_their_job(bench: Bench, way: str) -> None:
    job_id = bench.put(retry={"max_attempts": 1})
    bench.take()
    advance(bench, job_id, 0.5)
    bench.do(Save(job_id, b"1"))
    if way == "after a delete":
        bench.do(Clear(job_id))
    bench.fail(job_id)
    if way == "dead letter":
        bench.do(Remove(job_id))
    else:
        bench.clock.advance(31 * DAY)
        bench.sweep()
    assert not bench.exists(job_id)
    assert (progress(bench, job_id), checkpoint(bench, job_id)) == (None, None)


Recorder = Callable[..., Any]


def test_jobs_without_pay_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enqueue, claim, BEAT, ACK and removal run the statements that they always ran."""
    seen: list[str] = []

    def recording(method: Recorder) -> Recorder:
        def run(self: object, name: str, *rows: Any, **bound: Any) -> Any:
            seen.append(name)
            return method(self, name, *rows, **bound)

        return run

    for kind in (SqliteTx, PostgresTx):
        for name in ways(kind):
            monkeypatch.setattr(kind, name, recording(getattr(kind, name)))
    job_id = bench.put(total_timeout=60, heartbeat_timeout=20)
    bench.take()
    bench.beat(ids=[job_id])
    bench.ack(job_id)
    bench.clock.advance(8 * DAY)
    bench.sweep()
    assert not bench.exists(job_id)
    assert "write_changes" in seen
    assert [name for name in seen if "progress" in name or "checkpoint" in name] == []
    assert "mark_attached" not in seen


def test_traced_jobs_tell_their_trace_in_every_event(bench: Bench) -> None:
    job_id = bench.put(meta={"trace_id": "t-1"}, retry={"max_attempts": 1})
    bench.take()
    advance(bench, job_id, 0.5)
    bench.do(Save(job_id, b"1"))
    bench.clock.advance(60_000)
    bench.beat(ids=[job_id])
    bench.fail(job_id)
    bench.do(Revive(job_id))
    bench.do(Cancel(job_id))
    told = bench.events_of(job_id)
    assert {kind for kind, _ in told} >= {"job.enqueued", "job.heartbeat", "job.checkpointed"}
    assert [data["trace_id"] for _, data in told] == ["t-1"] * len(told)
