"""The commands for authors of the specification."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from conformance.case import all_cases
from conformance.clauses import Spec
from conformance.commands.arguments import FAILED, PASSED, Misuse, contract_at, reports_at, spec_at
from conformance.published.defects import own_defects, pages, texts_of
from conformance.published.requirements import requirement_problems
from conformance.spec.check import check_lines
from conformance.spec.coverage import coverage, coverage_lines
from conformance.spec.data import as_json, spec_data
from conformance.spec.diff import clause_changes, contract_changes
from conformance.spec.messages import Messages
from conformance.spec.places import Published, place_problems
from conformance.spec.summary import operation_lines, summary_lines
from conformance.spec.texts.checking import text_problems
from conformance.spec.touched import Backend, Touched, backend_of, change_lines, proposal_lines
from conformance.verdicts.contract import Contract, ContractError, load_contract

_KEPT = ("spec", "openapi*.yaml")


def coverage_command(spec: Path | None) -> int:
    """List the cases of each clause; a clause without a case is a failure."""
    read = spec_at(spec)
    found = coverage(read, all_cases())
    print("\n".join(coverage_lines(read, found)))
    return FAILED if found.holes or found.problems else PASSED


def check_command(
    spec: Path | None,
    openapi: Path | None,
    published: Sequence[Path] = (),
    of: Path | None = None,
) -> int:
    """Print the problems of the specification, or of texts that are not ours; any is a failure."""
    if of is not None:
        return _check_texts(of, openapi)
    read = spec_at(spec)
    contract = contract_at(openapi)
    assert contract is not None
    lines = check_lines(read, contract, all_cases())
    if published:
        texts = Published(published)
        lines += [*place_problems(read, texts), *requirement_problems(read, texts)]
    print("\n".join(lines))
    print(f"{len(read.clauses)} clauses, {len(lines)} problems")
    return FAILED if lines else PASSED


def _check_texts(folder: Path, openapi: Path | None) -> int:
    if not folder.is_dir():
        raise Misuse(f"no such folder: {folder}")
    own = folder / "openapi.yaml"
    document = openapi or (own if own.is_file() else None)
    found = text_problems(folder, contract_at(document) if document else None)
    for kind, lines in found.items():
        print(f"{kind}: {len(lines)}")
        print("".join(f"    {line}\n" for line in lines), end="")
    return FAILED if any(found.values()) else PASSED


def diff_command(old: str, new: str, report: Sequence[Path] = ()) -> int:
    """Print the changes between two versions, and what they mean for the backends of reports."""
    with ExitStack() as stack:
        before, after = (_tree(_folder(place, stack)) for place in (old, new))
        backends = [backend_of(path, read) for path, read in reports_at(report).items()]
        print("\n".join(_diff(before, after, backends)) or "nothing changed")
    return PASSED


def _diff(
    before: tuple[Spec, Contract | None],
    after: tuple[Spec, Contract | None],
    backends: Sequence[Backend],
) -> list[str]:
    changes = list(clause_changes(before[0], after[0], after[1]))
    calls = Messages(after[1]).calls if after[1] else ()
    if before[1] is not None and after[1] is not None:
        changes += contract_changes(before[1], after[1], after[0])
    touched = Touched(all_cases(), calls)
    lines = [*summary_lines(changes, touched), ""] if changes else []
    if operations := list(operation_lines(changes)):
        lines += ["operations of the contract that changed:", *operations, ""]
    lines += [line for change in changes for line in change_lines(change, touched, backends)]
    if changes and backends and before[1] is not None and after[1] is not None:
        lines += ["", *proposal_lines((before[0], before[1]), (after[0], after[1]), backends)]
    return lines


def data_command(spec: Path | None, report: Sequence[Path]) -> int:
    """Print the specification, its cases and the verdicts of reports as JSON."""
    print(as_json(spec_data(spec_at(spec), all_cases(), reports_at(report))))
    return PASSED


def defects_command(published: Sequence[Path], to: Path, mended: Path | None = None) -> int:
    """Write a page for each published case that is defective; nothing where one does not fit."""
    read = own_defects()
    found, problems = pages(read, published)
    if problems:
        print("\n".join(problems))
        print(
            f"{len(problems)} problems: these are not the cases at {read.cases_at} and the texts "
            f"at {read.texts_at}; nothing is written"
        )
        return FAILED
    written = {to / name: text for name, text in found.items()}
    if mended is not None:
        written |= {mended / each.path: texts_of(each, published)[1] for each in read.defects}
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    print(f"{len(read.defects)} defective cases, in {to}")
    return PASSED


def _folder(place: str, stack: ExitStack) -> Path:
    """Return a folder: the one that is named, or a copy of a revision in git of this folder."""
    if Path(place).is_dir():
        return Path(place)
    listed = _git("ls-tree", "--name-only", place)
    if listed is None:
        raise Misuse(f"no such folder: {place}, and git knows no such revision here")
    names = [name for name in listed.decode().split("\n") if _is_kept(name)]
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    if names:
        archive = _git("archive", place, "--", *names)
        assert archive is not None
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
    return folder


def _is_kept(name: str) -> bool:
    return any(Path(name).match(pattern) for pattern in _KEPT)


def _git(*arguments: str) -> bytes | None:
    """Return the output of git, or None where it refuses or is missing."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout


def _tree(folder: Path) -> tuple[Spec, Contract | None]:
    spec = folder / "spec"
    read = spec_at(spec if spec.is_dir() else folder)
    for place in (folder, folder.parent):
        found = sorted(place.glob("openapi*.yaml"), key=lambda path: len(path.name))
        if found:
            try:
                return read, load_contract(*found)
            except ContractError as error:
                raise Misuse(str(error)) from error
    return read, None
