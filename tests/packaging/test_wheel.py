"""The wheel, built from the source distribution and installed into an empty environment, works
outside the checkout.

The environment holds the wheel, what the wheel declares that it needs, and nothing else, so that
a forgotten dependency or a data file left behind shows here and not at a user's.
"""

import json
import re
import sys
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from tests.packaging.installing import Installed, install

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("ojs_wire", "ojs_server", "ojs_ui", "ojs_worker", "ojs_starlette", "ojs_cli"),
    "conformance",
)
# Loaded by pytest, which no command needs.
PLUGIN = "pytest_ojs"
# Loaded by Django.
APP = "ojs_django"
# Run inside the installed environment: every file of the packages named, with its digest.
LIST_DATA = """
import hashlib, json, sys
from importlib.resources import files

def below(place, name):
    if place.is_file():
        return {name: hashlib.sha256(place.read_bytes()).hexdigest()}
    parts = [part for part in place.iterdir() if not part.name.endswith((".pyc", "__pycache__"))]
    return {k: v for part in parts for k, v in below(part, f"{name}/{part.name}").items()}

print(json.dumps({k: v for name in sys.argv[1:] for k, v in below(files(name), name).items()}))
"""


JOB_MANAGER = ROOT / "ojs_server" / "systems" / "jobmanager"
# Modules that need more than what is always installed.
OF_EXTRAS = {
    **{
        f"conformance.rpc{name}": "grpc"
        for name in ("", ".binding", ".client", ".requests", ".responses")
    },
    "conformance.report.signing": "signing",
    "ojs_server.http.tracing": "otel",
    **{
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): "grpc"
        for folder in ("grpc", "systems/zeebe/grpc")
        for file in sorted((ROOT / "ojs_server" / folder).rglob("*.py"))
    },
    **{
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): "socketio"
        for file in sorted(
            (ROOT / "ojs_server" / "systems" / "jobmanager" / "socketio").rglob("*.py")
        )
    },
    # Python brings what it needs from 3.14 on.
    **({"ojs_worker.compression": "encryption"} if sys.version_info < (3, 14) else {}),
    APP: "django",
    "ojs_worker.encryption": "encryption",
    "ojs_worker.otel": "otel",
    **{f"ojs_worker.outbox.{name}": "outbox" for name in ("relay", "rows", "sending", "serving")},
}


# Windows as these modules see it, once the standard library is loaded.
NO_UNIX = """
import sys
sys.argv = ["program", "--help"]
import asyncio, multiprocessing, os, signal, socket, socketserver, ssl, subprocess
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty", "uvloop"):
    sys.modules[name] = None
for place, names in (
    (signal, "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGTSTP SIGUSR1 SIGWINCH"),
    (socket, "AF_UNIX MSG_DONTWAIT"),
    (os, "fchmod fork geteuid getloadavg getpgid getuid killpg mkfifo setsid sysconf"),
):
    for name in names.split():
        delattr(place, name)
"""
# The live screen of `ojs top`, whose command says so.
OF_UNIX = frozenset({"ojs_cli.top.terminal"})


def all_modules(packages: Iterable[str]) -> list[str]:
    return [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in packages
        for file in sorted((ROOT / package).rglob("*.py"))
        if file.stem != "__main__"
    ]


def plain_modules(packages: Iterable[str]) -> list[str]:
    """The modules that need no extra but those that commands need."""
    return [module for module in all_modules(packages) if module not in OF_EXTRAS]


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    extras = frozenset({"", "server", "conformance", "cli"})
    return install(wheel, tmp_path_factory.mktemp("environment"), extras)


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(wheel, tmp_path_factory.mktemp("bare"), frozenset({""}))


def test_the_server_command_names_its_version(installed: Installed) -> None:
    (information,) = installed.packages.glob("ojs_reference-*.dist-info")
    assert PathDistribution(information).version in installed.run("ojs-server", "--version")


def test_the_worker_command_names_its_version_and_finds_its_demo(installed: Installed) -> None:
    (information,) = installed.packages.glob("ojs_reference-*.dist-info")
    assert PathDistribution(information).version in installed.run("ojs-worker", "--version")
    installed.run(
        "python", "-c", "from ojs_worker.target import find_worker as f; f('ojs_worker.demo')"
    )


@pytest.mark.parametrize("command", ["ojs-server", "ojs-worker", "ojs-conformance"])
def test_a_command_explains_itself(installed: Installed, command: str) -> None:
    assert command in installed.run(command, "--help")


def test_the_sdk_works_without_server_and_judge(bare: Installed) -> None:
    assert "ojs-worker" in bare.run("ojs-worker", "--version")
    plain = plain_modules(("ojs_wire", "ojs_worker"))
    bare.run("python", "-c", "\n".join(f"import {module}" for module in plain))
    brought = {path.name.partition("-")[0] for path in bare.packages.glob("*.dist-info")}
    # With `h11` and their like, which httpx brings.
    few = {"anyio", "certifi", "h11", "httpcore", "httptools", "httpx", "idna", "msgspec"}
    assert brought <= {*few, "ojs_reference", "sniffio", "typing_extensions"}


