"""The command `ojs` in this process, before real servers on both stores."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from ojs_cli.cli import main
from ojs_server.app import Server
from ojs_server.settings import Settings
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from ojs_worker.running.blocking import LoopThread
from tests.http.listening import on_a_socket

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Output:
    """The output of a run of the command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The lines of a table in a pipe."""
        return [line.split("\t") for line in self.out.splitlines()]


def program(*words: str, stdout: int = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    """Run Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=60,
    )


Ojs = Callable[..., Output]
Call = Callable[..., Any]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("sqlite", marks=pytest.mark.store_sqlite),
        pytest.param("postgres", marks=pytest.mark.store_postgres),
    ],
)
def server_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server behind a socket, one for all tests of a module."""
    with ExitStack() as stack:
        place = ":memory:"
        if request.param == "postgres":
            database = request.getfixturevalue("postgres_database")
            place = stack.enter_context(database.store())
        yield stack.enter_context(serving(place))


@contextmanager
def serving(store: Store | str, **settings: Any) -> Iterator[str]:
    """A server of a store behind a socket, in a thread; the store may be named by its URL, and
    settings be given."""
    with ExitStack() as stack:
        thread = LoopThread()
        thread.start()
        stack.callback(thread.close)
        life = AsyncExitStack()

        async def open_server() -> str:
            opened = open_store(store) if isinstance(store, str) else store
            server = Server(Settings(conformance=True, **settings), opened)
            await life.enter_async_context(server.running())
            return await life.enter_async_context(on_a_socket(server))

        url = thread.call(open_server())
        stack.callback(lambda: thread.call(life.aclose()))
        yield url


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Remove the settings of this machine."""
    for name in list(os.environ):
        if name.startswith("OJS_") and not name.startswith("OJS_TEST"):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], no_settings: None) -> Ojs:
    """Runs the command."""

    def ojs(*words: str) -> Output:
        capsys.readouterr()
        code = main(words)
        said = capsys.readouterr()
        return Output(code, said.out, said.err)

    return ojs


@pytest.fixture
def call(server_url: str) -> Call:
    """Calls the API beside the command, on an emptied server."""

    def ask(method: str, path: str, **body: Any) -> Any:
        answer = httpx.request(method, f"{server_url}/ojs/v1{path}", json=body, timeout=30)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    ask("POST", "/admin/reset")
    return ask


@pytest.fixture
def ojs(server_url: str, call: Call, run: Ojs, monkeypatch: pytest.MonkeyPatch) -> Ojs:
    """Runs the command before the server."""
    monkeypatch.setenv("OJS_URL", server_url)
    return run
