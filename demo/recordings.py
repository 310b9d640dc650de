"""Record the command `ojs` for its documentation, from the demo in a pseudo-terminal."""

import argparse
import asyncio
import fcntl
import logging
import os
import pty
import struct
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final

import httpx

from demo.animation import Frame, animated
from demo.dashboard import fulfilment, shop
from demo.terminal import Terminal

INTO: Final = Path("docs/cli")
# Head start of the demo, so that there is something to see.
PAST_S: Final = 90.0
# A screen that was shown for less time is left out.
SHORTEST_S: Final = 0.4
WIDTH: Final = 100
Script = Sequence[tuple[float, str]]
TOP: Final[Script] = (
    (5, "j"), (0.6, "j"), (0.6, "j"), (1, "\t"), (3, "\t"), (3, "R"), (2, "y"), (3, "q"),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the recordings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=INTO, help=f"the folder, default {INTO}")
    parser.add_argument(
        "--past", type=float, default=PAST_S, help="seconds that the demo runs first"
    )
    options = parser.parse_args(arguments)
    logging.getLogger("ojs").setLevel(logging.CRITICAL)
    options.into.mkdir(parents=True, exist_ok=True)
    asyncio.run(make(options.into, options.past))
    return 0


async def make(into: Path, past_s: float) -> None:
    """Record the demo."""
    async with shop(0) as url, httpx.AsyncClient(base_url=f"{url}/ojs/v1") as http:
        await asyncio.sleep(past_s)
        recorded = await record(url, ["top", "-d", "1"], 24, TOP)
        (into / "top.svg").write_text(animated(recorded, WIDTH, "ojs top"))
        report = {"type": "report.monthly", "args": ["2026-11", 12]}
        jobs = [
            {"type": "order.ship", "args": [7]},
            {**report, "options": {"queue": "reports", "priority": 5}},
        ]
        ids = [(await http.post("/jobs", json=job)).json()["job"]["id"] for job in jobs]
        recorded = await record(url, ["jobs", "watch", *ids, "--interval", "0.5"], 4, (), 20)
        (into / "watch.svg").write_text(animated(recorded, WIDTH, "ojs jobs watch"))
        flow = (await http.post("/workflows", json=quick())).json()["workflow"]["id"]
        words = ["workflows", "show", flow, "--watch", "--interval", "0.3"]
        recorded = await record(url, words, 10, (), 25)
        (into / "workflow.svg").write_text(animated(recorded, WIDTH, "ojs workflows show"))


def quick() -> dict[str, Any]:
    """The workflow of an order whose steps wait for no place among long reports."""
    flow = fulfilment(7)
    for step in flow["steps"]:
        step["options"]["queue"] = "default"
    flow["steps"][-1]["args"] = ["2026-11", 4]
    return flow


async def record(
    url: str, words: Sequence[str], height: int, script: Script, most_s: float = 60
) -> list[Frame]:
    """Run a command in a terminal, type a script, and keep what was to be seen."""
    own, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", height, WIDTH, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ojs_cli", *words, "--url", url),
        stdin=other,
        stdout=other,
        stderr=other,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(other)
    frames: list[Frame] = []
    terminal = Terminal(height)
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            terminal.feed(os.read(own, 65536).decode(errors="ignore"))
        except OSError:
            loop.remove_reader(own)
            return
        shown = tuple(terminal.lines)
        if any(shown) and (not frames or frames[-1].lines != shown):
            if frames and monotonic() - frames[-1].at_s < SHORTEST_S:
                frames[-1] = Frame(frames[-1].at_s, shown)
            else:
                frames.append(Frame(monotonic(), shown))

    loop.add_reader(own, read)
    try:
        async with asyncio.timeout(most_s):
            for pause_s, key in script:
                await asyncio.sleep(pause_s)
                os.write(own, key.encode())
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    finally:
        loop.remove_reader(own)
        os.close(own)
    return frames


if __name__ == "__main__":
    sys.exit(main())
