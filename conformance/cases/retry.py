"""Cases of retry policies, delays, exhaustion and the history of errors."""

import asyncio
import time
from typing import Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record

# Time that a server may need to see that a delay is over: no published text bounds it.
_LATE_S = 2.0
# For clocks that are read in whole milliseconds.
_EARLY_S = 0.05
# Retries that come as soon as the published form of a policy can say.
_SOON: dict[str, Any] = {
    "initial_interval": "PT0.01S",
    "backoff_coefficient": 1.0,
    "jitter": False,
}
# Cases that need a second attempt say so: what a policy leaves out is the subject of one case.
_AGAIN: dict[str, Any] = {"max_attempts": 3}


async def _next(stage: Stage, queue: str, within_s: float = 5.0) -> Record:
    """Fetch until a job is handed out, and return it."""
    found: list[Record] = []

    async def comes() -> bool:
        found.extend(await stage.fetch(queue))
        return bool(found)

    await stage.until(comes, within_s, "a job that is handed out")
    return found[0]


async def _comes_back(stage: Stage, queue: str, delays: tuple[float, ...]) -> None:
    """Fail the job of a queue so many times, and require these delays in seconds."""
    taken = await stage.take(queue)
    for delay in delays:
        failed_at = time.monotonic()
        (await stage.fail(taken)).expect(200, {"state": "retryable"})
        taken = await _next(stage, queue, delay + _LATE_S)
        waited = time.monotonic() - failed_at
        stage.check(waited >= delay - _EARLY_S, f"a delay of {delay:g} s", waited)


@case("OJS-RET-001", level=1)
async def three_attempts_by_default(stage: Stage) -> None:
    """Without a policy a job is retried twice, later each time; members not set have defaults."""
    queue = stage.name()
    await stage.enqueue(queue)
    taken = await stage.take(queue)
    for shortest, longest in ((0.5, 1.5), (1.0, 3.0)):
        failed_at = time.monotonic()
        (await stage.fail(taken)).expect(200, {"state": "retryable"})
        taken = await _next(stage, queue, longest + _LATE_S)
        waited = time.monotonic() - failed_at
        stage.check(waited >= shortest - _EARLY_S, f"a delay of {shortest:g} s or more", waited)
    (await stage.fail(taken)).expect(200, {"state": "discarded"})
    await stage.enqueue(queue, retry={"max_attempts": 2})
    (await stage.fail(await stage.take(queue))).expect(200, {"state": "retryable"})
    (await stage.fail(await _next(stage, queue))).expect(200, {"state": "discarded"})


@case("OJS-RET-042", level=1)
async def members_that_are_not_set(stage: Stage) -> None:
    """A policy that does not say max_attempts allows as many as no policy does."""
    queue = stage.name()
    await stage.enqueue(queue)
    without = (await stage.fail(await stage.take(queue))).expect(200)["state"]
    for retry in ({"initial_interval": "PT1S"}, {"jitter": False}, {}):
        state = await _state_after(stage, {}, retry)
        stage.equal(state, without, f"state after the first failure with the policy {retry}")


@case("OJS-RET-002", level=1)
async def wrong_policies_are_refused(stage: Stage) -> None:
    """A job whose retry policy is wrong is not enqueued."""
    queue = stage.name()
    for wrong in (
        {"max_attempts": -1},
        {"backoff_coefficient": 0.5},
        {"initial_interval": "PT0S"},
        {"initial_interval": "soon"},
        {"initial_interval": "PT10S", "max_interval": "PT5S"},
        {"jitter": "yes"},
        {"on_exhaustion": "explode"},
        {"non_retryable_errors": "Timeout"},
    ):
        status = (await stage.push(queue=queue, retry=wrong)).status
        stage.check(status in (400, 422), f"400 or 422 for the policy {wrong}", status)
    await stage.empty(queue)


@case("OJS-RET-026", level=1)
async def status_of_wrong_policies(stage: Stage) -> None:
    """An enqueue with a policy whose numbers are too small is 422."""
    for wrong in ({"max_attempts": -1}, {"backoff_coefficient": 0.5}):
        (await stage.push(queue=stage.name(), retry=wrong)).expect(422)


