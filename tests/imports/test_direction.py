"""Tests of the direction of imports: rules on what each package may import, with reasons."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.imports.source import ROOT, Import, imports

OURS = frozenset(
    {
        *("ojs_wire", "ojs_server", "ojs_ui", "ojs_worker", "ojs_django", "ojs_starlette"),
        *("ojs_cli", "pytest_ojs", "conformance"),
    }
)
SYSTEMS = sorted(
    folder.name
    for folder in (ROOT / "ojs_server" / "systems").iterdir()
    if (folder / "__init__.py").exists()
)
STANDARD_LIBRARY = frozenset(sys.stdlib_module_names)
# The folders of the SDK, each of which may use those before it.
SDK = (
    *("transport", "client", "handlers", "processes", "running", "supervision", "outbox"),
    *("blackboard", "jobmanager", "zeebe"),
)


@dataclass(frozen=True)
class Rule:
    """Rule on the imports of one package: nothing in `never`, and if given nothing but `only`."""

    package: str
    reason: str
    never: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    # A module or package that may break the rule, but only inside its functions, or for types.
    lazily_except: str | None = None
    # A package inside the package that the rule does not speak of.
    apart: str | None = None

    def forbids(self, name: str) -> bool:
        """Return True if the rule forbids this absolute module or member name."""
        return _within(name, self.never) or (self.only is not None and not _within(name, self.only))


def _folders(*names: str) -> frozenset[str]:
    """Return the names of folders of the conformance suite as packages."""
    assert all((ROOT / "conformance" / name).is_dir() for name in names)
    return frozenset(f"conformance.{name}" for name in names)


RULES = (
    Rule(
        "ojs_wire",
        "the wire shapes are shared by server and SDK, so they depend on neither",
        never=OURS - {"ojs_wire"},
    ),
    Rule(
        "ojs_server.domain",
        "the protocol's rules are pure: time, chance and the outside world are arguments to them",
        only=STANDARD_LIBRARY | {"ojs_wire", "ojs_server.domain", "msgspec"},
        never=frozenset({"time", "random", "secrets", "asyncio", "os", "sqlite3", "psycopg"}),
    ),
    Rule(
        "ojs_server.store",
        "a store serves the housekeeping loops too, which know no HTTP",
        never=frozenset({"ojs_server.http"}),
    ),
    Rule(
        "ojs_server.ops",
        "the use cases are called by routes and by loops alike, so they know no HTTP",
        never=frozenset({"ojs_server.http"}),
    ),
    Rule(
        "ojs_server.connection",
        "a connection is below the handlers, and gives its requests to any application",
        never=frozenset({"ojs_server.http"}),
    ),
    Rule(
        "ojs_server.ops.engine",
        "the engine carries out operations of any subject, and knows none of them",
        never=frozenset(
            f"ojs_server.ops.{file.name}"
            for file in (ROOT / "ojs_server" / "ops").iterdir()
            if (file / "__init__.py").exists() and file.name != "engine"
        ),
    ),
    *(
        Rule(
            f"ojs_server.{layer}",
            "other systems add to the server, which knows none of them",
            never=frozenset({"ojs_server.systems"}),
        )
        for layer in (
            *("domain", "store", "ops", "http", "grpc", "loops", "webhooks"),
            *("connection", "observe"),
        )
    ),
    *(
        Rule(
            f"ojs_server.systems.{name}",
            "a system is served without the others",
            never=frozenset(f"ojs_server.systems.{other}" for other in SYSTEMS if other != name),
        )
        for name in SYSTEMS
    ),
    Rule(
        "ojs_worker",
        "a worker runs without a server; only the testing tools may start one, when called",
        never=frozenset({"ojs_server"}),
        lazily_except="ojs_worker.testing",
    ),
    Rule(
        "ojs_worker",
        "the SDK shares nothing with the judge, and works with every test runner",
        never=frozenset({"conformance", "pytest", "pytest_ojs"}),
    ),
    Rule(
        "ojs_worker",
        "whoever runs a worker does not load what tests it",
        never=frozenset({"ojs_worker.testing"}),
        apart="ojs_worker.testing",
    ),
    *(
        Rule(
            f"ojs_worker.{folder}",
            "a folder of the SDK serves those after it, and knows none of them",
            never=frozenset(f"ojs_worker.{later}" for later in SDK[number + 1 :]),
        )
        for number, folder in enumerate(SDK)
    ),
    Rule(
        "ojs_starlette",
        "an adapter of a framework uses the SDK as other programs do",
        never=OURS - {"ojs_wire", "ojs_worker", "ojs_starlette"},
    ),
    Rule(
        "ojs_django",
        "it is for Django what the SDK does for every program, and nothing of ours is built on it",
        only=STANDARD_LIBRARY
        | {"ojs_wire", "ojs_worker", "ojs_django", "asgiref", "django", "django_tasks", "msgspec"},
        never=frozenset({"ojs_worker.testing"}),
    ),
    Rule(
        "pytest_ojs",
        "pytest loads its plugins in every run, so nothing comes with this one until it is used",
        only=STANDARD_LIBRARY | {"pytest"},
        lazily_except="pytest_ojs",
    ),
    Rule(
        "pytest_ojs",
        "the plugin only hands out what the testing tools do",
        never=OURS - {"ojs_worker", "pytest_ojs"},
    ),
    Rule(
        "ojs_ui",
        "the dashboard works before any server, so it shares nothing with ours but the API",
        never=OURS - {"ojs_ui"},
    ),
    Rule(
        "ojs_cli",
        "a command starts quickly, and other programs are loaded when they are asked for",
        never=OURS - {"ojs_wire", "ojs_worker", "ojs_cli"},
        lazily_except="ojs_cli.commands",
    ),
    Rule(
        "conformance",
        "the judge shares no code with what it judges, or a shared mistake would pass",
        never=OURS - {"conformance"},
    ),
    Rule(
        "conformance.language",
        "a case file means the same for every server, and is read without one",
        only=STANDARD_LIBRARY | {"conformance.language", "msgspec"},
        never=frozenset({"asyncio", "socket", "subprocess", "time", "random", "secrets"}),
    ),
    Rule(
        "conformance.verdicts",
        "a verdict follows from what was recorded, not from how it was sent",
        never=_folders("play", "played", "rpc", "compat", "runs", "report", "commands", "cases"),
    ),
    Rule(
        "conformance.play",
        "one case is played without regard to the others, and to what is reported",
        never=_folders(
            *("compat", "runs", "report", "commands", "spec"),
            *("cases", "worker_cases", "adapter_cases"),
        ),
    ),
    Rule(
        "conformance.report",
        "reports are made of results alone, those of earlier runs included",
        never=_folders("play", "played", "rpc", "compat", "runs", "commands", "processes"),
    ),
    Rule(
        "conformance.guarantees",
        "kills are counted without regard to cases, and to the command that asks for them",
        never=_folders(
            *("compat", "played", "rpc", "runs", "commands", "spec"),
            *("cases", "worker_cases", "adapter_cases"),
        ),
    ),
    *(
        Rule(
            f"conformance.{cases}",
            "a case cannot depend on how it was chosen, and on how it is reported",
            never=_folders("compat", "runs", "report", "commands", "spec"),
        )
        for cases in ("cases", "worker_cases", "adapter_cases")
    ),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.package)
def test_imports_go_one_way(rule: Rule) -> None:
    assert list(_modules(ROOT, rule.package)), f"{rule.package} has no module to check"
    assert _violations(ROOT, rule) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("ojs_wire/job.py", "import ojs_server"),
        ("ojs_server/domain/retry.py", "from ojs_server.store import base"),
        ("ojs_server/domain/retry.py", "from .. import store"),
        ("ojs_server/domain/retry.py", "import httpx"),
        ("ojs_server/domain/deep/cron.py", "from time import monotonic"),
        ("ojs_server/domain/cron.py", "import os.path"),
        ("ojs_server/store/sqlite/store.py", "from ...http import errors"),
        ("ojs_server/store/base.py", "from ojs_server import domain, http"),
        ("ojs_server/ops/claim.py", "if TYPE_CHECKING:\n    import ojs_server.http.body"),
        ("ojs_server/connection/deadlines.py", "from ojs_server.http.errors import answer_of"),
        ("ojs_server/ops/engine/batch.py", "from ojs_server.ops.workers.claim import Claim"),
        ("ojs_server/ops/claim.py", "def f():\n    from ojs_server.systems import zeebe"),
        ("ojs_server/systems/zeebe/jobs.py", "import ojs_server.systems.jobmanager.domain.names"),
        ("ojs_worker/client.py", "def start():\n    import ojs_server.app"),
        ("ojs_worker/testing/server.py", "from ojs_server.app import build"),
        ("ojs_worker/testing/deep/er.py", "if x:\n    from ojs_server.app import build"),
        ("ojs_worker/testings.py", "def serve():\n    from ojs_server.app import build"),
        ("ojs_worker/testing/life.py", "def f():\n    import pytest"),
        ("ojs_worker/testing/life.py", "def f():\n    import conformance.commands.cli"),
        ("ojs_worker/worker.py", "def f():\n    from ojs_worker.testing import Sandbox"),
        ("ojs_worker/worker.py", "def f():\n    from .testing.clock import Clock"),
        ("ojs_worker/transport/tls.py", "from ojs_worker.running import beats"),
        ("ojs_worker/client/events.py", "if x:\n    from ..handlers.registry import Handler"),
        ("ojs_worker/running/engine.py", "def f():\n    import ojs_worker.supervision.reload"),
        ("ojs_worker/supervision/reload.py", "from ojs_worker import zeebe"),
        ("ojs_starlette/jobs.py", "from ojs_server.app import Application"),
        ("pytest_ojs/__init__.py", "from ojs_worker import Worker"),
        ("pytest_ojs/__init__.py", "import msgspec"),
        ("pytest_ojs/__init__.py", "def f():\n    import ojs_server"),
        ("ojs_ui/files.py", "from ojs_server.http import answers"),
        ("ojs_cli/commands/server.py", "from ojs_server.cli import main"),
        ("ojs_cli/session.py", "def f():\n    import conformance.commands.cli"),
        ("conformance/case.py", "async def run():\n    from ojs_wire import codec"),
        ("conformance/language/match.py", "from conformance.verdicts import verdict"),
        ("conformance/language/load.py", "import httpx"),
        ("conformance/verdicts/reply.py", "def f():\n    from conformance.play.wire import Wire"),
        ("conformance/play/stage.py", "from conformance.runs.runner import Plan"),
        ("conformance/report/page.py", "from ..processes import server"),
        ("conformance/worker_cases/beats.py", "from conformance.report import console"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, path: str, source: str) -> None:
    _plant(tmp_path, path, source)
    found = [line for rule in RULES for line in _violations(tmp_path, rule)]
    assert len(found) == 1
    assert found[0].startswith(f"{path}:{len(source.splitlines())} ")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("ojs_wire/job.py", "import msgspec\nfrom .codec import encode"),
        ("ojs_server/domain/retry.py", "from datetime import timedelta\nfrom . import errors"),
        ("ojs_server/domain/__init__.py", "from .retry import next_delay"),
        ("ojs_server/store/base.py", "import http\nfrom ojs_server.domain import errors"),
        ("ojs_worker/testing/server.py", "def serve():\n    from ojs_server.app import build"),
        ("ojs_worker/testing/life.py", "if TYPE_CHECKING:\n    from ojs_server.app import Server"),
        ("ojs_worker/testing/__init__.py", "from ojs_worker.testing.clock import Clock"),
        ("ojs_worker/running/engine.py", "from ojs_worker.processes.pool import ProcessPool"),
        ("pytest_ojs/__init__.py", "import pytest\ndef f():\n    import ojs_worker.testing"),
        ("conformance/play/wire.py", "from conformance.verdicts import exchanges\nimport httpx"),
    ],
)
def test_an_allowed_import_passes(tmp_path: Path, path: str, source: str) -> None:
    _plant(tmp_path, path, source)
    assert [line for rule in RULES for line in _violations(tmp_path, rule)] == []


def _plant(root: Path, path: str, source: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True)
    file.write_text(source)


def _violations(root: Path, rule: Rule) -> list[str]:
    return [
        f"{file.relative_to(root)}:{found.line} imports {found.name}: {rule.reason}"
        for file, module in _modules(root, rule.package)
        for found in imports(file, root)
        if rule.forbids(found.name) and not _is_excepted(rule, found, module)
    ]


def _is_excepted(rule: Rule, found: Import, module: str) -> bool:
    if rule.apart is not None and _within(module, frozenset({rule.apart})):
        return True
    lazily = frozenset({rule.lazily_except} if rule.lazily_except else ())
    return found.lazy and _within(module, lazily)


def _modules(root: Path, package: str) -> Iterator[tuple[Path, str]]:
    """Yield the package's files with their dotted names; a package's is that of its __init__."""
    for file in sorted((root / package.replace(".", "/")).rglob("*.py")):
        yield file, ".".join(file.relative_to(root).with_suffix("").parts)


def _within(name: str, packages: frozenset[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:depth]) in packages for depth in range(1, len(parts) + 1))
