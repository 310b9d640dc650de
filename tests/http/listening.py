"""The application behind a real socket, in the same process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import uvicorn

from ojs_server.app import Application, Server
from ojs_server.connection.connection import Connection
from ojs_server.http.refusals import refusal


@asynccontextmanager
async def on_a_socket(server: Server, app: Application | None = None) -> AsyncIterator[str]:
    """The application of a running server behind a real socket, or one that starts it; its URL."""
    config = uvicorn.Config(
        app or Application(server),
        port=0,
        http=cast(Any, partial(Connection, refusal=refusal, take=server.dispatcher.take)),
        ws="none",
        lifespan="on" if app else "off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    running = uvicorn.Server(config)
    running.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(running.serve())
    try:
        async with asyncio.timeout(20):
            while not running.started:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        server.begin_stop()
        await task