@case("OJS-RET-001", "OJS-RET-025", "OJS-ENV-023")
async def defaults(stage: Stage) -> None:
    """A job without a policy has all the defaults; members that are not set have theirs."""
    expected = {
        "max_attempts": 3,
        "initial_interval": "PT1S",
        "backoff_coefficient": 2.0,
        "jitter": True,
        "on_exhaustion": "discard",
        "backoff_strategy": "exponential",
    }
    queue = stage.name()
    plain = await stage.enqueue(queue, retry={})
    seen = plain["retry"]
    stage.equal({name: seen.get(name) for name in expected}, expected, "retry")
    stage.check(seen["max_interval"] in ("PT5M", "PT300S"), "five minutes", seen)
    stage.equal((await stage.enqueue(queue))["max_attempts"], 3, "max_attempts without policy")
    some = await stage.enqueue(queue, options={"retry_policy": {"max_attempts": 7}})
    stage.equal(some["max_attempts"], 7, "max_attempts as retry_policy")


@case("OJS-RET-003", "OJS-RET-025")
async def spellings_and_bounds(stage: Stage) -> None:
    """The other names of members count, and a long first interval lifts the longest one."""
    queue = stage.name()
    for given, name, shown in (
        ({"initial_interval_ms": 1500}, "initial_interval", "PT1.5S"),
        ({"initial_delay_ms": 1500}, "initial_interval", "PT1.5S"),
        ({"max_interval_ms": 9000}, "max_interval", "PT9S"),
        ({"backoff_type": "linear"}, "backoff_strategy", "linear"),
        ({"strategy": "constant"}, "backoff_strategy", "constant"),
        ({"backoff_coefficient": 1000}, "backoff_coefficient", 1000),
        ({"max_attempts": 1_000_000}, "max_attempts", 1_000_000),
    ):
        job = await stage.enqueue(queue, retry=given)
        stage.equal(job["retry"][name], shown, f"retry.{name} for {given}")
    retry = (await stage.enqueue(queue, retry={"initial_interval": "PT10M"}))["retry"]
    stage.equal(retry["max_interval"], retry["initial_interval"], "max_interval")


@case("OJS-RET-022", "OJS-RET-023", "OJS-RET-027")
async def other_places(stage: Stage) -> None:
    """`max_attempts` may stand beside the policy, which shows milliseconds, too."""
    queue = stage.name()
    for given, most in (
        ({"max_attempts": 7}, 7),
        ({"options": {"max_attempts": 7}}, 7),
        ({"options": {"max_attempts": 7, "retry": {"initial_interval": "PT2S"}}}, 7),
        ({"max_attempts": 7, "retry": {"max_attempts": 5}}, 5),
        ({"retry": {"max_attempts": 5}, "options": {"max_attempts": 7}}, 7),
    ):
        body = {"type": "test.case", "args": [], "queue": queue, **given}
        job = stage.job_in((await stage.call("POST", "jobs", body)).expect(201))
        stage.equal(job["max_attempts"], most, f"max_attempts for {given}")
    retry = (await stage.enqueue(queue, retry={"initial_interval": "PT1.5S"}))["retry"]
    shown = [retry.get("initial_interval_ms"), retry.get("max_interval_ms")]
    stage.equal(shown, [1500, 300_000], "intervals in milliseconds")
    for wrong in (-1, "3"):
        body = {"type": "test.case", "args": [], "options": {"max_attempts": wrong}}
        (await stage.post("jobs", body)).error(422, "validation_error")


@case("OJS-RET-004", level=1)
async def max_attempts_counts_deliveries(stage: Stage) -> None:
    """A job is discarded after max_attempts failed deliveries, the first included; 0 means 1."""
    for most, failures in ((0, 1), (1, 1), (3, 3)):
        queue = stage.name()
        await stage.enqueue(queue, retry={**_SOON, "max_attempts": most})
        for number in range(1, failures + 1):
            reply = (await stage.fail(await _next(stage, queue))).expect(200)
            expected = "discarded" if number == failures else "retryable"
            stage.equal(reply["state"], expected, f"state after failure {number} of {most}")
        await stage.empty(queue)


@case("OJS-RET-006", level=1)
async def requeues_are_free(stage: Stage) -> None:
    """Requeued deliveries do not count against max_attempts."""
    queue = stage.name()
    await stage.enqueue(queue, retry={**_SOON, "max_attempts": 2})
    for _ in range(3):
        (await stage.fail(await _next(stage, queue), requeue=True)).expect(200)
    for state in ("retryable", "discarded"):
        (await stage.fail(await _next(stage, queue))).expect(200, {"state": state})


