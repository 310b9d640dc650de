"""The files of the dashboard: their heads, their weight, and what their text may not hold."""

import re
from gzip import decompress
from pathlib import Path

import pytest

from ojs_ui import files

STATIC = Path(files.__file__).parent / "static"
NAMES = sorted(file.name for file in STATIC.iterdir())
# All that a browser could ever load, as it travels.
MOST_BYTES = 80_000


def test_the_document_is_no_asset() -> None:
    assert files.page().body.startswith(b"<!doctype html>")
    assert files.asset("index.html") is None
    assert files.asset("../files.py") is None


@pytest.mark.parametrize("name", NAMES)
def test_every_file_has_its_type_and_a_tag_of_its_own(name: str) -> None:
    file = files.page() if name == "index.html" else files.asset(name)
    assert file is not None
    whole = (STATIC / name).read_bytes()
    assert file.sent(None, '"other"').body == whole
    assert file.sent(None, f'"other", W/{file.tag}').body is None
    zipped = file.sent("gzip, deflate, br", file.tag)
    assert zipped.body is not None
    assert decompress(zipped.body) == whole
    assert file.sent("gzip", zipped.headers["ETag"]).body is None


@pytest.mark.parametrize(
    ("accepted", "zipped"),
    [
        (None, False),
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("*, gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("identity", False),
        ("x-gzipped, gzip;q=high", False),
    ],
)
def test_files_are_compressed_for_those_who_take_it(accepted: str | None, zipped: bool) -> None:
    headers = files.page().sent(accepted, None).headers
    assert headers.get("Content-Encoding") == ("gzip" if zipped else None)
    assert headers["Vary"] == "Accept-Encoding"


def test_the_policy_lets_nothing_inline_or_foreign_in() -> None:
    policy = files.page().sent(None, None).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"unsafe|\*|https?:", policy)


def test_all_files_together_stay_light() -> None:
    assets = [file for name in NAMES if (file := files.asset(name)) is not None]
    assert len(assets) == len(NAMES) - 1
    assert sum(len(file.zipped) for file in (files.page(), *assets)) < MOST_BYTES


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
