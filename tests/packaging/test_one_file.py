"""The conformance suite as one file runs with each Python, far from the checkout."""

import json
import platform
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.missing import not_run

ROOT: Final = Path(__file__).parents[2]
VERSIONS: Final = ("3.11", "3.12", "3.13")
# A start of several Pythons at a time takes long on a busy machine.
pytestmark = [pytest.mark.pythons, pytest.mark.timeout(900)]

Run = Callable[..., subprocess.CompletedProcess[str]]


def tag(version: str) -> str:
    return f"cp{version.replace('.', '')}-{platform.machine()}"


@pytest.fixture(scope="session")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, built once for the Pythons that are tested."""
    place = tmp_path_factory.mktemp("dist") / "ojs-conformance.pyz"
    builder = ROOT / "requirements" / "one_file.py"
    subprocess.run([sys.executable, builder, place, *map(tag, VERSIONS)], check=True, timeout=800)
    return place


@pytest.fixture(params=VERSIONS)
def python(request: pytest.FixtureRequest) -> str:
    """Return a Python of this version, without any package."""
    found = subprocess.run(
        ["sh", ROOT / "requirements" / "python.sh", request.param],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        not_run(f"Python {request.param} is not here")
    return found.stdout.strip()


@pytest.fixture
def run(one_file: Path, python: str, tmp_path: Path) -> Run:
    """Run the file, in an empty folder of a user with an empty home."""

    def ended(
        *arguments: str, file: Path = one_file, flags: tuple[str, ...] = (), **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, *flags, file, *arguments],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )

    return ended


def test_it_explains_itself_and_unpacks_once(run: Run, tmp_path: Path) -> None:
    cache = tmp_path / "home" / ".cache" / "ojs-conformance"
    first = run("run", "--help")
    assert (first.returncode, "--server-cmd" in first.stdout) == (0, True), first.stderr
    (folder,) = cache.iterdir()
    (folder / "mark").touch()
    assert run("run", "--help").stdout == first.stdout
    assert [each / "mark" for each in cache.iterdir() if (each / "mark").exists()] == [
        folder / "mark"
    ]


def test_it_brings_the_specification(run: Run) -> None:
    ended = run("spec", "check")
    assert ended.stdout.endswith(" clauses, 0 problems\n"), ended.stdout + ended.stderr
    assert ended.returncode == 0


def test_it_judges_a_server(run: Run, tmp_path: Path) -> None:
    server = f"{Path(sys.executable).parent}/ojs-server --port {{port}} --database {{dir}}/ojs.db"
    ended = run(
        *("run", "--server-cmd", server, "--case", "fetch.first_in_first_out"),
        *("--report-dir", "reports"),
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads((tmp_path / "reports" / "report.json").read_bytes())
    assert report["results"]["passed"] == 1
    assert report["provenance"]["version"] != "0"


def test_without_a_home_nothing_is_left_behind(run: Run, tmp_path: Path) -> None:
    (tmp_path / "short").mkdir()
    ended = run("--help", HOME="/dev/null", TMPDIR=str(tmp_path / "short"))
    assert (ended.returncode, list((tmp_path / "short").iterdir())) == (0, []), ended.stderr


def test_extras_that_it_has_not_are_named(run: Run) -> None:
    # Without the packages that this Python may have.
    ended = run("verify", "report.json", "--key", "public.pem", flags=("-S",))
    assert ended.returncode == 2
    assert ended.stderr.endswith("pip install 'ojs-reference[signing]'\n")


def test_another_python_or_machine_is_refused_with_what_it_needs(
    run: Run, one_file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.pyz"
    with zipfile.ZipFile(one_file) as packed, zipfile.ZipFile(other, "w") as written:
        for name in packed.namelist():
            written.writestr(name, b"cp399-vax" if name == "tags" else packed.read(name))
    ended = run("--help", file=other)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("ojs-conformance: this file has compiled parts for cp399-vax")
    assert "pip install 'ojs-reference[conformance]'" in ended.stderr
