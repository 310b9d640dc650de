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


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
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
        found = []
        if self.type is not None and job.type != self.type:
            found.append(f"type is {job.type}, not {self.type}")
        if self.args is not None:
            found += _args(job.args, self.args)
        for name in ("queue", "priority"):
            wanted, given = getattr(self, name), getattr(job, name)
            if wanted is not None and given != wanted:
                found.append(f"{name} is {given}, not {wanted}")
        for member, value in (self.meta or {}).items():
            found += _member("meta", job.meta, member, value)
        if self.at is not None and not _at(job, self.at):
            found.append(f"its time is {job.scheduled_at or 'now'}, not {self.at}")
        if self.states is not None and job.state not in self.states:
            found.append(f"state is {job.state}, not {' or '.join(self.states)}")
        elif self.result is not msgspec.UNSET and not _same(self.result, job.result):
            found.append(f"result is {_short(job.result)}, not {_short(self.result)}")
        elif self.error is not None and not _error(job, self.error):
            found.append(f"its error is not {self.error}")
        if self.run and not job.attempt:
            found.append("it has not been run")
        return found

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


def matching(jobs: Sequence[Job], wanted: Wanted) -> list[Job]:
    """Return those of the jobs that meet the criteria."""
    return [job for job in jobs if not wanted.differences(job)]


def complaint(jobs: Sequence[Job], wanted: Wanted, what: str, count: int | None) -> str | None:
    """Return the message of a failed assertion about jobs like this; None if it holds.

    Without a count, there must be at least one. `what` is the expected fate of the jobs.
    """
    found = matching(jobs, wanted)
    if count is None:
        if found:
            return None
        head = f"{wanted.words()}: none was {what}"
    elif len(found) == count:
        return None
    else:
        head = f"{wanted.words()}: {len(found)} {_were(len(found))} {what}, not {count}"
    lines = [head]
    if found:
        lines += ["these are:", *(f"  {describe(job)}" for job in found[: NEAREST * 3])]
    if count is None or len(found) < count:
        lines += _nearest(jobs, wanted, [job.id for job in found])
    return "\n".join(lines)


def describe(job: Job) -> str:
    """Describe a job in one line, with its error if it has one."""
    text = f"{job.type} {_short(job.args)} on {job.queue}, {job.state}, attempt {job.attempt}"
    if isinstance(job.error, Mapping) and job.error.get("message"):
        text += f", error {job.error.get('type')}: {_short(job.error['message'])}"
    return f"{text} ({job.id})"


def _nearest(jobs: Sequence[Job], wanted: Wanted, found: Collection[str]) -> list[str]:
    others = [job for job in jobs if job.id not in found]
    if not others:
        return [] if found else ["there are no jobs at all"]
    alike = [job for job in others if wanted.type is None or job.type == wanted.type]
    lines = []
    if not alike and wanted.type is not None:
        types = list(dict.fromkeys(job.type for job in others))
        if close := get_close_matches(wanted.type, types, n=1):
            lines.append(f"did you mean {close[0]}?")
            alike = [job for job in others if job.type == close[0]]
    if alike:
        lines.append("the nearest:" if not found else "the nearest others:")
        ranked = sorted(
            ((wanted.differences(job), job) for job in alike), key=lambda one: len(one[0])
        )
        for differences, job in ranked[:NEAREST]:
            lines += [f"  {describe(job)}", *(f"    {one}" for one in differences)]
    counts = Counter(job.type for job in others if job not in alike)
    if counts:
        listed = ", ".join(f"{type} ({number})" for type, number in counts.most_common(10))
        lines.append(f"there are also: {listed}" if alike else f"there are: {listed}")
    return lines


def _args(given: list[Any], wanted: Args) -> list[str]:
    if not isinstance(wanted, Mapping):
        plain = list(wanted)
        return [] if _same(plain, given) else [f"args are {_short(given)}, not {_short(plain)}"]
    if len(given) != 1 or not isinstance(given[0], dict):
        return [f"args are {_short(given)}, which names none"]
    named = given[0]
    found = [one for name, value in wanted.items() for one in _member("args", named, name, value)]
    return found + [f"args has {name} as well" for name in named if name not in wanted]


def _member(of: str, given: Mapping[str, Any], name: str, wanted: Any) -> list[str]:
    if name not in given:
        return [f"{of} has no {name}"]
    if _same(wanted, given[name]):
        return []
    return [f"{of}.{name} is {_short(given[name])}, not {_short(wanted)}"]


def _at(job: Job, wanted: Moment) -> bool:
    at = parse_moment(moment(wanted, "at"), 0)
    return job.scheduled_at is not None and parse_moment(job.scheduled_at, 0) == at


def _error(job: Job, wanted: str) -> bool:
    error = job.error if isinstance(job.error, Mapping) else {}
    return wanted == error.get("type") or wanted in str(error.get("message", ""))


def _same(wanted: Any, given: Any) -> bool:
    """Tell whether the value in a job is equal to the wanted one, once that is written as JSON."""
    if isinstance(wanted, Mapping) and isinstance(given, dict) and wanted.keys() == given.keys():
        return all(_same(value, given[name]) for name, value in wanted.items())
    if isinstance(wanted, list | tuple) and isinstance(given, list) and len(wanted) == len(given):
        return all(map(_same, wanted, given))
    if isinstance(wanted, bool) or isinstance(given, bool):
        # With == alone, True would equal 1.
        return wanted == given and (wanted is given or not isinstance(wanted, int | float))
    return bool(wanted == given) or _plain(wanted) == given


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
