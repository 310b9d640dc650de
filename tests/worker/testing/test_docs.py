"""The examples of docs/testing.md run as they are printed."""

import re

from tests.spec.clauses import ROOT
from tests.worker.testing.inner import Inner, inner

__all__ = ["inner"]

pytest_plugins = "pytester"
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
SETTINGS = re.compile(r"^```ini\n\[pytest\]\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A file begins with its name.
FILE = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEST = re.compile(r"^\s*(?:async )?def test_", re.MULTILINE)


def test_every_example_runs(inner: Inner) -> None:
    (settings,) = SETTINGS.findall(PAGE)
    inner.configure(settings)
    files = FILE.findall(PAGE)
    for name, text in files:
        inner.write(name, text)
    tests = sum(len(TEST.findall(text)) for _, text in files)
    assert tests > 6
    inner.run().assert_outcomes(passed=tests)


def test_no_example_is_left_out() -> None:
    assert len(FILE.findall(PAGE)) == PAGE.count("```python")
