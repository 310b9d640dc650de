"""Rules that JSON Schema cannot express, so that schemathesis does not take them for faults.

A pattern says how a duration is spelled, but not that it is longer than zero and shorter than a
hundred years: strings of such formats are drawn from here. And a valid body may be refused for a
rule that relates two of its values, or that the text of the contract gives for all bodies.
"""

import gc
import re
from typing import Any, Final

import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import RejectedPositiveData

# The player makes much that stays, and is not looked through again after each 700 objects of it.
gc.set_threshold(50_000, 20, 100)


def near(*lengths: int) -> st.SearchStrategy[int]:
    """Return these lengths, and those one above and one below.

    Free drawing hardly ever meets the limits of the contract: a string that is just as long as may
    be would be looked for in vain, for seconds.
    """
    return st.sampled_from([length + step for length in lengths for step in (-1, 0, 1)])


DURATIONS: Final = st.one_of(
    st.integers(1, 99).map("P{}D".format),
    st.integers(1, 9_999).map("PT{}S".format),
    st.integers(1, 9_999).map("PT0.5{:04}S".format),
    st.integers(1, 24).map("P1Y2M3W4DT{}H5M6S".format),
    st.integers(1, 9_999).map("{}ms".format),
    st.sampled_from(["90s", "1.5m", "2h", "7d"]),
)
MOMENTS: Final = st.one_of(
    st.datetimes().map(
        lambda at: f"{max(at.year, 1971):04}-{at:%m}-{min(at.day, 28):02}T{at:%H:%M:%S}Z"
    ),
    st.sampled_from(
        [
            "2030-01-31T09:00:00.123456789Z",
            "2030-01-31t09:00:00z",
            "2030-01-31T09:00:00-05:30",
            "1970-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ]
    ),
    DURATIONS.map("+{}".format),
)
TIMESTAMPS: Final = MOMENTS.filter(lambda moment: not moment.startswith("+"))
# Letters of many scripts, and everything that a shell, SQL or a log might stumble over.
PRINTABLES: Final = st.one_of(
    st.text(
        st.characters(categories=["L", "N", "P", "S"], exclude_characters="/"),
        min_size=1,
        max_size=255,
    ),
    near(2, 127, 255).map("ü".__mul__),
)
ERROR_NAMES: Final = st.one_of(
    st.from_regex(r"[A-Za-z]{1,20}(\.[A-Za-z]{1,20}){0,3}(\.\*)?", fullmatch=True),
    st.sampled_from(["Smtp.+", "[45][0-9]{2}", "(Auth|Access)Error", "^Timeout$"]),
    near(2, 255).map("E".__mul__),
)

CRON: Final = st.one_of(
    st.tuples(st.integers(0, 59), st.integers(0, 23), st.integers(1, 28)).map(
        lambda at: "{} {} {} * *".format(*at)
    ),
    st.integers(1, 9_999).map("@every {}s".format),
    st.sampled_from(["@daily", "@HOURLY", "*/5 * * * * *", "0 9 L * MON-FRI", "0 0 29 2 5#2"]),
)
ZONES: Final = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])

URLS: Final = st.one_of(
    st.from_regex(
        r"https://[a-z]{1,20}\.example(:[1-9][0-9]{0,3})?(/[!-\"$-~]{0,40})?", fullmatch=True
    ).filter(lambda url: "\\" not in url),
    near(2048).map(lambda length: "https://hooks.example/".ljust(length, "x")),
)

schemathesis.openapi.format("ojs-url", URLS)
schemathesis.openapi.format("ojs-cron", CRON)
schemathesis.openapi.format("ojs-zone", ZONES)
schemathesis.openapi.format("ojs-duration", DURATIONS)
schemathesis.openapi.format("ojs-moment", MOMENTS)
schemathesis.openapi.format("ojs-timestamp", TIMESTAMPS)
schemathesis.openapi.format("ojs-printable", PRINTABLES)
schemathesis.openapi.format("ojs-error-name", ERROR_NAMES)


# Messages about a value that breaks a relation to another one, to arithmetic or to a calendar.
RULES: Final = (
    "must be at least initial_interval",
    "differs from the id in the path",
    "an integer is beyond 64 bits; send it as a string",
    "must be longer than zero",
    "must be longer than zero and no longer than 366 days",
    "must lie in the future",
    "must be at least as long as the timeout of one delivery",
    "must be between zero and a hundred years",
    "is not a valid time: day is out of range for month",
    "uses the first object of `args`, but there is none",
    "which the first object of `args` does not have",
    "as in the path; an entry keeps its name",
    "must be at most 10000; go on with next_cursor",
    "before `until`",
    # Depends on what is registered.
    "do not fit the schema of",
    # It may stand in the query, too.
    "is missing; it is needed with the strategy `move`",
    "must be another queue than the one that is deleted",
    "is missing; without `job_types` it is needed",
    "must not be given where `status` is running",
    "must not be given where `status` is completed",
    "differs from the name in the path",
    "differs from the type in the path",
    "which is not among the pool's queues",
    "must have at least one weight above 0",
    "twice",
    "which has no schema",
    # Depends on the workers.
    "has been registered by no worker",
)

# Messages about relations between the steps of a workflow.
BETWEEN_STEPS: Final = re.compile(
    "which is no step|which is a callback|which is the id of `|in a circle:|is on_|no callback$"
)


@schemathesis.hook
def filter_failure(
    context: HookContext, failure: Failure, case: Case[Any], response: Response
) -> bool:
    """Return False for failures that are none: a valid body refused by a rule that no schema can
    hold, or a body that does not have the fault that it is said to have."""
    if isinstance(failure, AcceptedNegativeData):
        return not is_absent(failure.message, case.body)
    return not (isinstance(failure, RejectedPositiveData) and is_unsayable(response.json()))


def is_absent(message: str, body: object) -> bool:
    """Return True if the blamed member is inside an object that the body lacks or has as null."""
    around = re.findall(r"/properties/([^/\s]+)(?=/)", message)
    for name in around:
        body = body.get(name) if isinstance(body, dict) else body
        if body is None:
            return True
    return False


def is_unsayable(answer: dict[str, Any]) -> bool:
    """Return True if an error names one of the rules, or says that an object is no JSON Schema."""
    error = answer.get("error")
    if error is None:
        # Refused item by item, as calls with many jobs do.
        return False
    details = error.get("details") or {}
    problems = details.get("validation_errors", ())
    messages = [str(error["message"]), *(str(problem["message"]) for problem in problems)]
    return "schema_error" in details or any(
        text.endswith(RULES) or BETWEEN_STEPS.search(text) for text in messages
    )
