"""Features that a server's manifest claims; cases about others are skipped."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeGuard

import msgspec

from conformance.language.model import CaseFile

# Published folders of level 4 and the capability that each is about, under all its names.
_BY_CATEGORY: dict[str, tuple[str, ...]] = {
    "delay": ("delayed_jobs",),
    "ttl": ("job_ttl",),
    "cron": ("cron_jobs", "cron"),
    "chain": ("workflows",),
    "group": ("workflows",),
    "batch": ("workflows",),
    "priority": ("priority_queues",),
    "unique": ("unique_jobs",),
    "bulk": ("batch_enqueue",),
    "rate-limit": ("rate_limiting",),
    "queue-ops": ("pause_resume",),
}
_LABS = ("agent", "attest", "wasi")
_LEVELS = frozenset("01234")
# Capabilities of the five levels, by the level that has them unless the manifest says otherwise.
LEVEL_OF: Final = {
    "cron_jobs": 2,
    "cron": 2,
    "delayed_jobs": 2,
    "job_ttl": 2,
    "workflows": 3,
    "batch_enqueue": 4,
    "pause_resume": 4,
    "priority_queues": 4,
    "unique_jobs": 4,
}
# Extensions of another name than their capability.
_EXTENSION_OF: Final[dict[str, tuple[str, ...]]] = {
    "batch_enqueue": ("bulk-operations",),
    "checkpoints": ("durable-execution",),
    "event_streams": ("realtime",),
    "job_result": ("results",),
    "schema_validation": ("schema-registry",),
    "websocket": ("realtime",),
}
# A manifest has at least one of these members.
_MARKS = frozenset({"specversion", "ojs_version", "conformance_level", "capabilities", "levels"})
_SPEC_REF = re.compile(r"ojs-([a-z0-9-]+)")


class Features(msgspec.Struct, frozen=True):
    """The parts of the manifest that decide which cases are judged; what cannot be read, is."""

    known: bool = False
    level: int | None = None
    capabilities: dict[str, bool] | None = None
    extensions: frozenset[str] = frozenset()

    def has(self, names: Iterable[str]) -> bool:
        """Tell whether one of these capabilities is claimed; without a manifest all are."""
        return not self.known or any(map(self._has, names))

    def _has(self, name: str) -> bool:
        if self.capabilities and name in self.capabilities:
            return self.capabilities[name]
        if not self.extensions.isdisjoint(_extensions_of(name)):
            return True
        if name in LEVEL_OF:
            return not self.lacks_level(LEVEL_OF[name])
        return self.capabilities is None

    def lacks(self, file: CaseFile) -> str | None:
        """Return the claim that is missing for a published case; None if it can be judged."""
        if names := _extension_names_of(file):
            claimed = not self.extensions.isdisjoint(names)
            return None if claimed else f"extension {names[0]} not claimed"
        if not self.known or file.level is None:
            return None
        expected = _BY_CATEGORY.get(file.case.category if file.case else "", ())
        if self.capabilities and any(name in self.capabilities for name in expected):
            return None if self.has(expected) else f"capability {expected[0]} not claimed"
        return self.lacks_level(file.level)

    def lacks_level(self, level: int) -> str | None:
        """Return a message if a level is not claimed; None if it is, or if nothing is known."""
        if self.level is None or self.level >= level:
            return None
        return f"level {level} not claimed; the manifest says {self.level}"

    def __str__(self) -> str:
        if not self.known:
            return "the manifest cannot be read, so nothing is left out for a missing claim"
        level = "no level" if self.level is None else f"level {self.level}"
        if self.capabilities is None:
            claimed = "capabilities that cannot be read"
        else:
            claimed = f"{sum(self.capabilities.values())} capabilities"
        return f"the manifest claims {level}, {claimed} and {len(self.extensions)} extensions"


def read_features(manifest: object) -> Features:
    """Read a manifest in any of its published forms; anything else claims nothing special."""
    if not isinstance(manifest, dict) or _MARKS.isdisjoint(manifest):
        return Features()
    return Features(
        known=True,
        level=_level(manifest),
        capabilities=_capabilities(manifest),
        extensions=frozenset(_extension_names(manifest.get("extensions"))),
    )


def backend_name(implementation: object) -> str:
    """Return the name and version of a backend, by that member of its manifest; empty without."""
    if not isinstance(implementation, Mapping):
        return ""
    return " ".join(str(part) for key in ("name", "version") if (part := implementation.get(key)))


def _level(manifest: Mapping[str, object]) -> int | None:
    """Return the highest level of a manifest that names it, or lists the levels."""
    for name in ("conformance_level", "level", "conformance_levels", "levels"):
        given = manifest.get(name)
        found = [
            each for each in (given if isinstance(given, list) else [given]) if _is_level(each)
        ]
        if found:
            return max(map(int, found))
    return None


def _is_level(value: object) -> TypeGuard[int | str]:
    return str(value) in _LEVELS and not isinstance(value, bool)


def _capabilities(manifest: Mapping[str, object]) -> dict[str, bool] | None:
    """Return the capabilities of a manifest that has flags, or a list of names; None where it has
    another form."""
    given = manifest.get("capabilities", {})
    if isinstance(given, dict):
        return {_spelled(name): bool(value) for name, value in given.items()}
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        return dict.fromkeys(map(_spelled, given), True)
    return None


def _spelled(capability: str) -> str:
    return capability.replace("-", "_")


def _extensions_of(capability: str) -> set[str]:
    """Return the names of the extension that has a capability."""
    return {capability.replace("_", "-"), *_EXTENSION_OF.get(capability, ())}


def _extension_names(extensions: object) -> Iterable[str]:
    if isinstance(extensions, dict):
        for members in extensions.values():
            yield from _extension_names(members)
    elif isinstance(extensions, list):
        for member in extensions:
            if isinstance(member, dict):
                yield from (
                    _short(str(member[key])) for key in ("name", "uri", "urn") if key in member
                )
            elif isinstance(member, str):
                yield _short(member)


def _short(name: str) -> str:
    return name.rpartition(":")[2].removeprefix("ext-")


def _extension_names_of(file: CaseFile) -> list[str]:
    """Return the names that the extension of a case may have; none for a case of a level."""
    case = file.case
    if case is None:
        return []
    if case.category not in _LABS and not file.test_id.startswith("EXT-"):
        return []
    found = _SPEC_REF.match(str(case.spec_ref))
    names = [case.category, *([found[1]] if found else [])]
    return [name.removeprefix("ext-") for name in names]
