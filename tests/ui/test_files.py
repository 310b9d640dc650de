"""The files of the dashboard: their heads, their weight, and what their text may not hold."""

import re
from pathlib import Path

import pytest

from ojs_ui import files

STATIC = Path(files.__file__).parent / "static"
NAMES = sorted(file.name for file in STATIC.iterdir())
# All that a page could ever load, as it leaves.
MOST_BYTES = 160_000


def test_the_document_is_no_asset() -> None:
    assert files.page().body.startswith(b"<!doctype html>")
    assert files.asset("index.html") is None
    assert files.asset("../files.py") is None


@pytest.mark.parametrize("name", NAMES)
def test_every_file_has_its_type_and_a_tag_of_its_own(name: str) -> None:
    file = files.page() if name == "index.html" else files.asset(name)
    assert file is not None
    assert file.body == (STATIC / name).read_bytes()
    assert file.is_known(f'"other", W/{file.tag}')
    assert not file.is_known('"other"')
    assert not file.is_known(None)


def test_the_policy_lets_nothing_inline_or_foreign_in() -> None:
    policy = files.page().headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"unsafe|\*|https?:", policy)


def test_all_files_together_stay_light() -> None:
    assert sum(file.stat().st_size for file in STATIC.iterdir()) < MOST_BYTES


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith((".js", ".html"))])
def test_no_text_becomes_markup_or_code(name: str) -> None:
    text = (STATIC / name).read_text()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text)
    assert not re.search(r"<script>|\sstyle=|\son\w+=\"|javascript:", text)
    assert not re.search(r"https?://(?!www\.w3\.org)", text), "nothing comes from elsewhere"


def test_every_import_is_there() -> None:
    for file in STATIC.glob("*.js"):
        for wanted in re.findall(r'(?:from |import\()"\./([^"]+)"', file.read_text()):
            assert (STATIC / wanted).exists(), f"{file.name} imports {wanted}"
