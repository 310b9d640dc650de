"""Runs of the published clients of other systems, as `docs/clients.md` shows them.

`runs.json` has how many scenarios each client passed, and which failed, without a key and with
keys; it is the same on both stores. `OJS_RECORD=1 make test-clients` writes it; without that the
tests compare with it. `python -m tests.http.exchanges` writes the page then.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tests.file_lock import locked

ROOT: Final = Path(__file__).parents[2]
RECORD: Final = "OJS_RECORD"
NO_KEY: Final = "none"
_FILE: Final = Path(__file__).parent / "runs.json"
_LOCK: Final = ROOT / "build" / "runs.lock"
_REQUIRED: Final = ROOT / "requirements" / "clients"
# The package of each client that is installed under another name.
_PACKAGES: Final = {"ojs.v1": "@grpc/grpc-js"}


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scenarios that a client passed, and those that failed."""

    passed: int
    failed: list[str] = []


class Client(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published client, and its run with each kind of key."""

    version: str
    runs: dict[str, Run]


def recorded() -> dict[str, Client]:
    """All clients by name."""
    return msgspec.json.decode(_FILE.read_bytes(), type=dict[str, Client])


def locked_version(client: str) -> str:
    """Return the version of a client that `make clients` installs."""
    package = _PACKAGES.get(client, client)
    for pins in sorted(_REQUIRED.glob("*.txt")):
        if found := re.search(rf"^{package}==(\S+)", pins.read_text("utf-8"), re.MULTILINE):
            return found[1]
    packages = msgspec.json.decode((_REQUIRED / "package.json").read_bytes())
    return str(packages["dependencies"][package])


def compare(client: str, key: str, results: Mapping[str, str | None]) -> None:
    """Check that a run, of which each scenario has its error if it failed, is the recorded one; or
    record it."""
    failed = sorted(name for name, error in results.items() if error)
    run = Run(len(results) - len(failed), failed)
    if os.environ.get(RECORD):
        _record(client, key, run)
    assert recorded()[client].runs.get(key) == run, f"record it with {RECORD}=1 make test-clients"


def _record(client: str, key: str, run: Run) -> None:
    _LOCK.parent.mkdir(exist_ok=True)
    with locked(_LOCK):
        clients = recorded() if _FILE.exists() else {}
        runs = clients[client].runs if client in clients else {}
        clients[client] = Client(locked_version(client), dict(sorted({**runs, key: run}.items())))
        written = msgspec.json.encode(dict(sorted(clients.items())))
        _FILE.write_bytes(msgspec.json.format(written, indent=2) + b"\n")
