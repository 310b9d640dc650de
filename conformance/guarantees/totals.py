"""The totals of a run, and the file that keeps them, so that a run can be continued."""

import os
from pathlib import Path
from typing import Final

import msgspec

from conformance.guarantees.claims import Claims
from conformance.guarantees.records import Requirement, Violation

_VERSION: Final = 1


class BadState(Exception):
    """A file of totals cannot be read or written, or is that of another run."""


class Setting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that has to be equal for counts to be added."""

    command: tuple[str, ...]
    store: tuple[str, ...]  # the commands about it, as options
    seed: int
    kinds: tuple[str, ...]
    clients: int
    operations: int
    block: int
    lease_s: float
    tolerance_s: float


class Totals(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Counts over all blocks so far."""

    version: int = _VERSION
    setting: Setting
    claims: Claims = Claims()
    backend: str = ""  # its name and version, by its manifest
    kills: dict[str, int] = {}  # by kind
    answers: int = 0  # in the 200s
    jobs: int = 0
    left: int = 0  # jobs that were still held, or waited for a retry, at the end
    kept: dict[Requirement, int] = {}
    violations: list[Violation] = []
    # The longest time that it took to work again, by kind of kill.
    slowest_s: dict[str, float] = {}
    restarts: int = 0
    stopped: str = ""  # the reason why it could not be judged to the end

    @property
    def number(self) -> int:
        """The number of kills."""
        return sum(self.kills.values())


def read_totals(path: Path, setting: Setting) -> Totals:
    """Read the totals that a run with this setting has left; without a file there are none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Totals(setting=setting)
    except OSError as error:
        raise BadState(f"cannot read {path}: {error.strerror}") from error
    try:
        found = msgspec.json.decode(content, type=Totals)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadState(f"{path} has no totals of guarantees: {error}") from error
    if found.version != _VERSION:
        raise BadState(f"{path} is of version {found.version}, and not {_VERSION}")
    for name in Setting.__struct_fields__:
        was, now = getattr(found.setting, name), getattr(setting, name)
        if was != now:
            raise BadState(f"{path} is of another run: its {name} is {was!r}, and not {now!r}")
    found.stopped = ""
    return found


def write_totals(path: Path, totals: Totals) -> None:
    """Write the totals; a file that was there is replaced at once, or not at all."""
    made = path.with_name(f"{path.name}.new")
    try:
        made.write_bytes(msgspec.json.format(msgspec.json.encode(totals)))
        os.replace(made, path)
    except OSError as error:
        raise BadState(f"cannot write {path}: {error.strerror}") from error
