"""Problems of an author's files: the file, the line, and what was expected."""

from collections.abc import Sequence
from pathlib import Path

import msgspec


class Located(msgspec.Struct, frozen=True):
    """One problem and its place."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


class BadCases(Exception):
    """Files of cases that cannot be played."""

    def __init__(self, problems: Sequence[Located]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
