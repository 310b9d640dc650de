"""TLS of a worker: trusted authorities, client certificates, and unusable files."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ojs_worker import BlockingClient, Client, Unreachable, Worker, cli
from ojs_worker.config import SettingError
from ojs_worker.jobmanager import JobManager
from ojs_worker.running.signals import SignalBox
from ojs_worker.settings import load
from ojs_worker.transport import Request, Transport
from ojs_worker.transport.direct import DirectTransport
from ojs_worker.transport.over_httpx import HttpTransport
from ojs_worker.transport.tls import tls_of
from ojs_worker.zeebe import ZeebeClient
from tests.authority import Authority
from tests.worker.conftest import QUICK, Start
from tests.worker.scripted import MemoryTransport, ScriptedServer, job, listening

HOST = "127.0.0.1"
ASK = Request("GET", "/ojs/v1/jobs/1")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def shown(authority: Authority) -> Path:
    return authority.certificate("worker")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", HOST)
    monkeypatch.setenv("NO_PROXY", HOST)


async def test_a_worker_shows_its_certificate_and_trusts_the_named_authority(
    authority: Authority, shown: Path, start: Start
) -> None:
    server = ScriptedServer(holds=True)
    async with listening(server, authority.server(HOST, asks=True)) as url:
        worker = Worker(url, tls_ca_file=str(authority.file), tls_cert_file=str(shown), **QUICK)

        @worker.job("test.echo")
        async def echo() -> None: ...

        async with start(worker):
            await server.offer(job(1))
            await server.settled(job(1))


def ways(url: str, tls: ssl.SSLContext | None) -> Iterator[Transport]:
    yield DirectTransport(url, tls=tls)
    yield HttpTransport(url, tls=tls)


@pytest.mark.parametrize("names", [(), ("tls_ca_file",), ("tls_ca_file", "tls_cert_file")])
async def test_every_way_trusts_and_shows_only_what_it_was_given(
    authority: Authority, shown: Path, names: tuple[str, ...]
) -> None:
    files = {"tls_ca_file": str(authority.file), "tls_cert_file": str(shown)}
    server = ScriptedServer()
    server.answers[ASK.path] = lambda body: (200, {"job": {"id": "1"}})
    async with listening(server, authority.server(HOST, asks=True)) as url:
        tls = tls_of(load({}, {"url": url, **{name: files[name] for name in names}}, {}))
        for way in ways(url, tls):
            if len(names) == 2:
                assert (await way.send(ASK)).well
            else:
                with pytest.raises(Unreachable):
                    await way.send(ASK)
            await way.close()
    assert len(server.calls) == (2 if len(names) == 2 else 0)


async def test_a_certificate_of_another_name_is_told(authority: Authority) -> None:
    tls = ssl.create_default_context(cafile=authority.file)
    async with listening(ScriptedServer(), authority.server("other.example")) as url:
        for way in ways(url, tls):
            with pytest.raises(Unreachable, match="certificate is not valid for"):
                await way.send(ASK)
            await way.close()


async def test_clients_take_a_context_of_the_program(authority: Authority) -> None:
    tls = ssl.create_default_context(cafile=authority.file)
    server = ScriptedServer()
    server.answers[ASK.path] = lambda body: (200, {"job": {"id": "1", "type": "a.b"}})
    async with listening(server, authority.server(HOST)) as url:
        async with Client(url, tls=tls) as client:
            assert (await client.get("1")).type == "a.b"
        with BlockingClient(url, tls=tls) as blocking:
            assert (await asyncio.to_thread(blocking.get, "1")).type == "a.b"


async def jobs_of_a_room(url: str, **files: Any) -> None:
    manager = await asyncio.to_thread(JobManager, url, **files)
    try:
        assert await asyncio.to_thread(manager.list_jobs, "lab") == []
    finally:
        await asyncio.to_thread(manager.disconnect)


async def a_job(url: str, **files: Any) -> None:
    client = ZeebeClient(url, **files)
    try:
        assert (await client.create_job("test.echo")).id == job(1)["id"]
    finally:
        await client.close()


@pytest.mark.parametrize("ask", [jobs_of_a_room, a_job])
@pytest.mark.parametrize("named", [True, False])
async def test_workers_of_other_systems_take_the_files_too(
    authority: Authority,
    shown: Path,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[..., Awaitable[None]],
    named: bool,
) -> None:
    files = {"tls_ca_file": str(authority.file), "tls_cert_file": str(shown)}
    server = ScriptedServer()
    server.answers["/v1/joblib/rooms/lab/jobs"] = lambda body: (200, {"items": []})
    server.answers["/ojs/v1/jobs"] = lambda body: (201, {"job": job(1)})
    async with listening(server, authority.server(HOST, asks=True)) as url:
        with monkeypatch.context() as hasty:
            hasty.setenv("OJS_DEADLINE", "0.1s")
            with pytest.raises(Unreachable):
                await ask(url)
        if not named:
            for name, file in files.items():
                monkeypatch.setenv(f"OJS_{name.upper()}", file)
        await ask(url, **(files if named else {}))


def test_files_go_with_an_encrypted_url_only() -> None:
    makers: list[Callable[..., Any]] = [JobManager, ZeebeClient]
    for make in makers:
        with pytest.raises(SettingError, match="tls_ca_file: the server's URL does not begin"):
            make("http://127.0.0.1:1", tls_ca_file="ca.pem")
        with pytest.raises(TypeError, match="'tls_ca' is none of tls_ca_file, "):
            make("https://127.0.0.1:1", tls_ca="ca.pem")
    with pytest.raises(TypeError, match="'tls_ca_file' goes with a URL"):
        JobManager(MemoryTransport(ScriptedServer()), tls_ca_file="ca.pem")


Given = dict[str, Any]
Files = Callable[[Authority, Path, Path], Given]


def key_with_password(folder: Path) -> str:
    file = folder / "locked.pem"
    file.write_bytes(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    return str(file)


def junk(folder: Path) -> str:
    file = folder / "junk.pem"
    file.write_text("no certificate")
    return str(file)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda ca, mine, tmp: {"tls_ca_file": f"{tmp}/none"}, "tls_ca_file: .*/none: No such"),
        (lambda ca, mine, tmp: {"tls_ca_file": str(tmp)}, "tls_ca_file: .*: Is a directory"),
        (lambda ca, mine, tmp: {"tls_ca_file": "a\0b"}, "tls_ca_file: .*null"),
        (lambda ca, mine, tmp: {"tls_ca_file": junk(tmp)}, r"tls_ca_file: .*junk\.pem: holds no"),
        (
            lambda ca, mine, tmp: {"tls_cert_file": str(mine), "tls_key_file": f"{tmp}/none"},
            "tls_key_file: .*/none: No such",
        ),
        (lambda ca, mine, tmp: {"tls_key_file": str(mine)}, "tls_key_file: is of no use without"),
        (
            lambda ca, mine, tmp: {"tls_cert_file": str(ca.file)},
            r"tls_cert_file: .*ca\.pem: not a certificate and its key",
        ),
        (
            lambda ca, mine, tmp: {"tls_cert_file": str(ca.file), "tls_key_file": str(mine)},
            r"tls_cert_file, tls_key_file: .*ca\.pem, .*: not a certificate and its key",
        ),
        (
            lambda ca, mine, tmp: {
                "tls_cert_file": str(mine),
                "tls_key_file": key_with_password(tmp),
            },
            "tls_key_file: the key has a password",
        ),
        (
            lambda ca, mine, tmp: {"tls_ca_file": str(ca.file), "url": "http://127.0.0.1:1"},
            "tls_ca_file: the server's URL does not begin with https://",
        ),
    ],
)
def test_files_that_are_no_good_are_told(
    authority: Authority, shown: Path, tmp_path: Path, given: Files, words: str
) -> None:
    with pytest.raises(SettingError, match=words):
        tls_of(load({}, {"url": f"https://{HOST}:1", **given(authority, shown, tmp_path)}, {}))


def test_the_command_tells_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "set_up", lambda *_: None)
    monkeypatch.setattr(SignalBox, "install", lambda _: None)
    given = ["--url", f"https://{HOST}:1", "--tls-ca-file", str(tmp_path / "none")]
    assert cli.main(["demo", *given]) == 2
    assert f"tls_ca_file: {tmp_path / 'none'}: No such file" in capsys.readouterr().err


async def test_a_worker_with_a_way_of_its_own_needs_no_files(
    make_worker: Callable[..., Worker],
) -> None:
    assert make_worker(tls_ca_file="/none").config().tls_ca_file == "/none"
