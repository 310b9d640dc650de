"""The commands for authors of the specification."""

from pathlib import Path


def check_command(spec: Path | None, openapi: Path | None) -> int:
    """Placeholder."""
    return 0


def diff_command(old: Path, new: Path) -> int:
    """Placeholder."""
    return 0
