"""The filter of job lists and of bulk calls."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.fields import PRIORITIES, is_job_type, parse_queue
from ojs_server.domain.jobs.dead_letter import error_type_of
from ojs_server.domain.jobs.job import STATES, Job, State
from ojs_server.domain.suggestions import nearest, refuse_unknown_of_many
from ojs_server.domain.tenants.tenant import scoped
from ojs_wire import codec
from ojs_wire.values import MAX_NAME, kind_of, parse_duration, parse_timestamp

MEMBERS: Final = frozenset(
    {
        "queue",
        "type",
        "state",
        "states",
        "priority",
        "since",
        "until",
        "enqueued_after",
        "enqueued_before",
        "older_than",
        "error_type",
        "meta",
        "id_prefix",
        "tag",
        "text",
        "worker_id",
    }
)
MAX_META_MEMBERS: Final = 20
# Shorter texts match nearly every job, and their search cannot use an index.
TEXT_LENGTHS: Final = (2, 255)
_ID_PREFIX: Final = re.compile("[0-9a-f][0-9a-f-]{0,35}")
_object = msgspec.json.Decoder(dict[str, Any])


class JobFilter(msgspec.Struct, frozen=True):
    """All that is given must hold. `since` counts in, `until` does not.

    Dead letters are filtered by when they were discarded (`ended`), others by when they were made.
    `unique` is for lists: jobs that have a unique policy and have not ended. `text` is looked for
    in the JSON of `args` and `meta`, letter by letter. `worker_id` is that of the worker that holds
    the job now.
    """

    queue: str | None = None
    type: str | None = None
    prefix: str | None = None
    states: tuple[str, ...] = ()
    priority: int | None = None
    since: int | None = None
    until: int | None = None
    ended: bool = False
    error_type: str | None = None
    meta: dict[str, Any] | None = None
    tenant: str | None = None
    unique: bool = False
    id_prefix: str | None = None
    tag: str | None = None
    text: str | None = None
    worker_id: str | None = None

    @property
    def simple(self) -> bool:
        """True if the queue counters alone can tell how many jobs match."""
        rest = (self.type, self.prefix, self.priority, self.since, self.until)
        search = (self.id_prefix, self.tag, self.text, self.worker_id)
        given = any(
            criterion is not None for criterion in (*rest, *search, self.error_type, self.meta)
        )
        return not given and not self.unique

    def matches(self, job: Job) -> bool:
        """True if a job matches, apart from tenant, `meta`, tags, text and worker, which are
        checked separately."""
        moment = job.finished_at if self.ended else job.created_at
        return (
            (self.queue is None or job.queue == self.queue)
            and (self.type is None or job.type == self.type)
            and (self.prefix is None or job.type.startswith(self.prefix))
            and (not self.states or job.state in self.states)
            and (self.priority is None or job.priority == self.priority)
            and (self.since is None or (moment is not None and moment >= self.since))
            and (self.until is None or (moment is not None and moment < self.until))
            and (
                self.error_type is None
                or (job.state == State.DISCARDED and error_type_of(job) == self.error_type)
            )
        )

    def matches_meta(self, meta: bytes) -> bool:
        """True if a job's `meta` has all the requested members with equal values."""
        if self.meta is None:
            return True
        given = _object.decode(meta)
        # Not ==, for which true equals 1.
        return all(
            name in given and codec.canonical(given[name]) == codec.canonical(value)
            for name, value in self.meta.items()
        )

    def matches_tags(self, spec: bytes) -> bool:
        """True if a job has the requested tag in its enqueue options."""
        return self.tag is None or self.tag in (_object.decode(spec).get("tags") or ())


def parse_filter(
    given: Mapping[str, Any],
    now: int,
    *,
    where: str = "filter.",
    states: tuple[str, ...] = (),
    allowed: Iterable[str] = STATES,
    ended: bool = False,
    tenant: str | None = None,
    unique: bool = False,
    any_type: bool = False,
) -> JobFilter:
    """Check a filter; `states` are its default.

    An unknown member is always refused: ignoring it would make the filter match more jobs.
    """
    refuse_unknown_of_many(where, given, MEMBERS)
    queue = _text(given, "queue", where)
    worker_id = _text(given, "worker_id", where)
    job_type, prefix = _type(given, where, any_type)
    since = [_moment(given, name, where) for name in ("since", "enqueued_after")]
    until = [_moment(given, name, where) for name in ("until", "enqueued_before")]
    until.append(_age(given, now, where))
    return JobFilter(
        queue=None if queue is None else parse_queue(f"{where}queue", queue),
        type=job_type,
        prefix=prefix,
        states=_states(given, where, tuple(allowed)) or states,
        priority=_priority(given, where),
        since=max((at for at in since if at is not None), default=None),
        until=min((at for at in until if at is not None), default=None),
        ended=ended,
        error_type=_text(given, "error_type", where),
        meta=_meta(given, where),
        tenant=tenant,
        unique=unique,
        id_prefix=_id_prefix(given, where),
        tag=_text(given, "tag", where),
        text=_searched(given, where),
        worker_id=None if worker_id is None else scoped(tenant, worker_id),
    )


