"""The commands for authors of the specification."""

from pathlib import Path

from conformance.case import all_cases
from conformance.commands import FAILED, PASSED, contract_at, spec_at
from conformance.contract import Contract
from conformance.spec.check import check_lines
from conformance.spec.clauses import Spec
from conformance.spec.diff import contract_lines, diff_lines


def check_command(spec: Path | None, openapi: Path | None) -> int:
    """Print the problems of the specification; any is a failure."""
    read = spec_at(spec)
    lines = check_lines(read, _contract(openapi), all_cases())
    print("\n".join(lines))
    print(f"{len(read.clauses)} clauses, {len(lines)} problems")
    return FAILED if lines else PASSED


def diff_command(old: Path, new: Path) -> int:
    """Print the changes between two folders of clauses, or two trees that hold spec/."""
    before, after = _tree(old), _tree(new)
    lines = diff_lines(before[0], after[0], all_cases())
    if before[1] is not None and after[1] is not None:
        lines += contract_lines(before[1], after[1])
    print("\n".join(lines) or "nothing changed")
    return PASSED


def _tree(folder: Path) -> tuple[Spec, Contract | None]:
    spec = folder / "spec"
    read = spec_at(spec if spec.is_dir() else folder)
    for place in (folder / "openapi.yaml", folder.parent / "openapi.yaml"):
        if place.is_file():
            return read, _contract(place)
    return read, None


def _contract(path: Path | None) -> Contract:
    read = contract_at(path)
    assert read is not None
    return read
