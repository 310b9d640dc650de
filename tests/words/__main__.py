"""``python -m tests.words PATH…``: fail for riddles in comments and docstrings, and for private
names in packages."""

import sys
from pathlib import Path

from tests.words.first_words import files_in, riddles
from tests.words.private_names import is_checked, private_names


def main(paths: list[str]) -> int:
    """Run the command."""
    files = list(files_in(map(Path, paths)))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    begun = [
        f"{file}:{number}: {line}"
        for file, text in texts.items()
        for number, line in riddles(file.suffix, text)
    ]
    named = [
        f"{file}:{number}: {name}"
        for file, text in texts.items()
        if is_checked(file)
        for number, name in private_names(file, text)
    ]
    for lines, advice in (
        (begun, "comments or docstrings begin like a riddle: begin with their subject"),
        (named, "names are private words: use the word of the field"),
    ):
        if lines:
            print(*lines, f"{len(lines)} {advice}", sep="\n")
    return 1 if begun or named else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
