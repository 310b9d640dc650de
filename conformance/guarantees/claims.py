"""The claims of a manifest about disaster recovery: the extension, and what it declares."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from conformance.verdicts.features import read_features

EXTENSION: Final = "disaster-recovery"
DETAILS: Final = "disaster_recovery"
Declaration = Literal["DR-004", "DR-005", "DR-007"]
# By requirement: the member, and its values.
DECLARATIONS: Final[Mapping[Declaration, tuple[str, tuple[Any, ...]]]] = {
    "DR-004": ("durability_level", (0, 1, 2)),
    "DR-005": ("ha_mode", ("none", "active-passive", "active-active")),
    "DR-007": ("replication_mode", ("synchronous", "asynchronous")),
}
_DEEPEST: Final = 4


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a manifest that says what survives."""

    readable: bool = False
    listed: bool = False  # the extension is listed
    declared: dict[str, Any] = {}

    @property
    def level(self) -> int | None:
        """The durability level that is declared; None if there is none."""
        level = self.declared.get("durability_level")
        return level if level in (0, 1, 2) and not isinstance(level, bool) else None

    def __str__(self) -> str:
        if not self.readable:
            return "the manifest cannot be read"
        lists = "lists" if self.listed else "does not list"
        given = ", ".join(f"{name} {value!r}" for name, value in sorted(self.declared.items()))
        return f"the manifest {lists} {EXTENSION} and declares {given or 'nothing about it'}"


def read_claims(manifest: object) -> Claims:
    """Read a manifest in any of its published forms."""
    features = read_features(manifest)
    details = next(_details(manifest, 0), {})
    names = {name for name, _ in DECLARATIONS.values()} | {"backup_format"}
    return Claims(
        readable=features.known,
        listed=EXTENSION in features.extensions,
        declared={name: details[name] for name in names if name in details},
    )


def _details(value: object, depth: int) -> Iterator[dict[str, Any]]:
    """Yield the details of the extension, wherever they stand among those of the extensions."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    for name, inner in value.items():
        if not isinstance(inner, dict):
            continue
        if name == DETAILS or name.rpartition(":")[2] == EXTENSION:
            yield inner
        else:
            yield from _details(inner, depth + 1)
