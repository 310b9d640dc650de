"""The API keys of the tests, one for each role."""

from typing import Final

KEYS: Final = {
    "producer": "producer-key-0001",
    "worker": "worker-key-000001",
    "viewer": "viewer-key-000001",
    "operator": "operator-key-0001",
    "admin": "admin-key-0000001",
}


def bearer(role: str) -> dict[str, str]:
    """The header that shows a role's key."""
    return {"Authorization": f"Bearer {KEYS[role]}"}
