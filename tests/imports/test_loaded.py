"""Tests of the modules that are loaded by importing the SDK and by running a command, each in a
process of its own."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

import ojs_worker
from ojs_server.domain.profile import PROFILES

TESTING: Final = ("ojs_worker.testing", "ojs_server", "pytest", "pytest_ojs", "starlette", "apsw")
# Each costs about as much as Python itself, or more.
HEAVY: Final = (
    "asyncio",
    "httpx",
    "logging",
    "rich",
    "urllib.request",
    "yaml",
    "ojs_worker.client",
)
# Run the command against a server without queues.
QUEUES: Final = """
import sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from ojs_cli.cli import main
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "12")
        self.end_headers()
        self.wfile.write(b'{"items":[]}')
    def log_message(self, *_): pass
server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert main(["queues", "--url", f"http://127.0.0.1:{server.server_port}"]) == 0
"""


def loaded(program: str, modules: tuple[str, ...]) -> str:
    """Return those of some modules that a program has loaded at its end."""
    say = f"{program}\nimport sys\nprint([name for name in {modules} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", say], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()[-1]


def _seen() -> dict[str, str]:
    """Return the names of the SDK as type checkers see them, with their modules."""
    tree = ast.parse(Path(ojs_worker.__file__).read_text(encoding="utf-8"))
    return {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }


def test_the_sdk_comes_without_its_testing_tools_and_without_the_server() -> None:
    names = ", ".join(ojs_worker.__all__)
    assert loaded(f"from ojs_worker import {names}", TESTING) == "[]"


# Print the modules of other systems that a server of a profile has loaded.
SERVER: Final = """
import sys
from ojs_server.app import create_app
from ojs_server.domain.profile import PROFILES
from ojs_server.settings import Settings
create_app(Settings(database=":memory:", profile=PROFILES["{}"]))
found = {{name.split(".")[2] for name in sys.modules if name.startswith("ojs_server.systems.")}}
print(*sorted(found - {{"system"}}))
"""


@pytest.mark.parametrize("profile", PROFILES)
def test_a_server_loads_the_system_of_its_profile_alone(profile: str) -> None:
    program = SERVER.format(profile)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == [name for name in (PROFILES[profile].system,) if name]


def test_a_module_of_the_sdk_comes_without_the_others() -> None:
    others = (*HEAVY, "ojs_worker.worker", "ojs_worker.context")
    assert loaded("import ojs_worker, ojs_worker.errors", others) == "[]"


@pytest.mark.parametrize("program", [QUEUES, "from ojs_cli.cli import main; main(['--version'])"])
def test_a_command_loads_neither_a_loop_nor_what_draws(program: str) -> None:
    assert loaded(program, HEAVY) == "[]"


@pytest.mark.parametrize("module", sorted({*_seen().values(), "ojs_worker.codec"}))
def test_a_module_of_the_sdk_can_be_imported_first(module: str) -> None:
    assert loaded(f"import {module}", ()) == "[]"


def test_names_are_those_that_type_checkers_see() -> None:
    """They are looked for in several modules, and could be found in a wrong one."""
    seen = _seen()
    assert sorted(seen) == ojs_worker.__all__
    for name, module in seen.items():
        assert getattr(ojs_worker, name) is getattr(import_module(module), name), name
    assert not hasattr(ojs_worker, "Nothing")
