"""The specification and the contracts that come with the suite."""

from importlib.resources import files
from pathlib import Path


def data_path(name: str) -> Path:
    """Return the path of a file: inside the installed package, or at the root of the checkout."""
    brought = Path(str(files("conformance") / "data" / name))
    return brought if brought.exists() else Path(__file__).parents[1] / name
