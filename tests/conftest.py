"""Fixtures that every test may use: the databases, and the count of tests that ran on each."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from ojs_server.store.open import open_store
from ojs_server.store.postgres import connect
from tests import plans, postgres_programs
from tests.examples import load_profile
from tests.kept import WATCHED, KeptConnection
from tests.missing import not_run
from tests.postgres import Database, Run, Server, shared_server

load_profile()

# A disk would be waited for thousands of times, by tests of which none takes away its power.
MEMORY_DISK = Path("/dev/shm")
MEMORY_NEEDED = 4 * 1024**3
RUN_VARIABLE = "OJS_TEST_RUN"
SERVER_VARIABLE = "OJS_TEST_POSTGRES"
# A test's store follows from the fixture that it uses, or from the parameter of `store_url`.
STORE_MARKS = {
    "sqlite_path": ("store_sqlite",),
    "sqlite_store": ("store_sqlite",),
    "postgres_url": ("store_postgres",),
    "postgres_store": ("store_postgres",),
    "postgres_database": ("store_postgres",),
    "durable_postgres": ("store_postgres",),
    "distribution_database": ("store_postgres", "store_distribution"),
    "distribution_store": ("store_postgres", "store_distribution"),
}
STORE_FIXTURES = {
    "sqlite": "sqlite_store",
    "postgres": "postgres_store",
    "distribution": "distribution_store",
}


class StoreCount:
    """Counts the tests that ran, by store, and says so at the end of the run."""

    def __init__(self) -> None:
        self._ran: Counter[str] = Counter()
        self._missed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one test, reported by this process or by one of its test processes."""
        if report.when == "call" and not report.skipped:
            self._ran.update(name for name in report.keywords if name.startswith("store_"))
        elif report.when == "setup" and report.skipped:
            self._missed += "store_distribution" in report.keywords

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> Iterator[None]:
        """Write the line after everything but pytest's own verdict."""
        yield
        if config.option.collectonly:
            return
        terminalreporter.write_line(
            f"stores: {self._ran['store_sqlite']} tests ran on SQLite, "
            f"{self._ran['store_postgres']} on PostgreSQL "
            f"({self._ran['store_distribution']} of them on the distribution's)"
        )
        if self._missed:
            terminalreporter.write_line(
                f"NOT RUN: {self._missed} tests on the distribution's PostgreSQL, because "
                f"{postgres_programs.MISSING}",
                red=True,
                bold=True,
            )


# httpx looks for it on the whole path at every request to an application, and it is not there.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]
RUN = pytest.StashKey[Run]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep connections; open the run's folder in the process that all others descend from."""
    # A run in the background ignores SIGINT, and all programs of the tests would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    connect.DRIVER = KeptConnection
    if not hasattr(config, "workerinput"):
        if "TMPDIR" not in os.environ and _has_room(MEMORY_DISK):
            os.environ["TMPDIR"] = str(MEMORY_DISK)
            tempfile.tempdir = None  # forget the cached folder
        run = config.stash[RUN] = Run()
        os.environ[RUN_VARIABLE] = str(run.folder)
        config.pluginmanager.register(StoreCount())


def _has_room(folder: Path) -> bool:
    usable = folder.is_dir() and os.access(folder, os.W_OK)
    return usable and shutil.disk_usage(folder).free >= MEMORY_NEEDED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the run: no server outlives it."""
    if RUN in config.stash:
        config.stash[RUN].close()


def _long_ones_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Order the tests so that each test process begins with some of the long ones.

    A process begins with a part of its own. A long test that is begun last is waited for.
    """
    parts = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    long = [item for item in items if item.get_closest_marker("long")]
    short = [item for item in items if not item.get_closest_marker("long")]
    ordered: list[pytest.Item] = []
    for part in range(parts):
        # As `worksteal` shares them out.
        size = (len(items) - len(ordered)) // (parts - part)
        first = long[part::parts]
        rest = max(0, size - len(first))
        ordered += [*first, *short[:rest]]
        del short[:rest]
    return ordered


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Disable the garbage collector during collection, since all that is made stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark each test with the stores it runs on; have long ones of those selected begun first."""
    for item in items:
        if isinstance(item, pytest.Function):
            used = set(item.fixturenames)
            if hasattr(item, "callspec") and "store_url" in item.callspec.params:
                used.add(STORE_FIXTURES[str(item.callspec.params["store_url"])])
            for fixture in used & STORE_MARKS.keys():
                for mark in STORE_MARKS[fixture]:
                    item.add_marker(mark)
    yield  # here -m selects
    items[:] = _long_ones_first(items)


def pytest_collection_finish() -> None:
    """Freeze all collected tests and modules, so that the garbage collector skips them.

    The little that is garbage already stays with them: to look for it takes longer.
    """
    gc.freeze()


@pytest.fixture(scope="session")
def run_folder() -> Path:
    """The folder that this run's servers live in."""
    return Path(os.environ[RUN_VARIABLE])


