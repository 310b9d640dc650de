"""The reference is that of the code, and says something about each public name."""

import pytest

import ojs_worker
from ojs_worker import blackboard, client, jobmanager, testing, zeebe
from tests.reference import nouns
from tests.reference.described import Described
from tests.reference.pages import FOLDER, all_described, names, texts


def test_the_pages_are_those_of_the_code() -> None:
    found = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")}
    assert found == texts(), "run `make reference` and commit its pages"


@pytest.mark.parametrize("module", [ojs_worker, blackboard, client, jobmanager, testing, zeebe])
def test_every_public_name_is_on_a_page(module: object) -> None:
    assert {*vars(module)["__all__"]} - names() == set()


def test_the_tables_of_nouns_are_those_of_their_modules() -> None:
    assert nouns.FILE.read_text(encoding="utf-8") == nouns.text(), "run `make reference`"


def test_no_two_nouns_have_an_alias_in_common() -> None:
    found = nouns.entries()
    aliases = [alias for entry in found.values() for alias in entry.aliases]
    assert len({*aliases, *found}) == len(aliases) + len(found)


def test_nothing_is_without_a_sentence() -> None:
    bare = [name for name, one in all_described() if not _says_something(one)]
    bare += [
        f"{name}.{field.name}"
        for name, one in all_described()
        for field in one.fields
        if not field.text
    ]
    assert bare == [], "write a docstring, or a comment above a member"


def _says_something(one: Described) -> bool:
    first = one.text.split("\n\n")[0]
    return first[:1] in ("`", first[:1].upper()) and first.rstrip().endswith((".", ":"))
