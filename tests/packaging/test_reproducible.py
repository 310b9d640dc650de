"""Builds are reproducible, and list their components."""

import json
import os
import re
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from tests.packaging.installing import python

ROOT: Final = Path(__file__).parents[2]
LOCK: Final = ROOT / "requirements" / "run.txt"
MOMENT: Final = "1800000000"


def digests(folder: Path) -> dict[str, str]:
    found = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in found}


@pytest.mark.long
def test_another_build_elsewhere_and_later_gives_the_same_files(
    wheel: Path, tmp_path: Path
) -> None:
    (source,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(source) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = (place for place in tmp_path.iterdir() if place.is_dir())
    for file in unpacked.rglob("*"):
        # Of another time, and with the rights of another machine.
        os.utime(file, (2_000_000_000, 2_000_000_000))
        file.chmod(0o700 if file.stat().st_mode & 0o100 else 0o600)
    again = tmp_path / "again"
    python("-m", "build", "--no-isolation", "--outdir", str(again), str(unpacked))
    assert len(digests(again)) == 2
    assert digests(again) == digests(wheel.parent)


@pytest.fixture(scope="module")
def components() -> dict[str, Any]:
    return json.loads(listed())  # type: ignore[no-any-return]


def listed() -> str:
    return subprocess.run(
        (sys.executable, ROOT / "requirements" / "sbom.py", LOCK),
        env={**os.environ, "SOURCE_DATE_EPOCH": MOMENT},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_list_has_every_locked_package(components: dict[str, Any]) -> None:
    locked = re.findall(r"^[\w.-]+==\S+", LOCK.read_text(), re.MULTILINE)
    named = [f"{one['name']}=={one['version']}" for one in components["components"]]
    assert named == locked
    assert len(named) > 30
    for one in components["components"]:
        assert one["purl"] == f"pkg:pypi/{one['name']}@{one['version']}"
        assert one["externalReferences"][0]["hashes"]
    told = sum(len(one["externalReferences"][0]["hashes"]) for one in components["components"])
    assert told == LOCK.read_text().count("--hash=sha256:")


def test_the_list_says_who_needs_what(components: dict[str, Any]) -> None:
    root = components["metadata"]["component"]
    needed = {one["ref"]: one["dependsOn"] for one in components["dependencies"]}
    references = {one["bom-ref"] for one in components["components"]}
    assert set(needed) == {root["bom-ref"], *references}
    assert {one for each in needed.values() for one in each} <= references
    ours = {one.split("@")[0] for one in needed[root["bom-ref"]]}
    assert {"pkg:pypi/msgspec", "pkg:pypi/starlette", "pkg:pypi/httpx"} <= ours
    scopes = {one["name"]: one["scope"] for one in components["components"]}
    assert scopes["httpcore"] == "required"
    assert scopes["hatchling"] == "excluded"
    assert root["licenses"] == [{"expression": "Apache-2.0"}]


def test_the_list_is_the_same_each_time(components: dict[str, Any]) -> None:
    assert json.loads(listed()) == components
    assert components["metadata"]["timestamp"] == "2027-01-15T08:00:00Z"
    assert components["specVersion"] == "1.6"
