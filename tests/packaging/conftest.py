"""The wheel, built once."""

import tarfile
from pathlib import Path

import pytest

from tests.packaging.installing import python

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution, as an installer does that has only that."""
    folder = tmp_path_factory.mktemp("wheel")
    python("-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as packed:
        assert [one.name for one in packed if not (one.isfile() or one.isdir())] == []
    return built
