"""``python -m tests.words PATH…``: fail for comments and docstrings that begin like a riddle."""

import sys
from pathlib import Path

from tests.words.first_words import files_in, riddles


def main(paths: list[str]) -> int:
    """Run the command."""
    found = [
        f"{file}:{number}: {line}"
        for file in files_in(map(Path, paths))
        for number, line in riddles(file.suffix, file.read_text(encoding="utf-8"))
    ]
    if not found:
        return 0
    print(*found, sep="\n")
    print(f"{len(found)} comments or docstrings begin like a riddle: begin with their subject")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
