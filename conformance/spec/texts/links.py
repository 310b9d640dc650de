"""Finds links, files and sections that texts name and that are not there."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from conformance.spec.texts.page import Page

_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_ELSEWHERE: Final = re.compile(r"[a-z]+:")
# Sections of a named file, and sections of this one where a line names no other text.
_OF_FILE: Final = re.compile(r"`?([\w-]+\.md)`?\)?,? (?:Section|§) ?(\d+(?:\.\d+)*)")
_SECTION: Final = re.compile(r"(?:Section|§) ?(\d+(?:\.\d+)*)")
_OTHER_TEXT: Final = re.compile(r"RFC|ISO|W3C|\.md|OJS |ojs-|JSON Schema|CloudEvents|of spec")


def link_problems(folder: Path, pages: Iterable[Page]) -> Iterator[str]:
    """Yield links, files and sections that are not there, and numbers that two sections have."""
    by_name = {page.name: page for page in pages}
    by_file = {PurePosixPath(name).name: page for name, page in by_name.items()}
    for page in by_name.values():
        for line, text in page.prose:
            place = f"{page.name}:{line}"
            for target in _LINK.findall(text):
                if not _ELSEWHERE.match(target):
                    yield from _link(folder, page, by_name, f"{place}: {target}", target)
            for file, number in _OF_FILE.findall(text):
                other = by_file.get(file)
                if other is None:
                    yield f"{place}: there is no {file}"
                elif other.numbers and number not in other.numbers:
                    yield f"{place}: {other.name} has no section {number}"
            if not _OTHER_TEXT.search(text):
                for number in _SECTION.findall(text):
                    if page.numbers and number not in page.numbers:
                        yield f"{place}: it has no section {number}"
        for number, times in Counter(page.numbers).items():
            if times > 1:
                lines = (str(each.line) for each in page.headings if each.number == number)
                yield f"{page.name}: section {number} is there {times} times: {', '.join(lines)}"


def _link(
    folder: Path, page: Page, pages: Mapping[str, Page], head: str, target: str
) -> Iterator[str]:
    path, _, anchor = target.partition("#")
    name = page.name
    if path:
        found = (folder / page.name).parent / path
        if not found.exists() or not found.resolve().is_relative_to(folder.resolve()):
            yield f"{head}: no such file in the folder"
            return
        name = found.resolve().relative_to(folder.resolve()).as_posix()
    headings = pages[name].headings if name in pages else ()
    if anchor and headings and anchor not in {heading.anchor for heading in headings}:
        yield f"{head}: {name} has no such heading"