@case("OJS-RET-030", level=1)
async def requeues_are_counted(stage: Stage) -> None:
    """Requeued deliveries are counted by attempt, free as they are."""
    queue = stage.name()
    retry = {"max_attempts": 2, "initial_interval_ms": 1, "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    for _ in range(3):
        (await stage.fail(await stage.take(queue), requeue=True)).expect(200)
    (await stage.fail(await stage.take(queue))).expect(200, {"state": "retryable", "attempt": 4})
    await stage.until_state(job, "available")
    (await stage.fail(await stage.take(queue))).expect(200, {"state": "discarded", "attempt": 5})


@case("OJS-RET-007", "OJS-RET-009", level=1, seconds=90)
async def delays(stage: Stage) -> None:
    """Delays grow by the coefficient, up to the longest interval, and none is cut short."""
    for policy, expected in (
        ({"backoff_coefficient": 3}, (0.5, 1.5, 4.5)),
        ({"backoff_coefficient": 1.0}, (0.5, 0.5)),
        ({"backoff_coefficient": 20, "max_interval": "PT1S"}, (0.5, 1.0, 1.0)),
    ):
        queue = stage.name()
        retry = {"initial_interval": "PT0.5S", "jitter": False, "max_attempts": 9, **policy}
        await stage.enqueue(queue, retry=retry)
        await _comes_back(stage, queue, expected)


@case("OJS-RET-031", level=1, seconds=90)
async def linear_delays(stage: Stage) -> None:
    """Linear delays grow by the first one each time."""
    queue = stage.name()
    retry = {"initial_interval": "PT1S", "jitter": False, "max_attempts": 9}
    await stage.enqueue(queue, retry={**retry, "backoff_strategy": "linear"})
    await _comes_back(stage, queue, (1, 2, 3))


@case("OJS-RET-007", "OJS-RET-031", "OJS-RET-032", "OJS-SET-016", level=1, seconds=90)
async def delays_of_each_strategy(stage: Stage) -> None:
    """The delays of every strategy, cut to the longest interval."""
    base: dict[str, Any] = {"initial_interval_ms": 20, "jitter": False, "max_attempts": 9}
    for policy, expected in (
        ({"backoff_strategy": "exponential", "backoff_coefficient": 3}, [20, 60, 180]),
        ({"backoff_strategy": "linear"}, [20, 40, 60]),
        ({"backoff_strategy": "constant"}, [20, 20, 20]),
        ({"backoff_strategy": "none"}, [20, 20, 20]),
        ({"backoff_strategy": "polynomial", "backoff_coefficient": 2}, [20, 80, 180]),
        ({"backoff_coefficient": 10, "max_interval_ms": 150}, [20, 150, 150]),
    ):
        queue = stage.name()
        job = await stage.enqueue(queue, retry={**base, **policy})
        found = []
        for _ in expected:
            reply = (await stage.fail(await stage.take(queue))).expect(200)
            found.append(reply["retry_delay_ms"])
            await stage.until_state(job, "available")
        stage.equal(found, expected, f"delays for {policy}")


@case("OJS-RET-008", level=1, seconds=90)
async def jitter(stage: Stage) -> None:
    """Jitter spreads delays between half and one and a half, below the longest interval."""
    queue = stage.name()
    retry = {"initial_interval": "PT4S", "max_interval": "PT5S", "jitter": True, **_AGAIN}
    for _ in range(30):
        await stage.enqueue(queue, retry=retry)
    failed: dict[str, float] = {}

    async def fail(job: Record) -> None:
        failed[job["id"]] = time.monotonic()
        (await stage.fail(job)).expect(200, {"state": "retryable"})

    # All are taken before the first one can come back.
    await asyncio.gather(*map(fail, [await stage.take(queue) for _ in range(30)]))
    waited: list[float] = []

    async def all_came() -> bool:
        while jobs := await stage.fetch(queue):
            waited.extend(time.monotonic() - failed[job["id"]] for job in jobs)
        return len(waited) == len(failed)

    await stage.until(all_came, 5 + _LATE_S, "all jobs handed out again")
    stage.check(min(waited) >= 2 - _EARLY_S, "2 s or more", waited)
    stage.check(min(waited) < 4 - _EARLY_S, "some shorter than without jitter", waited)
    stage.check(max(waited) - min(waited) > 0.5, "delays that differ", waited)


@case("OJS-RET-008", "OJS-RET-025", "OJS-SET-016", level=1)
async def jitter_in_numbers(stage: Stage) -> None:
    """The delays that are answered are jittered, too."""
    queue = stage.name()
    retry = {"initial_interval_ms": 10_000, "max_interval_ms": 12_000, "jitter": True}
    await stage.enqueue_many(queue, 40, retry=retry)
    found = []
    for job in await stage.fetch(queue, count=40):
        found.append((await stage.fail(job)).expect(200)["retry_delay_ms"])
    stage.check(min(found) >= 5_000 and max(found) <= 12_000, "5000 to 12000", found)
    stage.check(len(set(found)) > 5, "delays that differ", found)
    stage.check(min(found) < 9_000, "some below nine tenths", found)


async def _failed(stage: Stage, error: Any, **retry: Any) -> Record:
    queue = stage.name()
    job = await stage.enqueue(queue, retry=retry)
    await stage.take(queue)
    (await stage.fail(job, error=error)).expect(200)
    return await stage.look(job)


async def _state_after(stage: Stage, error: dict[str, Any], retry: dict[str, Any]) -> str:
    """Return the state of a job whose first delivery failed with an error."""
    queue = stage.name()
    await stage.enqueue(queue, retry=retry)
    sent = {"code": "handler_error", "message": "m", **error}
    reply = (await stage.fail(await stage.take(queue), error=sent)).expect(200)
    return str(reply["state"])


@case("OJS-RET-011", level=1)
async def what_ends_retries(stage: Stage) -> None:
    """Used-up attempts, retryable false and a matching error end a job."""
    for error, retry in (
        ({}, {"max_attempts": 1}),
        ({"retryable": True}, {"max_attempts": 1}),
        ({"retryable": False}, {}),
        ({"type": "disk.broken"}, {"non_retryable_errors": ["disk.broken"]}),
    ):
        state = await _state_after(stage, error, {**_AGAIN, **retry})
        stage.equal(state, "discarded", f"state for {error} with {retry}")


@case("OJS-RET-033", level=1)
async def handlers_end_retries(stage: Stage) -> None:
    """A handler can also ask for the end in the details of its error."""
    for action in ("discard", "dead_letter"):
        state = await _state_after(stage, {"details": {"action": action}}, {})
        stage.equal(state, "discarded", f"state for {action}")


@case("OJS-RET-013", level=1)
async def non_retryable_errors(stage: Stage) -> None:
    """An entry matches the type that equals it, and no other."""
    for kind, expected in (
        ("auth.denied", "discarded"),
        ("auth.denied.token", "retryable"),
        ("auth", "retryable"),
        ("disk.full", "retryable"),
    ):
        error = {"type": kind, "retryable": True}
        retry = {**_AGAIN, "non_retryable_errors": ["other", "auth.denied"]}
        state = await _state_after(stage, error, retry)
        stage.equal(state, expected, f"state for {kind}")


@case("OJS-RET-034", level=1)
async def prefixes_of_errors(stage: Stage) -> None:
    """An entry with a star at its end matches the types that begin with what is before it."""
    for kind, expected in (
        ("auth.denied", "discarded"),
        ("auth", "retryable"),
        ("authority.denied", "retryable"),
        ("external.auth.failed", "retryable"),
    ):
        error = {"type": kind, "retryable": True}
        state = await _state_after(stage, error, {**_AGAIN, "non_retryable_errors": ["auth.*"]})
        stage.equal(state, expected, f"state for {kind}")


@case("OJS-RET-012", "OJS-RET-013", "OJS-RET-014", "OJS-RET-035", level=1)
async def names_of_errors(stage: Stage) -> None:
    """Entries match type, error class or code: by equality, by prefix, by regular expression."""
    for entry, error, matches in (
        ("Auth", {"type": "Auth"}, True),
        ("Auth", {"code": "Auth"}, True),
        ("Auth", {"type": "X", "details": {"error_class": "Auth"}}, True),
        ("Auth", {"type": "Auth.Token"}, False),
        ("Auth", {"type": "auth"}, False),
        ("Auth.*", {"type": "Auth.Token"}, True),
        ("Auth.*", {"type": "Auth"}, False),
        ("Auth.*", {"type": "Authority"}, False),
        ("[45][0-9]{2}", {"code": "404"}, True),
        ("[45][0-9]{2}", {"code": "4040"}, False),
        ("Smtp.+", {"type": "SmtpTimeout"}, True),
        ("a.b", {"type": "axb"}, False),
        ("E", {"type": "E"}, True),
    ):
        job = await _failed(stage, error, non_retryable_errors=["Other", entry])
        expected = "discarded" if matches else "retryable"
        stage.equal(job["state"], expected, f"state for {error} with {entry!r}")


@case("OJS-RET-015", level=1)
async def dangerous_expressions(stage: Stage) -> None:
    """Regular expressions that could run for very long are refused at enqueue."""
    for entry in ("(a+)+$", r"(a)\1+", "(?=a)b+", "a*b*c*d", "(a|b|c)*"):
        reply = await stage.push(queue=stage.name(), retry={"non_retryable_errors": [entry]})
        reply.error(422, "validation_error")


@case("OJS-RET-018", level=1)
async def leases_lost_on_the_last_attempt(stage: Stage) -> None:
    """A job that loses its lease on its last attempt is discarded, with the reason."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    await stage.take(queue, visibility_timeout_ms=1_000)

    async def is_over() -> bool:
        await stage.empty(queue)
        return bool((await stage.look(job))["state"] == "discarded")

    await stage.until(is_over, 10, "a discarded job")
    errors = (await stage.look(job))["errors"]
    stage.equal(errors[-1]["type"], "visibility_timeout", "type of the last error")


@case("OJS-RET-017", "OJS-RET-028", level=1)
async def lost_leases_come_back_at_once(stage: Stage) -> None:
    """A job that lost its lease is not delayed, and its next delivery is its second attempt."""
    queue = stage.name()
    late = {"initial_interval": "PT1H", "max_interval": "PT1H"}
    await stage.enqueue(queue, retry={**late, **_AGAIN})
    first = await stage.take(queue, visibility_timeout_ms=1_000)
    again = await _next(stage, queue, 10)
    stage.equal(again["attempt"] - first["attempt"], 1, "attempts between the two deliveries")


@case("OJS-RET-036", "OJS-RET-029", level=1)
async def lost_leases_keep_their_place(stage: Stage) -> None:
    """A job that lost its lease comes before those behind it; a timeout is one attempt, too."""
    queue, slow = stage.name(), stage.name()
    jobs = await stage.enqueue_many(queue, 2)
    late = await stage.enqueue(slow, timeout_ms=200)
    await stage.take(slow)
    await stage.take(queue, visibility_timeout_ms=200)
    await stage.until_state(jobs[0], "available")
    order = [job["id"] for job in await stage.fetch(queue, count=2)]
    stage.equal(order, [job["id"] for job in jobs], "order")
    await stage.until_state(late, "retryable")
    stage.equal((await stage.look(late))["attempt"], 1, "attempt after a timeout")


@case("OJS-RET-016", "OJS-RET-018", "OJS-RET-037", "OJS-LIF-009", level=1)
async def the_servers_own_errors(stage: Stage) -> None:
    """Lost leases and timeouts are matched like any error; the last attempt discards."""
    for members, entry, lease in (
        ({}, "visibility_timeout", 200),
        ({"timeout_ms": 200}, "timeout", 60_000),
    ):
        queue = stage.name()
        job = await stage.enqueue(queue, retry={"non_retryable_errors": [entry]}, **members)
        await stage.take(queue, visibility_timeout_ms=lease)
        await stage.until_state(job, "discarded", 6)
        stage.equal((await stage.look(job))["error"]["code"], entry, "error.code")
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 1})
    await stage.take(queue, visibility_timeout_ms=200)
    await stage.until_state(job, "discarded", 6)
    stage.equal((await stage.look(job))["error"]["code"], "visibility_timeout", "error.code")


@case("OJS-RET-019", level=1, seconds=90)
async def the_history_is_bounded(stage: Stage) -> None:
    """Each failed delivery has an entry; at least the newest 10 are kept, and error is the last."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={**_SOON, "max_attempts": 30})
    for number in range(1, 13):
        error = {"code": "handler_error", "message": f"m{number}"}
        (await stage.fail(await _next(stage, queue), error=error)).expect(200)
    seen = await stage.look(job)
    messages = [entry["message"] for entry in seen["errors"]]
    stage.equal(messages[-10:], [f"m{n}" for n in range(3, 13)], "messages of the newest")
    stage.equal(messages, [f"m{n}" for n in range(1, 13)][-len(messages) :], "oldest first")
    stage.equal(seen["error"]["message"], "m12", "error.message")


@case("OJS-RET-020", level=1)
async def entries_of_the_history(stage: Stage) -> None:
    """An entry of the history has its code, message and attempt."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={"max_attempts": 2})
    error = {"code": "handler_error", "message": "no route"}
    (await stage.fail(await stage.take(queue), error=error)).expect(200)
    reply = (await stage.get(f"jobs/{job['id']}")).expect(200, {"job.errors": {"$size": 1}})
    reply.expect(
        members={
            "job.errors[0].code": "string:nonempty",
            "job.errors[0].message": "no route",
            "job.errors[0].attempt": 1,
        }
    )


@case("OJS-RET-043", level=1)
async def entries_have_a_moment(stage: Stage) -> None:
    """An entry of the history says when the attempt failed, by one of the two names for it."""
    job = await _failed(stage, {"code": "handler_error", "message": "no route"}, **_AGAIN)
    reply = await stage.get(f"jobs/{job['id']}")
    name = "timestamp" if reply.has("job.errors[0].timestamp") else "occurred_at"
    reply.expect(200, {f"job.errors[0].{name}": "string:datetime"})


@case("OJS-RET-041", level=1)
async def moments_of_the_history(stage: Stage) -> None:
    """An entry of the history says when the attempt failed."""
    job = await _failed(stage, {"code": "handler_error", "message": "no route"}, **_AGAIN)
    reply = await stage.get(f"jobs/{job['id']}")
    reply.expect(200, {"job.errors[0].occurred_at": "string:datetime"})


@case("OJS-RET-038", level=1, seconds=90)
async def the_twenty_newest_errors(stage: Stage) -> None:
    """Of the entries of the history exactly the newest 20 are kept."""
    queue = stage.name()
    job = await stage.enqueue(queue, retry={**_SOON, "max_attempts": 30})
    for _ in range(23):
        (await stage.fail(await _next(stage, queue))).expect(200)
    seen = await stage.look(job)
    stage.equal([entry["attempt"] for entry in seen["errors"]], list(range(4, 24)), "attempts")


@case("OJS-RET-021", level=1)
async def long_errors_are_cut(stage: Stage) -> None:
    """A backtrace that is kept is cut to 50 frames and 10,000 characters."""
    for frames in (["frame"] * 80, ["f" * 1_000] * 30):
        error = {"code": "c", "type": "t", "message": "m", "backtrace": frames}
        kept = (await _failed(stage, error))["error"].get("backtrace") or []
        stage.check(len(kept) <= 50, "50 frames at most", len(kept))
        length = sum(len(frame) for frame in kept)
        stage.check(length <= 10_000, "10,000 characters at most", length)


@case("OJS-RET-039", "OJS-RET-040", level=1)
async def long_texts_are_cut(stage: Stage) -> None:
    """Messages, names and backtraces are kept, and cut to their lengths."""
    error = {
        "message": "m" * 20_000,
        "code": "c" * 300,
        "type": "t" * 300,
        "backtrace": [f"frame {number}" for number in range(80)],
        "details": {"host": "a"},
    }
    entry = (await _failed(stage, error))["errors"][0]
    for name, length in (("message", 10_000), ("code", 255), ("type", 255), ("backtrace", 50)):
        stage.equal(len(entry[name]), length, f"length of {name}")
    stage.equal([entry["retryable"], entry["details"]], [True, {"host": "a"}], "other members")
    almost = {"message": "m", "backtrace": ["f" * 9_999, "last"]}
    entry = (await _failed(stage, almost))["errors"][0]
    lengths = [len(frame) for frame in entry["backtrace"]]
    stage.equal(lengths, [9_999, 1], "lengths of frames with 10,000 characters together")
