"""Provenance of a report: version of the suite, hash of its cases, environment, seed."""

import hashlib
import inspect
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

import msgspec

from conformance.case import OwnCase
from conformance.language.model import CaseFile


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Facts on which verdicts depend, beside the program that was judged."""

    version: str  # 0 in a checkout that was never installed
    cases: str  # SHA-256 of the cases that were chosen
    python: str
    system: str
    seed: int | None = None  # of the order or the kills

    def __str__(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"suite {self.version}, cases {self.cases[:12]}{seed}, {self.system}"


def provenance_of(
    own: Iterable[OwnCase], files: Iterable[CaseFile] = (), seed: int | None = None
) -> Provenance:
    """Return the identity of a run of these cases."""
    return Provenance(
        version=_version(),
        cases=_hash(own, files),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        seed=seed,
    )


def _hash(own: Iterable[OwnCase], files: Iterable[CaseFile]) -> str:
    """Hash the names of cases, the modules that they are in, and the files of other ones."""
    chosen = sorted(own, key=lambda case: case.id)
    made = hashlib.sha256()
    for case in chosen:
        made.update(f"{case.id} {' '.join(case.clauses)}\n".encode())
    modules = {case.module for case in chosen}
    for source in sorted(inspect.getsource(sys.modules[module]) for module in modules):
        made.update(source.encode())
    # Wherever they are: a report of the same cases from another folder has the same hash.
    for name, text in sorted((file.test_id, bytes(file.raw)) for file in files):
        made.update(f"{name} {len(text)}\n".encode() + text)
    return made.hexdigest()


def _version() -> str:
    try:
        return version("ojs-reference")
    except PackageNotFoundError:
        return "0"
