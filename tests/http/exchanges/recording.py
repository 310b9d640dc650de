"""The files of exchanges, read into types that refuse an unknown member."""

import re
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.http.exchanges.kinds import Kind, Shapes

FOLDER: Final = Path(__file__).parent


class Step(msgspec.Struct, forbid_unknown_fields=True):
    """One request of a client, and what its answer must be."""

    send: str
    call: str = ""
    # The seconds that pass before it: a job that is tried again at once is due by then.
    after: float = 0.01
    body: Any = None
    headers: dict[str, str] = {}
    status: int = 200
    finds: dict[str, Any] = {}
    holds: list[str] = []
    hears: list[str] = []
    keep: dict[str, str] = {}


class Exchange(msgspec.Struct, forbid_unknown_fields=True):
    """The requests of a client in a run, in order, and the answers that it got."""

    steps: list[Step]


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """One call of a client's public surface."""

    send: str = ""
    reads: Kind = {}
    # The reason why it does not work, why it works in part, or why a user does not come to make it.
    fails: str = ""
    # It fails since this server answers something else than the client may expect.
    ours: bool = False
    partly: str = ""
    unused: str = ""
    # The client ran it and sent no HTTP request, so there is nothing to replay.
    ran: bool = False

    def makes(self, step: Step) -> bool:
        """Tell whether a step's request is one that this call makes."""
        pattern = re.sub(r"\\{[a-z_]+\\}", "[^/]+", re.escape(self.send))
        return re.fullmatch(pattern, step.send.partition("?")[0]) is not None


class Recording(msgspec.Struct, forbid_unknown_fields=True, dict=True):
    """The recorded calls and exchanges of one client."""

    client: str
    version: str
    commit: str
    # Date on which the client ran; exchanges are replayed at this time.
    date: datetime
    headers: dict[str, str]
    # The kind of an answer with a status of 400 and above.
    error: Kind
    shapes: Shapes
    calls: dict[str, Call]
    exchanges: dict[str, Exchange]
    media_type_holds: str = ""

    @cached_property
    def recorded(self) -> frozenset[str]:
        """The calls whose requests were recorded."""
        return frozenset(
            step.call
            for exchange in self.exchanges.values()
            for step in exchange.steps
            if step.call
        )

    def needed(self, step: Step) -> Kind:
        """The kind of answer that the client needs to a step."""
        if not step.call:
            return {}
        return self.error if step.status >= 400 else self.calls[step.call].reads


def recordings() -> list[Recording]:
    """All clients, by name."""
    return [
        msgspec.json.decode(file.read_bytes(), type=Recording)
        for file in sorted(FOLDER.glob("*.json"))
    ]
