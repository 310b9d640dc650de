"""The commands that the README names exist; its examples are played in tests/packaging."""

import re

from tests.spec.clauses import ROOT


def test_the_commands_that_the_readme_names_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    targets = set(re.findall(r"`?make ([a-z]+)", readme))
    assert {"run", "test"} <= targets
    assert [name for name in targets if f"\n{name}: " not in makefile] == []
    assert [name for name in set(re.findall(r"`(ojs-\w+)`", readme)) if name not in project] == []
