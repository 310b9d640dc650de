"""The wheel, built and unpacked once for a run."""

import tarfile
from pathlib import Path

import pytest

from tests.file_lock import locked
from tests.packaging.installing import python, unpack

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def wheel(run_folder: Path) -> Path:
    """The wheel, built from the source distribution, as an installer does that has only that."""
    folder = run_folder / "wheel"
    with locked(run_folder / "wheel.lock"):
        if not list(folder.glob("*.whl")):
            python("-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as packed:
        assert [one.name for one in packed if not (one.isfile() or one.isdir())] == []
    return built


@pytest.fixture(scope="session")
def unpacked(run_folder: Path, wheel: Path) -> Path:
    """The folder that pip installed the wheel into, which environments are lent."""
    folder = run_folder / "unpacked"
    with locked(run_folder / "unpacked.lock"):
        if not folder.exists():
            unpack(wheel, folder)
    return folder
