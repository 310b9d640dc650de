"""Targets that are broken in every way: a clear verdict for each case, a whole report, no end."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from conformance.commands.cli import main
from conformance.play import websocket
from tests.conformance.cases import step

Reply = Callable[[bytes, socket.socket], None]
MANIFEST = b'{"specversion":"1.0","conformance_level":4,"capabilities":{"websocket":true}}'


def answer(body: bytes, kind: str = "application/json", status: str = "200 OK") -> bytes:
    """A whole HTTP answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@contextmanager
def speaking(reply: Reply) -> Iterator[str]:
    """A server in a thread that does as it is told with each connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(20)
            try:
                request = connection.recv(65536)
                while request and not ended.is_set():
                    reply(request.split(b"\r\n", 1)[0], connection)
                    request = connection.recv(65536)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        listener.close()


def html(_: bytes, connection: socket.socket) -> None:
    connection.sendall(answer(b"<!doctype html><p>It works!", "text/html"))


def failing(_: bytes, connection: socket.socket) -> None:
    connection.sendall(answer(b'{"error":{}}', status="500 Internal Server Error"))


def deep(_: bytes, connection: socket.socket) -> None:
    connection.sendall(answer(b"[" * 100_000, status="500 Internal Server Error"))


def nonsense(_: bytes, connection: socket.socket) -> None:
    connection.sendall(b"220 mail.example.org ESMTP\r\n")


def resetting(_: bytes, connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def after_the_manifest(then: Reply) -> Reply:
    """Answer the manifest well, and everything else as told."""

    def reply(line: bytes, connection: socket.socket) -> None:
        if b"/ojs/manifest" in line:
            connection.sendall(answer(MANIFEST))
        else:
            then(line, connection)

    return reply


def hanging(_: bytes, connection: socket.socket) -> None:
    connection.recv(1)  # until the client hangs up


def dripping(_: bytes, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        threading.Event().wait(0.05)


def a_gigabyte(_: bytes, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    for _megabyte in range(1024):
        connection.sendall(b" " * 1048576)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Five published cases."""
    folder = tmp_path / "suite"
    folder.mkdir()
    for number in range(5):
        wanted = {"status": 200, "body": {"$.job": "exists"}}
        content = {"test_id": f"T-{number}", "steps": [step(assertions=wanted)]}
        (folder / f"{number}.json").write_bytes(msgspec.json.encode(content))
    return folder


@pytest.mark.parametrize(
    ("reply", "verdict", "told"),
    [
        (html, "fail", "the body is not JSON"),
        (failing, "fail", "500"),
        (nonsense, "error", "server unreachable: "),
        (resetting, "error", "server unreachable: Re"),
        (after_the_manifest(resetting), "fail", "an answer"),
        (after_the_manifest(hanging), "fail", "no whole answer within 1 seconds"),
        (after_the_manifest(dripping), "fail", "no whole answer within 1 seconds"),
        (after_the_manifest(a_gigabyte), "fail", "an answer of more than"),
        (after_the_manifest(deep), "fail", "500"),
    ],
    ids=["html", "500", "smtp", "reset", "reset later", "hangs", "drips", "gigabyte", "deep"],
)
def test_every_case_has_a_verdict_and_every_report_is_whole(
    suite: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    reply: Reply,
    verdict: str,
    told: str,
) -> None:
    reports = tmp_path / "reports"
    with speaking(reply) as url:
        # Reading too much takes a slow machine more than the second in which nothing comes.
        limit = "1" if "within 1 seconds" in told else "30"
        arguments = ["run", "--url", url, "--suites", str(suite), "--timeout", limit]
        code = main([*arguments, "--jobs", "1", "--report-dir", str(reports)])
    assert code == 1
    out = capsys.readouterr().out
    assert "Traceback" not in out
    report = msgspec.json.decode((reports / "report.json").read_bytes())
    assert report["results"]["total"] == 5
    assert report["conformant"] is False
    first = report["cases"][0]
    assert first["verdict"] == verdict
    assert told in msgspec.json.encode(first).decode()
    for name in ("published.json", "junit.xml", "index.html", "badge.svg"):
        assert (reports / name).stat().st_size > 200


def test_a_server_that_falls_silent_ends_the_run_early(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with speaking(after_the_manifest(hanging)) as url:
        arguments = ["run", "--url", url, "--suites", str(suite), "--timeout", "1"]
        assert main([*arguments, "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    assert "5 cases: 3 fail, 2 error" in out
    assert "not run: the server gave no answer to the 3 cases before" in out


def test_own_cases_have_a_verdict_on_a_server_that_only_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with speaking(failing) as url:
        assert main(["run", "--url", url, "--suite", "envelope", "--suite", "queues"]) == 1
    out = capsys.readouterr().out
    assert "at fault" not in out
    assert " pass" not in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (html, "expected: a WebSocket\n            actual:   the answer 200"),
        (after_the_manifest(resetting), "the end of the connection, with 1006"),
        (after_the_manifest(hanging), "actual:   nothing within 0.3 s"),
        (after_the_manifest(a_gigabyte), "the answer 200"),
        (after_the_manifest(nonsense), "WebSocket"),
    ],
    ids=["html", "reset", "hangs", "gigabyte", "smtp"],
)
def test_cases_of_the_websocket_have_a_verdict_on_a_server_that_speaks_none(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    reply: Reply,
    told: str,
) -> None:
    monkeypatch.setattr(websocket, "_SECONDS", 0.3)
    report = tmp_path / "report.json"
    with speaking(reply) as url:
        arguments = ["run", "--url", url, "--timeout", "1", "--json", str(report)]
        assert main([*arguments, "--case", "websocket.opening"]) == 1
    out = capsys.readouterr().out
    assert told in out
    assert "at fault" not in out
    assert "Traceback" not in out
    assert "/ojs/v1/ws" in report.read_text(encoding="utf-8")
