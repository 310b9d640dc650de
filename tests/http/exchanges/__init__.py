"""Recorded exchanges of the public clients: what each sends, and what it needs in the answer.

A step sends `METHOD path` with a `body`, expects a `status` (200 unless said), and finds at each
path of `needs` a kind of value, or one of the values in a list, and each text of `holds` in an
answer that is no JSON. `keep` gives names to parts of the answer; `$name` stands for them later on.
"""

from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec

FOLDER: Final = Path(__file__).parent


class Step(msgspec.Struct, forbid_unknown_fields=True):
    """One request, and what is needed of its answer."""

    send: str
    body: dict[str, Any] | None = None
    status: int = 200
    needs: dict[str, str | list[Any]] = {}
    keep: dict[str, str] = {}
    holds: list[str] = []

    @property
    def path(self) -> str:
        """Where it goes, without its query."""
        return self.send.split()[1].partition("?")[0]


class Recording(msgspec.Struct, forbid_unknown_fields=True):
    """What one client does."""

    client: str
    version: str
    headers: dict[str, str]
    exchanges: dict[str, list[Step]]
    media_type_holds: str = ""


def recordings() -> list[Recording]:
    """All clients."""
    return [
        msgspec.json.decode(file.read_bytes(), type=Recording)
        for file in sorted(FOLDER.glob("*.json"))
    ]


async def replay(recording: Recording, name: str, client: httpx.AsyncClient) -> None:
    """Play one exchange."""
    kept: dict[str, str] = {}
    for step in recording.exchanges[name]:
        method, path = _filled(step.send, kept).split()
        response = await client.request(
            method, path, json=_filled_body(step.body, kept), headers=recording.headers
        )
        assert response.status_code == step.status, f"{step.send}: {response.text}"
        assert recording.media_type_holds in response.headers.get("content-type", "")
        for text in step.holds:
            assert text in response.text, f"{step.send}: {response.text}"
        for place, wanted in step.needs.items():
            found = _at(response.json(), place)
            if isinstance(wanted, list):
                assert found in _filled_body(wanted, kept), f"{step.send}: {place} is {found!r}"
            else:
                assert _is(found, wanted), f"{step.send}: {place} is {found!r}, not {wanted}"
        for label, place in step.keep.items():
            kept[label] = str(_at(response.json(), place))


def _filled(text: str, kept: dict[str, str]) -> str:
    for name, value in kept.items():
        text = text.replace(f"${name}", value)
    return text


def _filled_body(body: Any, kept: dict[str, str]) -> Any:
    return msgspec.json.decode(_filled(msgspec.json.encode(body).decode(), kept))


def _at(body: Any, place: str) -> Any:
    for part in place.split("."):
        body = body[int(part)] if isinstance(body, list) else body[part]
    return body


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "text":
            return isinstance(value, str) and value != ""
        case "time":
            return datetime.fromisoformat(value).tzinfo is not None
        case "integer":
            return type(value) is int
        case "number":
            return type(value) in (int, float)
        case "boolean":
            return type(value) is bool
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "texts":
            items = value.values() if isinstance(value, dict) else value
            return all(isinstance(item, str) for item in items)
        case "booleans":
            return all(type(item) is bool for item in value.values())
    raise ValueError(f"{kind} is no kind of value")
