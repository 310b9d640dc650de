"""Matching of jobs with the criteria of a test, and the messages of failed assertions. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from ojs_wire.values import parse_moment
from ojs_worker.durations import Moment, moment
from ojs_worker.job import Job

NEAREST: Final = 3
LONGEST: Final = 300
Args = Sequence[Any] | Mapping[str, Any]


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """Criteria that a job must meet; those that are None are not checked.

    `args` are all of them: a list, or a mapping where the producer named them. `meta` are some
    members. `error` is the type of the job's error or a part of its message. Values are compared
    by ==, so `unittest.mock.ANY` stands for anything.
    """

    type: str | None = None
    args: Args | None = None
    queue: str | None = None
    meta: Mapping[str, Any] | None = None
    priority: int | None = None
    at: Moment | None = None
    result: Any = msgspec.UNSET
    error: str | None = None
    states: Collection[str] | None = None
    run: bool = False

    def differences(self, job: Job) -> list[str]:
        """Return the differences between a job and the criteria; empty if it meets them."""
        differences = []
        if self.type is not None and job.type != self.type:
            differences.append(f"type is {job.type}, not {self.type}")
        if self.args is not None:
            differences += _args(job.args, self.args)
        for name in ("queue", "priority"):
            expected, actual = getattr(self, name), getattr(job, name)
            if expected is not None and actual != expected:
                differences.append(f"{name} is {actual}, not {expected}")
        for member, value in (self.meta or {}).items():
            differences += _member("meta", job.meta, member, value)
        if self.at is not None and not _at(job, self.at):
            differences.append(f"its time is {job.scheduled_at or 'now'}, not {self.at}")
        if self.states is not None and job.state not in self.states:
            differences.append(f"state is {job.state}, not {' or '.join(self.states)}")
        elif self.result is not msgspec.UNSET and not _same(self.result, job.result):
            differences.append(f"result is {_short(job.result)}, not {_short(self.result)}")
        elif self.error is not None and not _error(job, self.error):
            differences.append(f"its error is not {self.error}")
        if self.run and not job.attempt:
            differences.append("it has not been run")
        return differences

    def words(self) -> str:
        """The criteria in words, for a message."""
        parts = [self.type or "any job"]
        if self.args is not None:
            parts.append(f"with args {_short(self.args)}")
        if self.queue is not None:
            parts.append(f"on queue {self.queue}")
        if self.meta is not None:
            parts.append(f"with meta {_short(self.meta)}")
        if self.priority is not None:
            parts.append(f"of priority {self.priority}")
        if self.at is not None:
            parts.append(f"for {self.at}")
        if self.result is not msgspec.UNSET:
            parts.append(f"with result {_short(self.result)}")
        if self.error is not None:
            parts.append(f"with error {self.error}")
        return " ".join(parts)


def matching(jobs: Sequence[Job], criteria: Criteria) -> list[Job]:
    """Return those of the jobs that meet the criteria."""
    return [job for job in jobs if not criteria.differences(job)]


def complaint(jobs: Sequence[Job], criteria: Criteria, what: str, count: int | None) -> str | None:
    """Return the message of a failed assertion about jobs like this; None if it holds.

    Without a count, there must be at least one. `what` is the expected fate of the jobs.
    """
    matched = matching(jobs, criteria)
    if count is None:
        if matched:
            return None
        head = f"{criteria.words()}: none was {what}"
    elif len(matched) == count:
        return None
    else:
        head = f"{criteria.words()}: {len(matched)} {_were(len(matched))} {what}, not {count}"
    lines = [head]
    if matched:
        lines += ["these are:", *(f"  {describe(job)}" for job in matched[: NEAREST * 3])]
    if count is None or len(matched) < count:
        lines += _nearest(jobs, criteria, [job.id for job in matched])
    return "\n".join(lines)


def describe(job: Job) -> str:
    """Describe a job in one line, with its error if it has one."""
    text = f"{job.type} {_short(job.args)} on {job.queue}, {job.state}, attempt {job.attempt}"
    if isinstance(job.error, Mapping) and job.error.get("message"):
        text += f", error {job.error.get('type')}: {_short(job.error['message'])}"
    return f"{text} ({job.id})"


def _nearest(jobs: Sequence[Job], criteria: Criteria, matched: Collection[str]) -> list[str]:
    others = [job for job in jobs if job.id not in matched]
    if not others:
        return [] if matched else ["there are no jobs at all"]
    alike = [job for job in others if criteria.type is None or job.type == criteria.type]
    lines = []
    if not alike and criteria.type is not None:
        types = list(dict.fromkeys(job.type for job in others))
        if close := get_close_matches(criteria.type, types, n=1):
            lines.append(f"did you mean {close[0]}?")
            alike = [job for job in others if job.type == close[0]]
    if alike:
        lines.append("the nearest:" if not matched else "the nearest others:")
        ranked = sorted(
            ((criteria.differences(job), job) for job in alike), key=lambda pair: len(pair[0])
        )
        for differences, job in ranked[:NEAREST]:
            lines += [f"  {describe(job)}", *(f"    {difference}" for difference in differences)]
    counts = Counter(job.type for job in others if job not in alike)
    if counts:
        listed = ", ".join(f"{type} ({number})" for type, number in counts.most_common(10))
        lines.append(f"there are also: {listed}" if alike else f"there are: {listed}")
    return lines


def _args(actual: list[Any], expected: Args) -> list[str]:
    if not isinstance(expected, Mapping):
        plain = list(expected)
        return [] if _same(plain, actual) else [f"args are {_short(actual)}, not {_short(plain)}"]
    if len(actual) != 1 or not isinstance(actual[0], dict):
        return [f"args are {_short(actual)}, which names none"]
    named = actual[0]
    differences = [
        difference
        for name, value in expected.items()
        for difference in _member("args", named, name, value)
    ]
    return differences + [f"args has {name} as well" for name in named if name not in expected]


def _member(of: str, actual: Mapping[str, Any], name: str, expected: Any) -> list[str]:
    if name not in actual:
        return [f"{of} has no {name}"]
    if _same(expected, actual[name]):
        return []
    return [f"{of}.{name} is {_short(actual[name])}, not {_short(expected)}"]


def _at(job: Job, expected: Moment) -> bool:
    at = parse_moment(moment(expected, "at"), 0)
    return job.scheduled_at is not None and parse_moment(job.scheduled_at, 0) == at


def _error(job: Job, expected: str) -> bool:
    error = job.error if isinstance(job.error, Mapping) else {}
    return expected == error.get("type") or expected in str(error.get("message", ""))


def _same(expected: Any, actual: Any) -> bool:
    """Tell whether the value in a job is equal to the wanted one, once that is written as JSON."""
    if (
        isinstance(expected, Mapping)
        and isinstance(actual, dict)
        and expected.keys() == actual.keys()
    ):
        return all(_same(value, actual[name]) for name, value in expected.items())
    if (
        isinstance(expected, list | tuple)
        and isinstance(actual, list)
        and len(expected) == len(actual)
    ):
        return all(map(_same, expected, actual))
    if isinstance(expected, bool) or isinstance(actual, bool):
        # With == alone, True would equal 1.
        return expected == actual and (expected is actual or not isinstance(expected, int | float))
    return bool(expected == actual) or _plain(expected) == actual


def _plain(value: Any) -> Any:
    """Return dates, dataclasses and the like as they are written on the wire."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError):
        return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