@pytest.mark.parametrize(
    ("command", "extra"),
    [("ojs", "cli"), ("ojs-server", "server"), ("ojs-conformance", "conformance")],
)
def test_a_command_whose_extra_is_missing_says_how_to_get_it(
    bare: Installed, command: str, extra: str
) -> None:
    ended = bare.end(command, "--help")
    assert ended.returncode != 0
    assert re.fullmatch(
        rf"{command}: needs \w+: pip install 'ojs-reference\[{extra}\]'\n", ended.stderr
    )


def test_every_module_imports_where_there_is_no_unix(installed: Installed) -> None:
    modules = [module for module in plain_modules(PACKAGES) if module not in OF_UNIX]
    installed.run("python", "-c", NO_UNIX + "\n".join(f"import {module}" for module in modules))
    for package in ("ojs_server", "ojs_worker"):
        program = f"import runpy; runpy.run_module({package!r}, None, '__main__')"
        said = installed.run("python", "-c", NO_UNIX + program)
        assert package.replace("_", "-") in said
    said = NO_UNIX + (
        "from pathlib import Path\nfrom ojs_server.store.sqlite.lock import FileLock\n"
        "try: FileLock(Path('ojs.db'), 1)\nexcept Exception as error: print(error)"
    )
    assert "name a PostgreSQL database" in installed.run("python", "-c", said)


def test_every_module_imports_with_the_declared_dependencies_alone(installed: Installed) -> None:
    plain = plain_modules(PACKAGES)
    assert set(OF_EXTRAS) <= set(all_modules([*PACKAGES, APP]))
    installed.run("python", "-c", "\n".join(f"import {module}" for module in plain))


@pytest.mark.parametrize(("module", "extra"), OF_EXTRAS.items())
def test_a_module_of_an_extra_says_how_to_get_it(
    installed: Installed, module: str, extra: str
) -> None:
    program = f"try:\n import {module}\nexcept ImportError as error:\n print(error)"
    assert f"ojs-reference[{extra}]" in installed.run("python", "-c", program)
    (information,) = installed.packages.glob("ojs_reference-*.dist-info")
    requires = PathDistribution(information).requires or ()
    assert any(f"extra == '{extra}'" in one.replace('"', "'") for one in requires)


def test_the_data_files_are_found_as_resources(installed: Installed) -> None:
    found = json.loads(installed.run("python", "-c", LIST_DATA, *PACKAGES))
    sources = {
        f"{package}/{file.relative_to(ROOT / package)}": file
        for package in PACKAGES
        for file in _files(ROOT / package)
    }
    # They are written at the root, and travel inside the judge.
    for name in ("openapi.yaml", "openapi-joblib.yaml", "openapi-camunda.yaml"):
        sources[f"conformance/data/{name}"] = ROOT / name
    spec = _files(ROOT / "spec")
    sources |= {f"conformance/data/{file.relative_to(ROOT)}": file for file in spec}
    expected = {name: sha256(file.read_bytes()).hexdigest() for name, file in sources.items()}
    assert sorted(expected) == sorted(found)
    assert expected == found


def test_no_link_of_the_page_on_an_index_leads_into_the_repository(installed: Installed) -> None:
    (information,) = installed.packages.glob("ojs_reference-*.dist-info")
    page = (information / "METADATA").read_text(encoding="utf-8")
    assert "\n# OJS" in page
    assert re.findall(r"\]\((?!https?://)[^)]*\)|(?:src|href)=", page) == []


def test_pytest_is_told_of_the_plugin(installed: Installed) -> None:
    (information,) = installed.packages.glob("ojs_reference-*.dist-info")
    found = PathDistribution(information).entry_points.select(group="pytest11")
    assert [(point.name, point.value) for point in found] == [("ojs", PLUGIN)]


@pytest.mark.parametrize("package", [PLUGIN, APP])
def test_a_package_that_other_programs_load_is_whole(installed: Installed, package: str) -> None:
    brought, expected = (
        {file.relative_to(folder) for file in _files(folder / package)}
        for folder in (installed.packages, ROOT)
    )
    assert brought == expected


@pytest.mark.parametrize(
    "folder",
    ["sqlite/sql", "sqlite/migrations", "postgres/sql", "postgres/migrations", "tables/sql"],
)
def test_a_store_brings_its_statements(installed: Installed, folder: str) -> None:
    assert list((installed.packages / "ojs_server" / "store" / folder).glob("*.sql"))


def test_nothing_but_the_packages_is_installed(installed: Installed) -> None:
    record = (next(installed.packages.glob("ojs_reference-*.dist-info")) / "RECORD").read_text()
    tops = {re.split("[/,]", line, maxsplit=1)[0] for line in record.splitlines()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {*PACKAGES, PLUGIN, APP, ".."}


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"]
