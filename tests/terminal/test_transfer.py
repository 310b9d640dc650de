"""`ojs export` and `ojs import`: what goes out comes in again, whenever they are killed."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ojs_cli.commands import export
from ojs_cli.commands import import_ as importing
from ojs_cli.failures import INTERRUPTED, MISUSED, OK, PART_DONE, REFUSED
from ojs_cli.transfer import place as places
from tests.e2e.node import until
from tests.terminal.conftest import Call, Ojs

STRANGE = [{"n": 12345678901234567890, "f": 1.10, "e": "\u202e\x1b", "deep": [[{}]]}]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of a few jobs."""
    monkeypatch.setattr(export, "PAGE", 3)
    monkeypatch.setattr(importing, "CHUNK", 3)


@pytest.fixture
def stored(call: Call) -> None:
    """Ten jobs of all kinds that can wait."""
    for number in range(7):
        call("POST", "/jobs", type=f"t{number}", args=STRANGE, meta={"user": number})
    options = {
        "queue": "mail",
        "priority": -3,
        "tags": ["a", "b"],
        "retry": {"max_attempts": 7, "initial_interval": "PT5S"},
        "timeout_ms": 5000,
        "unique": {"keys": ["type", "args"]},
        "expires_at": "2098-01-01T00:00:00Z",
        "scheduled_at": "2097-01-01T00:00:00Z",
    }
    call("POST", "/jobs", type="later", args=[], options=options)
    call("POST", "/jobs", type="held", args=[], options={"pending": True})
    call("POST", "/jobs", type="gone", args=[])
    gone = call("GET", "/jobs?type=gone")["jobs"][0]["id"]
    call("DELETE", f"/jobs/{gone}")


def jobs(call: Call) -> list[dict[str, Any]]:
    """Return the waiting jobs without their times."""
    found = call("GET", "/jobs?states=available,scheduled,pending")["jobs"]
    moments = ("created_at", "enqueued_at", "metadata")
    return [{key: one[key] for key in one if key not in moments} for one in found]


def interrupt_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Break off before the nth time that progress is saved."""
    write: Callable[..., None] = places.write
    left = [steps]

    def interrupted(path: Path, place: places.Place) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        write(path, place)

    monkeypatch.setattr(places, "write", interrupted)


def test_what_goes_out_comes_in_again(
    ojs: Ojs, call: Call, small: None, stored: None, tmp_path: Path
) -> None:
    before = jobs(call)
    assert len(before) == 9
    file = tmp_path / "jobs.ndjson"
    said = ojs("export", "--out", str(file))
    assert (said.code, said.err) == (OK, f"ojs: 9 jobs in {file}\n")
    assert ojs("export").out == file.read_text()
    call("POST", "/admin/reset")
    said = ojs("import", str(file))
    assert (said.code, said.err) == (OK, "ojs: stored 9 jobs\n")
    assert jobs(call) == before
    again = ojs("import", str(file))
    assert (again.code, again.err) == (OK, "ojs: stored 0 jobs, 9 were there already\n")
    assert [one.name for one in tmp_path.iterdir()] == ["jobs.ndjson"]


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_export_goes_on_where_it_was(
    ojs: Ojs, small: None, stored: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    whole = ojs("export").out
    file = tmp_path / "jobs.ndjson"
    with monkeypatch.context() as patch:
        interrupt_after(patch, steps)
        assert ojs("export", "--out", str(file)).code == INTERRUPTED
    other = ojs("export", "state:pending", "--out", str(file))
    assert (other.code, "was begun with no filter" in other.err) == (MISUSED, True)
    said = ojs("export", "--out", str(file))
    assert (said.code, "goes on behind" in said.err) == (OK, True)
    assert file.read_text() == whole
    assert ojs("export", "--out", str(file)).code == REFUSED


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_import_that_was_broken_off_stores_nothing_twice(
    ojs: Ojs, call: Call, small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    file = tmp_path / "jobs.ndjson"
    # Without ids: nothing but the run says that a chunk was sent before.
    file.write_text("".join(f'{{"type": "t", "args": [{one}]}}\n' for one in range(8)))
    with monkeypatch.context() as patch:
        interrupt_after(patch, steps)
        assert ojs("import", str(file)).code == INTERRUPTED
    assert ojs("import", str(file)).code == OK
    assert sorted(one["args"][0] for one in jobs(call)) == list(range(8))


def test_lines_that_cannot_be_are_told_and_passed_over(
    ojs: Ojs, call: Call, small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MOST_BYTES", 100)
    monkeypatch.setattr(importing, "amiss", lambda line: "is too long" if len(line) > 100 else None)
    file = tmp_path / "jobs.ndjson"
    good, long = '{"type": "t", "args": []}', json.dumps({"type": "t", "args": ["x" * 500]})
    file.write_text(f'{good}\n\n{long}\n{{"type": "no type"}}\n{good}')
    said = ojs("import", str(file))
    assert said.code == PART_DONE
    assert "line 3: is too long" in said.err
    assert "line 4: " in said.err
    assert "stored 2 jobs, 2 refused" in said.err
    assert len(jobs(call)) == 2


@pytest.mark.parametrize("line", ["{", "[]", '"x"', '{"args": []}', '{"type": 1}', "[" * 5000])
def test_what_is_no_job_is_never_sent(ojs: Ojs, call: Call, tmp_path: Path, line: str) -> None:
    file = tmp_path / "jobs.ndjson"
    file.write_text(line)
    said = ojs("import", str(file))
    assert (said.code, said.err.startswith("ojs: line 1: ")) == (REFUSED, True)


def test_files_that_are_not_there(ojs: Ojs, tmp_path: Path) -> None:
    assert ojs("import", str(tmp_path / "none")).code == REFUSED
    assert ojs("export", "meta.user:7").code == MISUSED
    assert list(tmp_path.iterdir()) == []


# Small chunks, so that the program is in the middle for long enough to be killed there.
SLOWLY = """
import sys
from ojs_cli.cli import main
from ojs_cli.commands import import_
import_.CHUNK = 20
sys.exit(main())
"""


async def test_a_killed_import_is_gone_on_with(
    ojs: Ojs, call: Call, server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "jobs.ndjson"
    file.write_text("".join(f'{{"type": "t", "args": [{one}]}}\n' for one in range(5000)))
    beside = places.path_of(file, "importing")
    words = [sys.executable, "-c", SLOWLY, "import", str(file), "--url", server_url]
    process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.DEVNULL)

    async def has_begun() -> bool:
        place = places.read(beside)
        return process.returncode is not None or (place is not None and place.jobs > 0)

    await until(has_begun, within_s=60)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    left = places.read(beside)
    assert left is not None
    assert 0 < left.jobs < 5000
    monkeypatch.setattr(importing, "CHUNK", 20)
    assert ojs("import", str(file)).code == OK
    queue = call("GET", "/queues/default/stats")["queue"]
    assert queue["available"] == 5000