def own_server(run_folder: Path, name: str, programs: Path) -> str:
    """The server of this test process.

    Not one for all: a snapshot counts the open transactions of the whole server, so a test that
    keeps one open would hold back the event cursors of the tests beside it.
    """
    process = os.environ.get("PYTEST_XDIST_WORKER", "only")
    return shared_server(run_folder, f"{name}-{process}", programs)


@pytest.fixture(scope="session")
def postgres_database(run_folder: Path) -> Iterator[Database]:
    """This process's database on the chosen PostgreSQL, or on the server that OJS_TEST_POSTGRES
    names."""
    server = os.environ.get(SERVER_VARIABLE) or own_server(
        run_folder, "chosen", postgres_programs.chosen(run_folder)
    )
    database = Database(server)
    yield database
    database.close()


@pytest.fixture(scope="session")
def distribution_programs() -> Path:
    """The folder of the server programs that the machine's distribution brings."""
    programs = postgres_programs.distribution()
    if programs is not None:
        return programs
    if postgres_programs.is_expected():
        pytest.fail(postgres_programs.MISSING)
    pytest.skip(postgres_programs.MISSING)


@pytest.fixture(scope="session")
def distribution_database(run_folder: Path, distribution_programs: Path) -> Iterator[Database]:
    """This process's database on the distribution's PostgreSQL."""
    database = Database(own_server(run_folder, "distribution", distribution_programs))
    yield database
    database.close()


@pytest.fixture
def postgres_url(postgres_database: Database) -> Iterator[str]:
    """The URL of an empty schema on PostgreSQL, dropped after the test."""
    with postgres_database.schema() as url:
        yield url


@pytest.fixture
def postgres_store(postgres_database: Database) -> Iterator[str]:
    """The URL of an empty store on PostgreSQL, its tables made already."""
    with postgres_database.store() as url:
        yield url


@pytest.fixture
def distribution_store(distribution_database: Database) -> Iterator[str]:
    """The URL of an empty store on the distribution's PostgreSQL, its tables made already.

    At the end it is seen that nothing was compiled and no table that grows was read as a whole.
    """
    with distribution_database.store() as url:
        WATCHED.taken()
        yield plans.telling(url)
        assert plans.amiss(WATCHED.taken()) == []


@pytest.fixture
def durable_postgres(request: pytest.FixtureRequest, run_folder: Path) -> Iterator[Server]:
    """A server of the test's own, with fsync on, started, that the test may stop and start.

    It is the distribution's where the test is given "distribution" for it.
    """
    programs = (
        request.getfixturevalue("distribution_programs")
        if getattr(request, "param", None) == postgres_programs.DISTRIBUTION
        else postgres_programs.chosen(run_folder)
    )
    server = Server(programs, run_folder / f"own-{uuid4().hex}", durable=True)
    server.start()
    yield server
    server.destroy()


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    """The path of a SQLite database that is not made yet."""
    return tmp_path / "ojs.db"


@pytest.fixture(scope="session")
def new_sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a new SQLite store, to be copied: that is quicker than to make its tables."""
    path = tmp_path_factory.mktemp("store") / "ojs.db"
    open_store(str(path)).close()
    return path


@pytest.fixture
def sqlite_store(sqlite_path: Path, new_sqlite_store: Path) -> Path:
    """The path of an empty SQLite store in a file of its own."""
    shutil.copyfile(new_sqlite_store, sqlite_path)
    return sqlite_path


def url_of_store(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store of the kind that a fixture's parameter names."""
    place = request.getfixturevalue(STORE_FIXTURES[request.param])
    return f"sqlite:///{place}" if request.param == "sqlite" else str(place)


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store, once for each kind; "distribution" by indirect parametrisation."""
    return url_of_store(request)


@pytest.fixture
def mysql(run_folder: Path) -> Iterator[str]:
    """The URL of an empty database on MariaDB."""
    # Needs a driver that not all environments of tests have.
    from tests import mariadb

    if not mariadb.is_there():
        not_run(f"tests on MariaDB, because {mariadb.MISSING}")
    with mariadb.database(run_folder) as url:
        yield url
