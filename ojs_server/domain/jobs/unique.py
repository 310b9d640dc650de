"""The unique policy: the key by which jobs count as duplicates, and the action on a conflict."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import Duplicate, InvalidRequest, invalid
from ojs_server.domain.fields import object_of
from ojs_server.domain.fingerprint import fingerprint
from ojs_server.domain.jobs.job import STATES, TERMINAL, Job, State, StoredJob
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.tenants.tenant import MEMBER
from ojs_server.domain.version import Version, read_version
from ojs_wire.values import format_duration, parse_duration

DIMENSIONS: Final = ("type", "queue", "args", "meta")
CONFLICTS: Final = ("reject", "replace", "replace_except_schedule", "ignore")
MEMBERS: Final = frozenset(
    {"keys", "key", "args_keys", "meta_keys", "period", "period_ms", "states", "on_conflict"}
)
UNFINISHED: Final = (
    State.AVAILABLE,
    State.ACTIVE,
    State.SCHEDULED,
    State.RETRYABLE,
    State.PENDING,
)


class _Spec(msgspec.Struct, frozen=True):
    unique: dict[str, Any] | None = None
    # Any type: jobs stored before versions were checked may have anything here.
    version: Any = None
    # A version set by routing does not count: equal jobs stay equal.
    version_routed: Any = None


_spec: Final = msgspec.json.Decoder(_Spec)


class UniquePolicy(msgspec.Struct, frozen=True):
    """A checked policy. If `states` is empty, it covers the states that are not final."""

    keys: tuple[str, ...] = ("type",)
    on_conflict: str = "reject"
    args_keys: tuple[str, ...] = ()
    meta_keys: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    period_ms: int | None = None

    def as_wire(self) -> dict[str, Any]:
        """Return the policy in canonical form, without defaults."""
        period = None if self.period_ms is None else format_duration(self.period_ms)
        wire: dict[str, Any] = {"keys": self.keys, "on_conflict": self.on_conflict}
        rest = {
            "args_keys": self.args_keys,
            "meta_keys": self.meta_keys,
            "states": self.states,
            "period": period,
        }
        return wire | {name: value for name, value in rest.items() if value}


class Unique(msgspec.Struct, frozen=True):
    """The key that identifies duplicates of a new job, and the action if there is one."""

    key: bytes
    on_conflict: str
    states: tuple[str, ...] = UNFINISHED
    period_ms: int | None = None

    def conflict(self, jobs: Sequence[Job], now: int) -> Job | None:
        """Return the job that the new one conflicts with: the newest unfinished, else the
        newest."""
        found = [job for job in jobs if job.state in self.states and self._recent(job, now)]
        # Of equally new jobs the last one: a batch appends its own jobs.
        return max(
            reversed(found),
            key=lambda job: (job.state not in TERMINAL, job.created_at),
            default=None,
        )

    def refusal(self, existing: Job, index: int | None) -> Duplicate:
        """Return the error of `reject`; `index` is the new job's index in its batch."""
        where = "" if index is None else f"jobs[{index}]: "
        return Duplicate(
            f"{where}a job with the same unique key exists: {existing.id}, {existing.state}",
            details={
                **({} if index is None else {"index": index}),
                "existing_job_id": existing.id,
                "existing_job_state": existing.state,
                "uniqueness_key": self.key.hex(),
            },
        )

    def refusal_within(self, index: int, existing: int) -> Duplicate:
        """Return the error for a batch that contains the same job twice."""
        return Duplicate(
            f"jobs[{index}] duplicates jobs[{existing}] by its unique policy",
            details={
                "index": index,
                "existing_index": existing,
                "uniqueness_key": self.key.hex(),
            },
        )

    def _recent(self, job: Job, now: int) -> bool:
        return self.period_ms is None or now < job.created_at + self.period_ms


def unique_of(
    policy: UniquePolicy,
    job_type: str,
    queue: str,
    args: Sequence[Any],
    meta: Mapping[str, Any],
    version: Version | None = None,
) -> Unique:
    """Compute the fingerprint that a policy asks for; it always covers type, version and tenant."""
    chosen: dict[str, Any] = {"type": job_type}
    if version is not None:
        chosen["version"] = str(version)
    if (tenant := meta.get(MEMBER)) is not None:
        chosen["tenant"] = tenant
    if "queue" in policy.keys:
        chosen["queue"] = queue
    if "args" in policy.keys:
        chosen["args"] = _named(args, policy.args_keys) if policy.args_keys else list(args)
    if "meta" in policy.keys:
        chosen["meta"] = {name: meta[name] for name in policy.meta_keys if name in meta}
    return Unique(
        key=fingerprint(chosen),
        on_conflict=policy.on_conflict,
        states=policy.states or UNFINISHED,
        period_ms=policy.period_ms,
    )


