"""Tests that clocks, randomness, threads and host names are read in one module only.

Exceptions are listed with their reasons, so that a simulation knows what it does not control.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.imports.source import ROOT, parsed

Modules = Sequence[tuple[str, ast.Module]]

PACKAGES = ("ojs_server", "ojs_worker", "ojs_wire")
MACHINE = frozenset(
    {
        "concurrent.futures.ThreadPoolExecutor",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "os.getpid",
        "os.urandom",
        "random",
        "secrets",
        "socket.gethostname",
        "threading.Thread",
        "threading.Timer",
        "time",
        "uuid.uuid1",
        "uuid.uuid4",
    }
)
ASKED_FOR_IN = frozenset({"ojs_server/environment.py", "ojs_worker/environment.py"})
# Modules that make an environment by default, and accept another one.
ROOTS = {
    "ojs_server/app.py",
    "ojs_server/cli.py",
    "ojs_server/store/postgres/store.py",
    "ojs_server/store/sqlite/store.py",
    "ojs_worker/blackboard/worker.py",
    "ojs_worker/blackboard/workflow.py",
    "ojs_worker/client/sender.py",
    "ojs_worker/connections.py",
    "ojs_worker/jobmanager/manager.py",
    "ojs_worker/outbox/relay.py",
    "ojs_worker/supervision/supervisor.py",
    "ojs_worker/worker.py",
    "ojs_worker/zeebe/client.py",
}
MADE_BY = frozenset(
    {
        "ojs_server.environment.chance",
        "ojs_server.environment.machine",
        "ojs_worker.environment.machine",
    }
)
REAL_TIME = "PostgreSQL is another process, and answers in real time"
PROCESSES = "signals and child processes are the machine's own"
NO_LOOP = "programs without an event loop wait in threads"
# Modules that use the machine directly (files or folders), with the reason.
EXCEPTIONS: Mapping[str, str] = {
    "ojs_server/http/refusals.py": "it answers before there is an application",
    "ojs_server/store/postgres": REAL_TIME,
    "ojs_wire/lines.py": "log lines have the time of their writing",
    "ojs_worker/running/blocking.py": NO_LOOP,
    "ojs_worker/processes/child.py": PROCESSES,
    "ojs_worker/cli.py": PROCESSES,
    "ojs_worker/client/blocking.py": NO_LOOP,
    "ojs_worker/demo.py": "its handlers compute for as long as they are asked to",
    "ojs_worker/encryption.py": "a nonce that a seed decides would give the key away",
    "ojs_worker/transport/over_http_client.py": "its connections are sockets",
    "ojs_worker/running/signals.py": PROCESSES,
    "ojs_worker/supervision/supervised.py": PROCESSES,
    "ojs_worker/testing/clock.py": "a sandbox begins at the present, unless told otherwise",
    "ojs_worker/testing/here.py": NO_LOOP,
    "ojs_worker/threads.py": "its threads are those that the environment hands out",
    "ojs_worker/running/watch.py": "an environment says whether it watches",
}
# Types whose objects change with each use; kept in a module, they would remember earlier runs.
STATEFUL = frozenset(
    {
        "collections.Counter",
        "collections.defaultdict",
        "collections.deque",
        "itertools.count",
        "itertools.cycle",
        "ojs_wire.values.RisingIds",
        "random.Random",
        "threading.local",
    }
)
# The names of prepared statements, which no two connections of a process share.
REMEMBER = {"ojs_server/store/postgres/pipe.py"}


@pytest.fixture(scope="module")
def files() -> Modules:
    """The modules as they are parsed, which are gone after these tests."""
    return list(_files(ROOT))


def test_only_the_environment_asks_the_machine(files: Modules) -> None:
    asking = {path for path, tree in files if _used(tree, MACHINE)} - ASKED_FOR_IN
    excepted = {
        path: name for path in asking for name in EXCEPTIONS if Path(path).is_relative_to(name)
    }
    assert asking - excepted.keys() == set()
    assert set(EXCEPTIONS) - set(excepted.values()) == set(), "these ask for nothing any more"


def test_environments_are_made_at_the_roots_alone(files: Modules) -> None:
    assert {path for path, tree in files if _used(tree, MADE_BY)} == ROOTS


def test_no_module_remembers_earlier_runs(files: Modules) -> None:
    assert {path for path, tree in files if _remembers(tree)} == REMEMBER


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from time import monotonic",
        "def f():\n    import random",
        "import threading as t\nt.Thread(target=print)",
        "from concurrent.futures import ThreadPoolExecutor",
        "import concurrent.futures\nconcurrent.futures.ThreadPoolExecutor()",
        "from datetime import datetime as d\nd.now()",
        "import os\nx = [os.getpid()]",
    ],
)
def test_who_asks_the_machine_is_found(source: str) -> None:
    assert _used(ast.parse(source), MACHINE)


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nasyncio.sleep(1)",
        "from datetime import datetime\ndatetime.fromtimestamp(1)",
        "import threading\nthreading.Lock()",
        "import os\nos.getenv('A')",
        "def f(random):\n    return random.bits(1)",
    ],
)
def test_who_does_not_ask_is_not(source: str) -> None:
    assert not _used(ast.parse(source), MACHINE)


@pytest.mark.parametrize(
    ("source", "remembers"),
    [
        ("from ojs_wire.values import RisingIds\nnew_id: Final = RisingIds(bits)", True),
        ("import random\nlast = f(random.Random())", True),
        ("class A:\n    ids = count()\nfrom itertools import count", True),
        ("def f():\n    global x\n    x = 1", True),
        ("import random\ndef f():\n    return random.Random()", False),
        ("from itertools import count\nf = lambda: count()", False),
    ],
)
def test_a_module_that_remembers_is_found(source: str, remembers: bool) -> None:
    assert _remembers(ast.parse(source)) is remembers


def _files(root: Path) -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        files = sorted((root / package).rglob("*.py"))
        assert files, f"{package} has no module to check"
        for file in files:
            yield file.relative_to(root).as_posix(), parsed(file)


def _used(tree: ast.AST, names: frozenset[str]) -> bool:
    """Tell whether a module imports any of these names, or reaches one through an import."""
    imported = _imported(tree)
    return any(
        _within(name, names)
        for name in (*imported.values(), *(_full(node, imported) for node in ast.walk(tree)))
    )


def _remembers(tree: ast.Module) -> bool:
    imported = _imported(tree)
    return any(
        isinstance(node, ast.Call) and _full(node.func, imported) in STATEFUL | MADE_BY
        for node in _run_at_import(tree)
    ) or any(isinstance(node, ast.Global) for node in ast.walk(tree))


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _run_at_import(child)


def _imported(tree: ast.AST) -> dict[str, str]:
    """The full name behind each name that an import binds."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def _full(node: ast.AST, imported: Mapping[str, str]) -> str:
    """The full name that an expression reaches through an import; empty where it is none."""
    if isinstance(node, ast.Name):
        return imported.get(node.id, "")
    if isinstance(node, ast.Attribute) and (before := _full(node.value, imported)):
        return f"{before}.{node.attr}"
    return ""


def _within(name: str, names: frozenset[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:depth]) in names for depth in range(1, len(parts) + 1))
