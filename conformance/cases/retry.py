"""Cases of retry policies, delays, exhaustion and the history of errors."""

from typing import Any

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Record


@case("OJS-RET-001", "OJS-ENV-023")
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


@case("OJS-RET-001", "OJS-RET-003")
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


@case("OJS-RET-022", "OJS-RET-023")
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
        retry = {"max_attempts": most, "initial_interval_ms": 1, "jitter": False}
        job = await stage.enqueue(queue, retry=retry)
        for number in range(1, failures + 1):
            taken = await stage.take(queue)
            reply = (await stage.fail(taken)).expect(200)
            expected = "discarded" if number == failures else "retryable"
            stage.equal(reply["state"], expected, f"state after failure {number} of {most}")
            if number < failures:
                await stage.until_state(job, "available")
        stage.equal((await stage.look(job))["attempt"], failures, "attempt")


@case("OJS-RET-006", level=1)
async def requeues_are_free(stage: Stage) -> None:
    """Requeued deliveries do not count against max_attempts, and attempt counts them."""
    queue = stage.name()
    retry = {"max_attempts": 2, "initial_interval_ms": 1, "jitter": False}
    job = await stage.enqueue(queue, retry=retry)
    for _ in range(3):
        (await stage.fail(await stage.take(queue), requeue=True)).expect(200)
    (await stage.fail(await stage.take(queue))).expect(200, {"state": "retryable", "attempt": 4})
    await stage.until_state(job, "available")
    (await stage.fail(await stage.take(queue))).expect(200, {"state": "discarded", "attempt": 5})


@case("OJS-RET-007", "OJS-SET-016", level=1, seconds=90)
async def delays(stage: Stage) -> None:
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


@case("OJS-RET-008", level=1)
async def jitter(stage: Stage) -> None:
    """Jitter spreads delays between half and one and a half, below the longest interval."""
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


@case("OJS-RET-011", level=1)
async def what_ends_retries(stage: Stage) -> None:
    """Used-up attempts, retryable false, a matching error and the handler's word discard."""
    for error, retry in (
        ({"message": "m"}, {"max_attempts": 1}),
        ({"message": "m", "retryable": False}, {}),
        ({"type": "Fatal"}, {"non_retryable_errors": ["Fatal"]}),
        ({"details": {"action": "discard"}}, {}),
        ({"details": {"action": "dead_letter"}}, {}),
    ):
        job = await _failed(stage, error, **retry)
        stage.equal(job["state"], "discarded", f"state for {error} with {retry}")
    job = await _failed(stage, {"message": "m", "retryable": True}, max_attempts=1)
    stage.equal(job["state"], "discarded", "state: retryable true gives no more attempts")


@case("OJS-RET-012", "OJS-RET-013", "OJS-RET-014", level=1)
async def non_retryable_errors(stage: Stage) -> None:
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


@case("OJS-RET-016", "OJS-RET-018", "OJS-LIF-009", level=1)
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
    """Every failed delivery has an entry, the newest 20 are kept, and error is the newest."""
    queue = stage.name()
    retry = {"max_attempts": 30, "initial_interval_ms": 1, "jitter": False, "strategy": "constant"}
    job = await stage.enqueue(queue, retry=retry)
    for number in range(1, 24):
        taken = await stage.take(queue, wait_ms=5000)
        error = {"code": "c", "message": f"m{number}"}
        (await stage.fail(taken, error=error)).expect(200)
        await stage.until_state(job, "available")
    seen = await stage.look(job)
    stage.equal([entry["attempt"] for entry in seen["errors"]], list(range(4, 24)), "attempts")
    stage.equal(seen["error"]["message"], "m23", "error.message")


@case("OJS-RET-021", level=1)
async def long_errors_are_cut(stage: Stage) -> None:
    """Messages, names and backtraces are cut to their lengths."""
    error = {
        "message": "m" * 20_000,
        "code": "c" * 300,
        "type": "t" * 300,
        "backtrace": [f"frame {number}" for number in range(80)],
    }
    entry = (await _failed(stage, error))["errors"][0]
    for name, length in (("message", 10_000), ("code", 255), ("type", 255), ("backtrace", 50)):
        stage.equal(len(entry[name]), length, f"length of {name}")