def parse_unique(value: object) -> UniquePolicy | None:
    """Check a policy; `key` and `use_existing` are synonyms."""
    given = object_of("unique", value)
    if given is None:
        return None
    # Both spellings are checked, although only one counts.
    keys, key = _dimensions("keys", given), _dimensions("key", given)
    chosen = (key if given.get("keys") is None else keys) or ("type",)
    args_keys = _names("args_keys", given.get("args_keys"), None)
    meta_keys = _names("meta_keys", given.get("meta_keys"), None)
    if "meta" in chosen and not meta_keys:
        raise invalid("unique.meta_keys", 'must name at least one key when `keys` holds "meta"')
    # Naming the keys of a dimension includes that dimension.
    named = {"args": args_keys, "meta": meta_keys}
    chosen += tuple(name for name, parts in named.items() if parts and name not in chosen)
    return UniquePolicy(
        keys=chosen,
        on_conflict=_on_conflict(given.get("on_conflict")),
        args_keys=args_keys,
        meta_keys=meta_keys,
        states=_names("states", given.get("states"), STATES),
        period_ms=_period(given),
    )


def _named(args: Sequence[Any], names: Iterable[str]) -> dict[str, Any]:
    found = next((item for item in args if isinstance(item, dict)), None)
    if found is None:
        raise invalid("unique.args_keys", "uses the first object of `args`, but there is none")
    for name in names:
        if name not in found:
            raise invalid(
                "unique.args_keys",
                f"names {name[:100]!r}, which the first object of `args` does not have",
            )
    return {name: found[name] for name in names}


def policy_of(job: Job) -> UniquePolicy | None:
    """Return the policy that a job was enqueued with."""
    return parse_unique(_spec.decode(job.spec).unique)


def in_queue(stored: StoredJob, queue: str) -> StoredJob:
    """Return the job moved to another queue, with its fingerprint for that queue."""
    return refingerprinted(
        msgspec.structs.replace(stored, job=msgspec.structs.replace(stored.job, queue=queue))
    )


def refingerprinted(stored: StoredJob) -> StoredJob:
    """Return a job with a new fingerprint, after a change of members that its policy compares."""
    if stored.unique_key is None:
        return stored
    spec = _spec.decode(stored.job.spec)
    if (policy := parse_unique(spec.unique)) is None:
        return stored
    args, meta = msgspec.json.decode(stored.args), msgspec.json.decode(stored.meta)
    version = None if spec.version_routed else read_version(spec.version)
    key = unique_of(policy, stored.job.type, stored.job.queue, args, meta, version).key
    return msgspec.structs.replace(stored, unique_key=key)


def _dimensions(member: str, given: dict[str, Any]) -> tuple[str, ...]:
    value = given.get(member)
    return _names(member, [value] if isinstance(value, str) else value, DIMENSIONS)


def _names(member: str, value: object, known: tuple[str, ...] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    field = f"unique.{member}"
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise invalid(field, "must be an array of non-empty strings")
    if len(value) > 50:
        raise invalid(field, "must hold at most 50 names")
    for item in value:
        if known is not None and item not in known:
            raise invalid(
                field, f"holds {item[:100]!r}; allowed: {', '.join(known)}{nearest(item, known)}"
            )
    return tuple(dict.fromkeys(value))


def _on_conflict(value: object) -> str:
    if value is None:
        return "reject"
    if value == "use_existing":
        return "ignore"
    if not isinstance(value, str) or value not in CONFLICTS:
        raise invalid(
            "unique.on_conflict",
            f"must be one of {', '.join(CONFLICTS)}{nearest(value, CONFLICTS)}",
        )
    return value


def _period(given: dict[str, Any]) -> int | None:
    found: list[int] = []
    for member, unit in (("period", None), ("period_ms", 1)):
        value = given.get(member)
        if value is None:
            continue
        try:
            period = parse_duration(value, unit)
        except ValueError as error:
            raise invalid(f"unique.{member}", str(error)) from None
        if period <= 0:
            raise _zero(member)
        found.append(period)
    return found[0] if found else None


def _zero(member: str) -> InvalidRequest:
    return invalid(f"unique.{member}", "must be longer than zero")
