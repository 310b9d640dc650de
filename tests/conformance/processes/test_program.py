"""Programs that the judge starts: their output in bounds, their end and that of their children."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest

from conformance.processes.program import Program, StartError, Tail


def test_a_tail_keeps_what_is_short() -> None:
    tail = Tail()
    assert tail.excerpt() == ""
    for piece in (b"one\r\ntw", b"o\nthree\n"):
        tail.feed(piece)
    assert tail.text == "one\ntwo\nthree"
    assert tail.excerpt() == "\n    one\n    two\n    three"


def test_a_tail_keeps_the_end_of_what_is_long() -> None:
    tail = Tail(most_bytes=100)
    for number in range(1000):
        tail.feed(b"line %d\n" % number)
    assert tail.total == sum(len(f"line {n}\n") for n in range(1000))
    lines = tail.text.split("\n")
    assert lines[-1] == "line 999"
    assert all(line.startswith("line ") for line in lines)
    assert len(tail.text) < 130


def test_a_line_without_an_end_stays_in_bounds() -> None:
    tail = Tail(most_bytes=1000)
    for _ in range(100):
        tail.feed(b"\xff" * 500)
    assert 0 < len(tail.text) <= 1500
    assert len(tail.excerpt()) < 5000


async def test_a_flood_of_output_is_read_and_not_kept() -> None:
    script = "import os\nfor _ in range(1000): os.write(1, b'x' * 65536)\nos.write(1, b'\\nend')"
    program = Program([sys.executable, "-I", "-c", script], {})
    await program.start()
    assert await program.ended(60) == 0
    assert program.tail.total == 65_536_004
    assert program.tail.text == "end"


def states_of_threads(pid: int) -> set[str]:
    stats = Path(f"/proc/{pid}/task").glob("*/stat")
    return {stat.read_text().rpartition(") ")[2][0] for stat in stats}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
async def test_no_thread_of_a_stopped_program_runs() -> None:
    busy = "import threading\nfor _ in range(8): threading.Thread(target=input).start()\nprint()"
    program = Program([sys.executable, "-c", f"{busy}\nwhile True: pass"], {})
    await program.start()
    await program.stop_still()
    assert states_of_threads(program.pid) == {"T"}
    await program.kill()
    # There is nothing to stop any more.
    await program.stop_still()


async def test_the_whole_group_ends(tmp_path: Path) -> None:
    place = tmp_path / "child"
    os.mkfifo(place)
    end = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    child = f"(trap '' TERM; exec 3> {place}; echo up >&3; sleep 300) &"
    program = Program(["/bin/sh", "-c", f"trap '' TERM; {child} wait"], {})
    await program.start()
    assert await heard(end, b"up\n") == b"up\n"
    program.send(signal.SIGTERM)
    assert await program.ended(0.2) is None
    await program.kill()
    assert program.code == -signal.SIGKILL
    # The other end of the pipe is closed.
    assert await heard(end, b"") == b""
    os.close(end)


# A child with a session of its own, as a supervisor gives one to its processes.
APART = "import subprocess, sys\nsubprocess.Popen(sys.argv[1:], start_new_session=True).wait()"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
async def test_a_child_that_has_left_the_group_stops_goes_on_and_ends_too(tmp_path: Path) -> None:
    place = tmp_path / "child"
    os.mkfifo(place)
    end = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    child = ("/bin/sh", "-c", f"exec 3> {place}; echo $$ >&3; exec sleep 300")
    program = Program([sys.executable, "-I", "-c", APART, *child], {})
    await program.start()
    pid = int(await heard(end, b"\n"))
    await program.stop_still()
    assert states_of_threads(pid) == {"T"}
    program.go_on()
    async with asyncio.timeout(30):
        while states_of_threads(pid) == {"T"}:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await program.kill()
    assert await heard(end, b"") == b""
    os.close(end)


async def heard(end: int, wanted: bytes) -> bytes:
    """Read from a pipe until it ends with what is wanted: nothing, once nobody writes to it."""
    said: bytes | None = None
    async with asyncio.timeout(30):
        while said is None or not said.endswith(wanted) or bool(said) != bool(wanted):
            await asyncio.sleep(0.01)
            with contextlib.suppress(BlockingIOError):
                said = os.read(end, 100)
    return said


@pytest.mark.parametrize("command", ["/no/such/program", "/", "\0"])
async def test_what_cannot_be_run_is_told(command: str) -> None:
    with pytest.raises(StartError, match="cannot run"):
        await Program([command], {}).start()
