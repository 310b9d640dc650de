"""Servers that the judge starts itself: started, killed, started again, or told why not."""

import re
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from conformance.commands.cli import main
from conformance.processes.server import ServerProcess, StartError

# Counts its starts in a file of its folder and answers with their number.
SERVER = """
import http.server, os, pathlib, sys
place = pathlib.Path(os.environ["OJS_CONFORMANCE_DIR"]) / "starts"
starts = int(place.read_text()) + 1 if place.exists() else 1
place.write_text(str(starts))
print("started", starts, "in", sys.argv[2], flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(404)
        self.send_header("X-Starts", str(starts))
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
COMMAND = f"{sys.executable} -c {shlex.quote(SERVER)} {{port}} {{dir}}"


@pytest.fixture
async def process() -> AsyncIterator[ServerProcess]:
    """A server that is ended with the test."""
    made = ServerProcess(COMMAND)
    yield made
    await made.close()


async def starts(process: ServerProcess) -> str:
    async with httpx.AsyncClient() as client:
        return (await client.get(process.url)).headers["x-starts"]


async def test_a_killed_server_starts_again_with_its_port_and_folder(
    process: ServerProcess,
) -> None:
    await process.start()
    url = process.url
    assert await starts(process) == "1"
    await process.kill()
    assert f"started 1 in {process.folder}" in process.output
    with pytest.raises(httpx.ConnectError):
        await starts(process)
    await process.start()
    assert process.url == url
    assert await starts(process) == "2"


async def test_a_line_that_is_written_in_pieces_is_kept_as_one() -> None:
    script = (
        "import os, time\n"
        "for piece in ('no ', 'such ', 'option\\nand', ' more'):\n"
        "    os.write(1, piece.encode())\n"
        "    time.sleep(0.05)\n"
    )
    made = ServerProcess(f"{sys.executable} -c {shlex.quote(script)}")
    with pytest.raises(StartError):
        await made.start()
    assert made.output == "no such option\nand more"
    await made.close()


async def test_another_one_shares_the_folder_and_not_the_port(process: ServerProcess) -> None:
    await process.start()
    other = process.another()
    await other.start()
    assert await starts(other) == "2"
    assert other.port != process.port
    await other.close()
    await process.kill()
    await process.start()
    assert await starts(process) == "3"


async def test_closing_removes_the_folder(process: ServerProcess) -> None:
    await process.start()
    assert is_there(process.folder)
    await process.close()
    assert not is_there(process.folder)


def is_there(folder: str) -> bool:
    return Path(folder).is_dir()


async def test_stopping_answers_the_exit_code(process: ServerProcess) -> None:
    await process.start()
    assert await process.stop() == -15


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/nowhere/server {port}", "cannot run '/nowhere/server': No such file or directory"),
        ("", "the server command is empty"),
        ("server 'open", "the server command cannot be read: No closing quotation"),
        (
            f"{sys.executable} -c \"print('no such option'); raise SystemExit(3)\"",
            "the server command ended with 3\n    no such option",
        ),
    ],
)
async def test_what_cannot_be_started_is_told(command: str, told: str) -> None:
    made = ServerProcess(command)
    try:
        with pytest.raises(StartError) as caught:
            await made.start()
        assert str(caught.value) == told
    finally:
        await made.close()


def test_a_run_whose_server_does_not_start_has_a_verdict_for_every_case(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--server-cmd", "/nowhere/server", "--suite", "queues"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "error (cannot run '/nowhere/server': No such file or directory)" in lines[0]
    (counted,) = [line for line in lines if re.match(r"\d+ cases: ", line)]
    assert re.fullmatch(r"(\d+) cases: \1 error", counted)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "say where the server is, with --url, or how to start it, with --server-cmd"),
        (["--variant", "keys"], "must look like keys="),
        (["--variant", "main=x"], "must look like keys="),
        (
            ["--url", "http://x", "--variant", "smal=x"],
            "no variant is called 'smal' (nearest: 'small')",
        ),
        (["--jobs", "0"], "'0' is no number from 1"),
        (["--url", "http://x", "--case", "OJS-FET-99"], "no case has the id 'OJS-FET-99'"),
    ],
)
def test_misuse(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    try:
        code = main(["run", *arguments])
    except SystemExit as error:
        code = int(str(error.code))
    assert code == 2
    assert told in capsys.readouterr().err


def test_cases_can_be_listed_by_suite_and_by_clause(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--list", "--case", "OJS-FET-009", "--level", "0"]) == 0
    assert capsys.readouterr().out.split() == [
        "fetch.thirty_two_fetchers",
        "fetch.one_job_for_many",
    ]
