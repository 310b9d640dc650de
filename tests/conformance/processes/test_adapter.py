"""Programs of adapters that do not answer as agreed: each is an error that says what happened."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from conformance.processes.adapter import AdapterProgram
from conformance.processes.program import StartError

SAYS_HELLO = (
    "import json, os, sys, time\n"
    "def tell(**answer): print(json.dumps(answer), flush=True)\n"
    "sys.stdin.readline()\n"
    "tell(id=1, hello={'points': ['enqueued'], 'relay': True, 'name': 'n'})\n"
)


@asynccontextmanager
async def program(script: str, answer_s: float = 60) -> AsyncIterator[AdapterProgram]:
    made = AdapterProgram([sys.executable, "-I", "-c", script], {}, answer_s)
    try:
        yield made
    finally:
        await made.kill()


async def test_a_program_pauses_and_goes_on() -> None:
    script = (
        f"{SAYS_HELLO}asked = json.loads(sys.stdin.readline())\n"
        "tell(id=2, at=asked['pause_at'])\n"
        "tell(id=2, rows=[sys.stdin.readline().strip()])\n"
    )
    async with program(script) as made:
        abilities = await made.start()
        assert (abilities.points, abilities.relay, abilities.ordered) == (
            ("enqueued",),
            True,
            False,
        )
        assert (await made.ask("relay", pause_at="enqueued")).at == "enqueued"
        assert (await made.go()).rows == ('{"id":2,"go":true}',)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("print('ready', flush=True); input(); input()", "wrote 'ready', which is no answer"),
        ("print('{\"id\":', flush=True); input(); input()", "which is no answer"),
        ("print(b'\\xff', flush=True); input(); input()", "its output is for answers alone"),
        (
            "import sys\nprint('no such table', file=sys.stderr)\nraise SystemExit(3)",
            "ended with 3, where 'hello' waits for its answer\n    no such table",
        ),
        ("import os; os.close(1); input(); input()", "closed its output"),
        ("print('x' * 2_000_000, flush=True); input()", "wrote a line of more than 1048576 bytes"),
        (
            SAYS_HELLO.replace("id=1", "id=7"),
            r"answered request 7 (hello), where request 1 (hello) waits",
        ),
        (SAYS_HELLO.replace("enqueued", "enqued"), "Invalid enum value 'enqued'"),
        (SAYS_HELLO.replace("relay", "relays"), "unknown field `relays`"),
        (SAYS_HELLO.replace("id=1,", "id=1, done=True,"), "one of hello, at, done, rows"),
        ('print(\'{"id": 1, "rows": []}\', flush=True); input()', "answered 'rows' to 'hello'"),
    ],
)
async def test_what_is_not_agreed_is_an_error(script: str, told: str) -> None:
    # After its output was closed, its end is waited for, in case that says more.
    async with program(script, 1 if "close" in script else 60) as made:
        with pytest.raises(StartError) as error:
            await made.start()
    assert told in str(error.value)


async def test_an_answer_that_does_not_come_is_not_waited_for_without_end() -> None:
    async with program("import time\nwhile True: time.sleep(60)", 1) as made:
        with pytest.raises(StartError, match="gave no answer to 'hello' within 1 s"):
            await made.start()


async def test_a_program_that_reads_nothing_is_not_waited_for_without_end() -> None:
    async with program(f"{SAYS_HELLO}while True: time.sleep(60)", 2) as made:
        await made.start()
        with pytest.raises(StartError, match="gave no answer to 'rows' within 2 s"):
            await made.ask("rows", of=["x" * 1_000_000])


async def test_a_program_that_has_ended_is_told_nothing_more() -> None:
    async with program(f"{SAYS_HELLO}sys.exit(4)") as made:
        await made.start()
        with pytest.raises(StartError, match="ended with 4, where 'rows' waits"):
            await made.ask("rows", of=[])


async def test_a_program_that_writes_without_end_can_be_killed() -> None:
    async with program(f"{SAYS_HELLO}while True: os.write(1, b'x' * 65536)") as made:
        await made.start()
        with pytest.raises(StartError, match="wrote a line of more than"):
            await made.ask("rows", of=[])
        await made.kill()
        with pytest.raises(StartError, match="ended with -9"):
            await made.ask("rows", of=[])


async def test_a_command_that_cannot_be_run_is_told() -> None:
    made = AdapterProgram(["/no/such/program"], {}, 60)
    with pytest.raises(StartError, match="cannot run '/no/such/program': No such file"):
        await made.start()
    await made.kill()
