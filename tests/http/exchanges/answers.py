"""The raw exchange of each call that fails: its request, and this server's answer."""

import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from ojs_server.app import Server
from ojs_server.settings import Settings
from ojs_server.store.base import Clock
from ojs_server.store.open import open_store
from tests.http.exchanges.recording import Recording, Step
from tests.http.exchanges.replay import replay

ID: Final = re.compile(r"(req_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The durations in an answer that are measured.
MEASURED: Final = re.compile(r'("latency_ms"|"uptime_seconds"):\d+')
SHOWN: Final = 240
ARROW: Final = "→"


@asynccontextmanager
async def _serve(*, clock: Clock) -> AsyncIterator[Server]:
    """A server with a new SQLite file."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'ojs.db'}", clock=clock)
        server = Server(Settings(conformance=True), store)
        async with server.running():
            yield server


async def raw_exchanges(recording: Recording) -> dict[str, str]:
    """Play the exchanges with calls that fail, and return the last request and answer of each."""
    failing = {name for name, call in recording.calls.items() if call.fails}
    found: dict[str, str] = {}

    def observe(step: Step, status: int, answer: str, kept: Mapping[str, Any]) -> None:
        if step.call in failing:
            found[step.call] = _exchange(step, status, _renamed(answer, kept))

    for name, exchange in recording.exchanges.items():
        if any(step.call in failing for step in exchange.steps):
            await replay(recording, name, _serve, observe)
    return found


def _renamed(answer: str, kept: Mapping[str, Any]) -> str:
    """An answer whose ids have the names that later steps use, or none."""
    names = {str(value): f"${name}" for name, value in kept.items()}
    renamed = ID.sub(lambda found: names.get(found[0], "$id"), answer)
    return MEASURED.sub(r"\1:0", renamed)


def _exchange(step: Step, status: int, answer: str) -> str:
    body = "" if step.body is None else msgspec.json.encode(step.body).decode()
    parts = (step.send, body, ARROW, str(status), answer)
    return " ".join(part if part == ARROW else _code(part) for part in parts if part)


def _code(text: str) -> str:
    """Text as Markdown's inline code, cut to what a page can show."""
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    fence = "``" if "`" in shown else "`"
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
