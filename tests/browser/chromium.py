"""A real browser: Debian's Chromium without a window, and pages that report what they could do."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

LONGEST_S: Final = 90
_OPTIONS: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-extensions", "--mute-audio"),
)


class Pages:
    """A web server of one page, which reports to where it came from."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.reported: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        body = b""
        if head.startswith("POST /report "):
            lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
            told = await reader.readexactly(int(lines["content-length"]))
            if not self.reported.done():
                self.reported.set_result(json.loads(told))
        elif head.startswith("GET / "):
            body = f"<!doctype html><body><script type=module>{self.script}</script>".encode()
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()


@asynccontextmanager
async def pages(script: str) -> AsyncIterator[Pages]:
    """Serve a page with this script on a port of the loopback."""
    served = Pages(script)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()


async def visit(url: str, served: Pages, profile: Path, *, names: str = "") -> dict[str, Any]:
    """Return the report of the page at a URL; `names` lead to the loopback."""
    program = shutil.which("chromium")
    assert program is not None, "Chromium is missing: make browser"
    rules = [f"--host-resolver-rules=MAP {names} 127.0.0.1"] if names else []
    process = await asyncio.create_subprocess_exec(
        *(program, *_OPTIONS, *rules, f"--user-data-dir={profile}", url),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(LONGEST_S):
            return await served.reported
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
