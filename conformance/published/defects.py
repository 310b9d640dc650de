"""Published cases that an honest server cannot pass, or that check nothing, from `defects.yaml`."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import yaml

from conformance.published.edits import BadEdit, Edit, edited
from conformance.sources import Place, place_of
from conformance.spec.places import Published, file_of

INDEX: Final = "README.md"


class Defect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case: what is wrong with it, what an honest server does, the places, and the edits."""

    id: str
    path: str  # below `suites/`
    wrong: str
    honest: str
    against: list[str]
    edits: list[Edit]


class Defects(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All defective cases, and what each place that one contradicts says."""

    cases_at: str  # the commit of the published cases
    texts_at: str  # the commit of the published texts
    places: dict[str, str]
    left_out: list[str]
    defects: list[Defect]


@cache
def own_defects() -> Defects:
    """Return the defects that come with the suite."""
    return read_defects((Path(__file__).parent / "defects.yaml").read_text("utf-8"))


def read_defects(text: str) -> Defects:
    """Read the defects of a YAML text, sorted by id."""
    read = msgspec.convert(yaml.safe_load(text), Defects)
    ordered = sorted(read.defects, key=lambda defect: defect.id)
    return msgspec.structs.replace(read, defects=ordered)


def pages(read: Defects, folders: Sequence[Path]) -> tuple[dict[str, str], list[str]]:
    """Return the pages by name, and the problems: cases and places that no longer fit."""
    found, problems = {INDEX: index_page(read)}, place_problems(read, Published(folders))
    for defect in read.defects:
        try:
            old, new = texts_of(defect, folders)
        except BadEdit as error:
            problems.append(f"{defect.id}: {defect.path}: {error}")
        else:
            found[page_name(defect)] = f"{head(read, defect)}{patch(defect.path, old, new)}```\n"
    return found, problems


def texts_of(defect: Defect, folders: Iterable[Path]) -> tuple[str, str]:
    """Return a published case as it is and as it is mended; BadEdit where it does not fit."""
    paths = [folder / "suites" / defect.path for folder in folders]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise BadEdit("there is no such file below suites/ of the given folders")
    old = new = path.read_text("utf-8")
    for edit in defect.edits:
        new = edited(new, edit)
    return old, new


def place_problems(read: Defects, published: Published) -> list[str]:
    """Return the places that are not in the published texts."""
    found = ((source, place_of(source)) for source in read.places)
    return [
        f"{source}: {problem}"
        for source, place in found
        if (problem := published.problem(place) if place else "is no place")
    ]


def page_name(defect: Defect) -> str:
    """Return the file name of the page of a defective case."""
    return f"{defect.id}.md"


def head(read: Defects, defect: Defect) -> str:
    """Return the page of a defective case up to its patch, which needs the published case."""
    return (
        f"# {defect.id}\n\n"
        f"`suites/{defect.path}` of openjobspec/ojs-conformance at {read.cases_at}.\n\n"
        f"**What is wrong.** {defect.wrong}\n\n"
        f"**An honest server.** {defect.honest}\n\n"
        "**Contradicts.**\n\n"
        f"{''.join(_place_lines(read.places, defect.against))}\n"
        "**Patch.**\n\n"
        "```diff\n"
    )


def index_page(read: Defects) -> str:
    """Return the index of the pages."""
    rows = "".join(
        f"| [{defect.id}]({page_name(defect)}) | `{defect.path}` | {defect.wrong} |\n"
        for defect in read.defects
    )
    left_out = "".join(f"- {line}\n" for line in read.left_out)
    return (
        "# Published cases with defects\n\n"
        f"These {len(read.defects)} cases of openjobspec/ojs-conformance at {read.cases_at} "
        "contradict their own input, another case,\n"
        f"the case language, or a published text (openjobspec/spec at {read.texts_at}). An honest "
        "server fails them,\n"
        "a wrong one passes them, or two have the same id. Each page has a patch that mends the "
        "case, to be offered upstream.\n\n"
        "Made by `ojs-conformance spec defects` from `conformance/published/defects.yaml`: change "
        "that and run it again.\n\n"
        f"| Case | File | What is wrong |\n|---|---|---|\n{rows}\n## Left out\n\n{left_out}"
    )


def patch(path: str, old: str, new: str) -> str:
    """Return the difference of two texts as a unified diff."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        new.splitlines(keepends=True),
        f"a/suites/{path}",
        f"b/suites/{path}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _place_lines(places: Mapping[str, str], against: Iterable[str]) -> Iterable[str]:
    for source in against:
        place = place_of(source)
        assert place is not None
        yield f"- {_where(place)}: {places[source]}.\n"


def _where(place: Place) -> str:
    if place.case:
        return f"case {place.case}"
    section = f"section {place.section}, " if place.section else ""
    return f"`{file_of(place.text)}`, {section}line {place.line}"