def from_query(query: Mapping[str, str], members: Iterable[str]) -> dict[str, Any]:
    """Return the members of a filter in a query string; empty ones count as absent."""
    given: dict[str, Any] = {name: query[name] for name in members if query.get(name)}
    priority = given.get("priority")
    if priority is not None and len(priority) < 9 and priority.removeprefix("-").isdecimal():
        given["priority"] = int(priority)
    return given


def _text(given: Mapping[str, Any], name: str, where: str) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
        raise invalid(f"{where}{name}", f"must be a text of 1 to {MAX_NAME} characters")
    return value


def _id_prefix(given: Mapping[str, Any], where: str) -> str | None:
    value = _text(given, "id_prefix", where)
    if value is not None and not _ID_PREFIX.fullmatch(value := value.lower()):
        raise invalid(f"{where}id_prefix", "must be the beginning of a job id, like 01a1f0c0")
    return value


def _searched(given: Mapping[str, Any], where: str) -> str | None:
    value = _text(given, "text", where)
    least, most = TEXT_LENGTHS
    if value is not None and len(value) < least:
        raise invalid(f"{where}text", f"must be a text of {least} to {most} characters")
    return value


def _type(given: Mapping[str, Any], where: str, any_type: bool) -> tuple[str | None, str | None]:
    """Return an exact type, or the prefix before a trailing `*`."""
    value = _text(given, "type", where)
    if value is None:
        return None, None
    whole = value.removesuffix("*")
    # A prefix may end anywhere, even behind a dot or a hyphen.
    if not is_job_type(whole + "x" if value != whole else whole, any_type=any_type):
        raise invalid(f"{where}type", "must be a job type, like email.send, or email.* for many")
    return (None, whole) if value != whole else (value, None)


def _states(given: Mapping[str, Any], where: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for name in ("state", "states"):
        value = given.get(name)
        if value is None:
            continue
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list) or not items:
            raise invalid(f"{where}{name}", "must be a state or an array of states")
        for item in items:
            if item not in allowed:
                text = item[:100] if isinstance(item, str) else kind_of(item)
                raise invalid(
                    f"{where}{name}",
                    f"holds {text!r}; allowed: {', '.join(allowed)}{nearest(item, allowed)}",
                    allowed=list(allowed),
                )
            found.append(item)
    return tuple(dict.fromkeys(found))


def _moment(given: Mapping[str, Any], name: str, where: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        if not isinstance(value, str):
            raise ValueError(f"must be a timestamp, not {kind_of(value)}")
        return parse_timestamp(value)
    except ValueError as error:
        raise invalid(f"{where}{name}", str(error)) from None


def _age(given: Mapping[str, Any], now: int, where: str) -> int | None:
    """Parse `older_than`: an age, or the moment before which the time must be."""
    value = given.get("older_than")
    if value is None:
        return None
    if isinstance(value, str) and value[:1].isdigit() and "T" in value:
        return _moment(given, "older_than", where)
    try:
        return now - parse_duration(value, 1000)
    except ValueError as error:
        raise invalid(f"{where}older_than", str(error)) from None


def _priority(given: Mapping[str, Any], where: str) -> int | None:
    value = given.get("priority")
    if value is None:
        return None
    lowest, highest = PRIORITIES
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise invalid(f"{where}priority", f"must be an integer from {lowest} to {highest}")
    return value


def _meta(given: Mapping[str, Any], where: str) -> dict[str, Any] | None:
    value = given.get("meta")
    if value is None:
        return None
    if not isinstance(value, dict) or not 0 < len(value) <= MAX_META_MEMBERS:
        raise invalid(f"{where}meta", f"must be an object of 1 to {MAX_META_MEMBERS} members")
    return value
