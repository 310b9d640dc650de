"""Clauses that no client can see kept or broken, each with the reason why."""

from typing import Final

UNSEEN: Final[dict[str, str]] = {}
