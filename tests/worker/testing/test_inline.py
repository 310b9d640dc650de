"""Inline mode: an enqueue runs its job before it returns."""

import msgspec
import pytest

from ojs_worker import JobFailed, Worker, chain
from ojs_worker.faults import BadArguments
from ojs_worker.testing import Sandbox
from ojs_worker.testing.inline import at_once, named
from ojs_worker.transport import Request

JOBS = "/ojs/v1/jobs"


async def test_what_is_enqueued_is_done_at_once_with_all_that_follows(
    ojs: Sandbox, worker: Worker
) -> None:
    signup = worker.registry.get("signup")
    assert signup is not None
    with ojs.inline():
        await signup.enqueue("ada")
    ojs.assert_completed("email.send", args={"to": "ada"}, result={"to": "ada", "subject": "Hello"})
    await signup.enqueue("bob")
    ojs.assert_not_performed(signup, args={"to": "bob"})


def test_a_sandbox_can_be_inline_from_the_start(worker: Worker) -> None:
    with Sandbox(worker, inline=True) as ojs:
        job = ojs.blocking_client.enqueue("sum.up", [1, 2])
        assert ojs.job(job).result == 3


async def test_a_delay_is_left_out(ojs: Sandbox) -> None:
    with ojs.inline():
        job = await ojs.client.enqueue("sum.up", [1], delay="5m")
        requests = [ojs.client.request("sum.up", [n], delay="1h") for n in (1, 2)]
        many = await ojs.client.enqueue_many(requests)
    assert [ojs.job(one).state for one in (job, *many)] == ["completed"] * 3


async def test_what_a_handler_raises_comes_back_and_is_not_tried_again(ojs: Sandbox) -> None:
    with ojs.inline():
        with pytest.raises(ValueError, match="attempt 1"):
            await ojs.client.enqueue("fail.twice")
        with pytest.raises(BadArguments, match="`to`"):
            await ojs.client.enqueue("email.send", {"to": 7})
        with pytest.raises(JobFailed, match=r"no handler for no\.such"):
            await ojs.client.enqueue("no.such")
        await ojs.client.enqueue("sleep.on")
    ojs.assert_retrying("fail.twice", error="attempt 1", count=1)
    ojs.assert_discarded("email.send", error="InvalidArguments")
    assert ojs.enqueued("sleep.on")[0].state == "scheduled"


async def test_an_error_further_down_reaches_the_outer_enqueue(
    ojs: Sandbox, worker: Worker
) -> None:
    ojs.fail_next("email.send", OSError("smtp is down"))
    with ojs.inline(), pytest.raises(OSError, match="smtp is down"):
        await ojs.client.enqueue("signup", {"to": "ada"})
    ojs.assert_failed("signup", error="OSError")
    ojs.assert_failed("email.send", error="OSError")


def test_a_thread_that_enqueues_waits_as_well(worker: Worker) -> None:
    @worker.job("nested")
    def nested(depth: int) -> int:
        if depth:
            nested.enqueue_blocking(depth - 1)
        return depth

    with Sandbox(worker, inline=True) as ojs:
        nested.enqueue_blocking(2)
        results = [job.result for job in ojs.assert_completed(nested, count=3)]
        assert results == [2, 1, 0]


async def test_a_coroutine_may_block_on_an_enqueue(worker: Worker) -> None:
    @worker.job("outer")
    async def outer() -> None:
        worker.blocking_client.enqueue("sum.up", [1])

    with Sandbox(worker, inline=True) as ojs:
        await outer.enqueue()
        ojs.assert_completed("sum.up", result=1)


async def test_a_workflow_runs_to_its_end(ojs: Sandbox) -> None:
    steps = [ojs.client.request("sum.up", [n]) for n in (1, 2)]
    with ojs.inline():
        started = await ojs.client.start(chain(*steps))
        ojs.fail_next("sum.up", KeyError("lost"))
        with pytest.raises(KeyError):
            await ojs.client.start(chain(*steps))
    assert (await ojs.client.get_workflow(started.id)).state == "completed"


def test_only_the_moment_is_taken_out_of_a_request() -> None:
    options = {"queue": "q", "scheduled_at": "2030-01-31T09:00:00Z"}
    job = {"type": "a.b", "args": ["scheduled_at"], "options": options}
    kept = {**job, "options": {"queue": "q"}}
    single = Request("POST", JOBS, msgspec.json.encode(job))
    assert msgspec.json.decode(at_once(single).body or b"") == kept
    plain = {"type": "a.b", "args": []}
    many = Request("POST", f"{JOBS}/batch", msgspec.json.encode({"jobs": [job, plain]}))
    assert msgspec.json.decode(at_once(many).body or b"") == {"jobs": [kept, plain]}
    for other in (Request("POST", "/ojs/v1/workflows", single.body), Request("POST", JOBS)):
        assert at_once(other) is other


def test_the_jobs_of_an_answer_are_found() -> None:
    assert named(b'{"job": {"id": "a"}, "id": "a"}') == ["a"]
    assert named(b'{"jobs": [{"id": "a"}, {"id": "b"}]}') == ["a", "b"]
    assert named(b'{"workflow": {"id": "w"}, "jobs": [{"id": "1"}]}') == named(b"[]") == []
