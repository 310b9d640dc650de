"""The names that users write are those of the committed lists."""

import pytest

from tests.packaging.public_names import LISTS, file_of


@pytest.mark.parametrize("kind", LISTS)
def test_the_names_are_those_that_were_promised(kind: str) -> None:
    promised = set(file_of(kind).read_text(encoding="utf-8").splitlines())
    found = set(LISTS[kind]())
    gone, new = sorted(promised - found), sorted(found - promised)
    assert (gone, new) == ([], []), (
        "a program that uses a name that is gone breaks; if the change is meant, say so in the "
        "changelog, run `python -m tests.packaging.public_names` and commit its lists"
    )
