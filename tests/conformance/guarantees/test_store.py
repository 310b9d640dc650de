"""Stores are started and killed by commands: in the foreground, or as daemons."""

import os
import shlex
import signal
import socket
import sys
from pathlib import Path

import pytest

from conformance.guarantees.store import Commands, Store
from conformance.processes.ports import reserve_port
from conformance.processes.program import StartError

# Counts its starts; its child listens, in a process group of its own, as those of PostgreSQL have.
LISTENS = """
import os, socket, sys
port, folder = int(sys.argv[1]), sys.argv[2]
open(os.path.join(folder, "starts"), "a").write("x")
if os.fork():
    os.wait()
    sys.exit()
os.setsid()
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", port))
open(os.path.join(folder, "pid"), "w").write(str(os.getpid()))
listener.listen()
while True:
    listener.accept()[0].close()
"""
# Ends when the listener has started.
DAEMON = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], start_new_session=True,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""
LIMIT_S = 30.0


def python(script: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-I", "-c", script, *arguments])


def store(commands: Commands, folder: Path, limit_s: float = LIMIT_S) -> Store:
    places = {"{store_port}": str(reserve_port()), "{dir}": str(folder)}
    return Store(commands, places, limit_s)


def listens(store: Store) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", store.port)) == 0


async def test_a_store_is_killed_with_its_children_and_started_again(tmp_path: Path) -> None:
    command = python(LISTENS, "{store_port}", "{dir}")
    made = store(Commands(start=command), tmp_path)
    for starts in ("x", "xx"):
        await made.start()
        assert (tmp_path / "starts").read_text() == starts
        assert listens(made)
        await made.kill()
        assert not listens(made)
    await made.close()


async def test_a_daemon_is_ended_by_commands(tmp_path: Path) -> None:
    start = python(DAEMON, LISTENS, "{store_port}", "{dir}")
    kill = "sh -c 'kill -9 $(cat {dir}/pid)'"
    stop = "sh -c 'echo stopped > {dir}/stopped; kill -9 $(cat {dir}/pid)'"
    made = store(Commands(start=start, kill=kill, stop=stop), tmp_path)
    await made.start()
    assert listens(made)
    await made.kill()
    assert not listens(made)
    await made.start()
    await made.close()
    assert (tmp_path / "stopped").exists()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "print('no disk'); raise SystemExit(3)",
            "the command of the store ended with 3\n    no disk",
        ),
        ("", "ended with 0; say how to kill it, by --store-kill"),
        ("import signal; signal.pause()", "the store took no connection within 0.3 s"),
    ],
)
async def test_a_store_that_does_not_start_is_an_error(
    tmp_path: Path, script: str, message: str
) -> None:
    made = store(Commands(start=python(script, "{store_port}")), tmp_path, 0.3)
    if "ended" in message:
        made = store(Commands(start=python(script, "{store_port}")), tmp_path)
    with pytest.raises(StartError) as caught:
        await made.start()
    await made.close()
    assert message in str(caught.value)


async def test_a_command_that_kills_nothing_is_an_error(tmp_path: Path) -> None:
    start = python(DAEMON, LISTENS, "{store_port}", "{dir}")
    made = store(Commands(start=start, kill="true"), tmp_path, 3.0)
    await made.start()
    with pytest.raises(StartError, match="takes connections though it was killed"):
        await made.kill()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
