"""``python -m tests.reference``: write docs/reference/ from the docstrings of the SDK, and the
tables of the nouns of `ojs`."""

from tests.reference import nouns
from tests.reference.pages import FOLDER, texts


def main() -> None:
    """Run the command."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    nouns.FILE.write_text(nouns.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
