"""Runs of pytest inside a test, with the plugin and a configuration of their own."""

import sys
from textwrap import dedent

import pytest

# Loaded before any inner run: pytester forgets what is first imported inside one.
import ojs_server.app
import ojs_worker.testing

LOADED = (ojs_server.app, ojs_worker.testing)
INI = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"


class Inner:
    """A project in a folder of its own, whose tests run in this process."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester

    def configure(self, settings: str) -> None:
        """Write the project's settings of pytest."""
        self._pytester.makeini(INI + settings)

    def write(self, name: str, text: str) -> None:
        """Write a file; its text may be indented."""
        file = self._pytester.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")

    def run(self) -> pytest.RunResult:
        """Run all its tests."""
        return self._pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q")


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Inner:
    """An empty project."""
    # A copy, so that additions to the path are undone, also those by a setting.
    monkeypatch.setattr(sys, "path", [str(pytester.path), *sys.path])
    return Inner(pytester)
