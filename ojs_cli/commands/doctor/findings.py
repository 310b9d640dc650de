"""Findings of the checks: a problem, and its fix."""

from collections.abc import Callable, Iterator

from ojs_cli.session import Session

Finding = tuple[str, str]
Check = Callable[[Session], Iterator[Finding]]


class Unchecked(Exception):
    """A check that cannot be made with this server; says why."""
