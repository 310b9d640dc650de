"""Features that a server's manifest claims; cases about others are skipped."""

import re
from collections.abc import Iterable

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
_SPEC_REF = re.compile(r"ojs-([a-z0-9-]+)")


class Features(msgspec.Struct, frozen=True):
    """The parts of the manifest that decide which cases are judged."""

    known: bool = False
    level: int | None = None
    capabilities: dict[str, bool] = {}
    extensions: frozenset[str] = frozenset()

    def has(self, names: Iterable[str]) -> bool:
        """Tell whether one of these capabilities is claimed; without a manifest all are."""
        return not self.known or any(self.capabilities.get(name, False) for name in names)

    def lacks(self, file: CaseFile) -> str | None:
        """Return the claim that is missing for a published case; None if it can be judged."""
        if names := _extension_names_of(file):
            claimed = not self.extensions.isdisjoint(names)
            return None if claimed else f"extension {names[0]} not claimed"
        if not self.known or file.level is None:
            return None
        expected = _BY_CATEGORY.get(file.case.category if file.case else "", ())
        if any(name in self.capabilities for name in expected):
            return None if self.has(expected) else f"capability {expected[0]} not claimed"
        return self.lacks_level(file.level)

    def lacks_level(self, level: int) -> str | None:
        """Return a message if a level is not claimed; None if it is, or if nothing is known."""
        if self.level is None or self.level >= level:
            return None
        return f"level {level} not claimed; the manifest says {self.level}"


def read_features(manifest: object) -> Features:
    """Read a manifest in any of its published shapes; anything else claims nothing special."""
    if not isinstance(manifest, dict) or "specversion" not in manifest:
        return Features()
    level = manifest.get("conformance_level")
    capabilities = manifest.get("capabilities")
    return Features(
        known=True,
        level=level if isinstance(level, int) and not isinstance(level, bool) else None,
        capabilities={
            name: bool(value)
            for name, value in (capabilities if isinstance(capabilities, dict) else {}).items()
        },
        extensions=frozenset(_extension_names(manifest.get("extensions"))),
    )


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
