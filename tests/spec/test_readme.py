"""The walk through a job's life in the README works as it is printed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spec.clauses import ROOT

WALK = "## A job's way through"
ADDRESS = "http://127.0.0.1:8080"
_SECTION = re.compile(rf"^{re.escape(WALK)}\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:```json\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z")
_LISTENS = re.compile(r"listens on (http://\S+)")


def walk() -> list[tuple[str, list[Any]]]:
    """Each shell block of the walk, with the answers shown below it."""
    section = _SECTION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert section, f"the README has no section {WALK!r}"
    return [(shell, values(shown)) for shell, shown in _BLOCK.findall(section[1])]


def values(text: str) -> list[Any]:
    """The JSON values that stand one after the other in a text."""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].strip()
    return found


def missing(shown: Any, given: Any, where: str = "$") -> list[str]:
    """Return the places where an answer differs from the shown one; ids and times may differ."""
    match shown, given:
        case dict(), dict():
            return [
                fault
                for name, value in shown.items()
                for fault in (
                    missing(value, given[name], f"{where}.{name}")
                    if name in given
                    else [f"{where}.{name} is not there"]
                )
            ]
        case list(), list():
            if len(shown) != len(given):
                return [f"{where} has {len(given)} items, not {len(shown)}"]
            pairs = enumerate(zip(shown, given, strict=True))
            return [fault for i, (a, b) in pairs for fault in missing(a, b, f"{where}[{i}]")]
        case str(), str():
            for form in (_UUID, _TIME):
                if form.fullmatch(shown):
                    return [] if form.fullmatch(given) else [f"{where} is {given!r}"]
    return [] if shown == given else [f"{where} is {given!r}, not {shown!r}"]


@pytest.fixture
def server(sqlite_path: Path) -> Iterator[str]:
    """The address of a server of its own, with an empty database."""
    command = [sys.executable, "-m", "ojs_server", "--port", "0", "--database", str(sqlite_path)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OJS_")}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        found = _LISTENS.search(process.stdout.readline())
        assert found, "the server did not say where it listens"
        try:
            yield found[1]
        finally:
            process.terminate()
            process.communicate(timeout=30)


@pytest.mark.skipif(not shutil.which("curl"), reason="the walk is made with curl")
def test_the_walk_works_as_it_is_printed(server: str) -> None:
    blocks = walk()
    assert ADDRESS in blocks[0][0]
    mark = "next block"
    script = f"\necho '{mark}'\n".join(shell for shell, _ in blocks).replace(ADDRESS, server)
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = done.stdout.split(f"{mark}\n")
    assert sum(len(shown) for _, shown in blocks) >= 10
    for (shell, shown), output in zip(blocks, printed, strict=True):
        faults = missing(shown, values(output))
        assert not faults, f"after\n{shell}\n{faults}\n{output}"


def test_the_commands_that_the_readme_names_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    targets = set(re.findall(r"`?make ([a-z]+)", readme))
    assert {"run", "test"} <= targets
    assert [name for name in targets if f"\n{name}: " not in makefile] == []
    assert [name for name in set(re.findall(r"`(ojs-\w+)`", readme)) if name not in project] == []


def test_what_is_shown_is_really_compared() -> None:
    shown = {"state": "active", "jobs": [{"attempt": 1}]}
    assert missing(shown, {"state": "active", "jobs": [{"attempt": 1, "id": "x"}]}) == []
    assert missing(shown, {"state": "available", "jobs": [{"attempt": 1}]})
    assert missing(shown, {"state": "active", "jobs": []})
    assert missing(shown, {"jobs": [{"attempt": 1}]})
