"""Match jobs to workers by version and runtime tags.

A job may have a version, and its `meta` may name runtime tags that it needs. A worker that declares
no handlers or no tags is not restricted by them.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.fields import is_job_type, object_of
from ojs_server.domain.version import Version, parse_range, parse_version, within
from ojs_wire.calls import HandlerTerms
from ojs_wire.codec import encode

# The member of `meta` that names the runtime a job needs.
RUNTIME: Final = "ojs.ext_runtime"
MAX_TAGS: Final = 16
_TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}", re.ASCII)


class Demand(msgspec.Struct, frozen=True, array_like=True):
    """The requirements that jobs of one kind have of a worker."""

    type: str
    version: str | None
    tags: tuple[str, ...]


class Ability(msgspec.Struct, frozen=True):
    """The handlers and tags that a worker has declared; None for each it has not declared."""

    handlers: tuple[HandlerTerms, ...] | None = None
    tags: tuple[str, ...] | None = None

    def meets(self, demand: Demand) -> bool:
        """True if this worker fulfils the requirements."""
        if self.tags is not None and not set(demand.tags).issubset(self.tags):
            return False
        if self.handlers is None or demand.version is None:
            return True
        version = parse_version("version", demand.version)
        return any(
            handler.type == demand.type and within(version, parse_range("", handler.versions))
            for handler in self.handlers
        )


class _Profile(msgspec.Struct, frozen=True):
    handlers: tuple[HandlerTerms, ...] | None = None


_demand: Final = msgspec.json.Decoder(Demand)
_profile: Final = msgspec.json.Decoder(_Profile)


def demand_of(job_type: str, version: Version | None, meta: Mapping[str, Any]) -> str | None:
    """Return the requirements of a job as they are stored; None if every worker may run it."""
    tags = parse_runtime(f"meta.{RUNTIME}", meta.get(RUNTIME)) if meta else ()
    if version is None and not tags:
        return None
    return encode(Demand(job_type, None if version is None else str(version), tags)).decode()


@lru_cache(maxsize=4096)
def read_demand(text: str) -> Demand:
    """Decode stored requirements."""
    return _demand.decode(text)


def may_run(ability: Ability | None, demand: str | None) -> bool:
    """True if the worker's abilities meet the job's requirements; None restricts nothing."""
    return ability is None or demand is None or ability.meets(read_demand(demand))


def parse_runtime(field: str, given: object) -> tuple[str, ...]:
    """Return the tags of a runtime, in their order."""
    tags = (object_of(field, given) or {}).get("tags")
    if tags is None:
        return ()
    if not isinstance(tags, list) or len(tags) > MAX_TAGS:
        raise invalid(f"{field}.tags", f"must be an array of at most {MAX_TAGS} tags")
    if not all(isinstance(tag, str) and _TAG.fullmatch(tag) for tag in tags):
        raise invalid(
            f"{field}.tags",
            "must hold texts of letters, digits and `._:/-`, at most 64 characters each",
        )
    return tuple(sorted(set(tags)))


def check_handlers(handlers: Iterable[HandlerTerms], *, any_type: bool) -> None:
    """Check the handlers that a worker declares."""
    for place, handler in enumerate(handlers):
        if not is_job_type(handler.type, any_type=any_type):
            raise invalid(f"handlers[{place}].type", "must be a job type, like email.send")
        parse_range(f"handlers[{place}].versions", handler.versions)


def ability_of(profile: bytes | None, tags: tuple[str, ...] | None) -> Ability | None:
    """Return a worker's abilities: its declared handlers, and the tags that its FETCH names."""
    handlers = None
    # Few workers declare handlers, and every FETCH gets here.
    if profile is not None and b'"handlers"' in profile:
        handlers = _handlers(profile)
    return None if handlers is None and tags is None else Ability(handlers, tags)


@lru_cache(maxsize=1024)
def _handlers(profile: bytes) -> tuple[HandlerTerms, ...] | None:
    return _profile.decode(profile).handlers
