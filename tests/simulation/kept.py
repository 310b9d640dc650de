"""Kept scenarios: files with a scenario and what it has found.

A seed would not do: it stands for another scenario once anything else is drawn.
"""

from pathlib import Path
from typing import Final

import msgspec

from tests.simulation.scenario import Scenario

CORPUS: Final = Path(__file__).parent / "corpus"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario, and what it found."""

    # The finding in a sentence.
    found: str
    # The oracle that saw it.
    oracle: str
    # The planted bug under which it fails; None if it was a bug of the product.
    planted: str | None = None
    scenario: Scenario


def load(path: Path) -> Kept:
    """Read a file."""
    return msgspec.json.decode(path.read_bytes(), type=Kept)


def save(kept: Kept, path: Path) -> None:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
