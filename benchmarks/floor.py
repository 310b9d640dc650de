"""A minimal server as a baseline: the hot calls without checks, states, events or routing.

Bare ASGI, msgspec and one durable commit for many requests, as the server has them, and nothing
else; the server is judged by its ratio to this. python -m benchmarks.floor --database PATH_OR_URL
"""

import argparse
import asyncio
import gc
import threading
from itertools import islice
from queue import SimpleQueue
from typing import Any, Final

import msgspec
import uvicorn

from benchmarks.floor_stores import FloorPostgres, FloorSqlite, FloorStore, Row
from ojs_server.environment import chance, wall_ms
from ojs_wire.values import uuid7

_HEADERS: Final = [(b"content-type", b"application/json")]

Work = tuple[str, Any, "asyncio.Future[Any]"]


class Options(msgspec.Struct, frozen=True):
    """The target queue of a job."""

    queue: str = "default"


class NewJob(msgspec.Struct):
    """An enqueue."""

    type: str
    args: msgspec.Raw
    options: Options = Options()


class NewJobs(msgspec.Struct):
    """An enqueue of many."""

    jobs: list[NewJob]


class Fetch(msgspec.Struct):
    """A fetch."""

    queues: list[str]
    count: int = 1


class Ack(msgspec.Struct):
    """The end of a job."""

    job_id: str
    result: msgspec.Raw = msgspec.Raw(b"null")


_DECODERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    "/ojs/v1/jobs": msgspec.json.Decoder(NewJob),
    "/ojs/v1/jobs/batch": msgspec.json.Decoder(NewJobs),
    "/ojs/v1/workers/fetch": msgspec.json.Decoder(Fetch),
    "/ojs/v1/workers/ack": msgspec.json.Decoder(Ack),
}


class Floor:
    """The ASGI application and its writer."""

    def __init__(self, store: FloorStore) -> None:
        self._store = store
        self._bits = chance().bits
        self._waiting: list[Work] = []
        self._busy = False
        self._batches: SimpleQueue[list[Work]] = SimpleQueue()
        threading.Thread(target=self._write, daemon=True).start()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        message = await receive()
        body = message.get("body", b"")
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        path = scope["path"]
        answer = await self._submit(path, _DECODERS[path].decode(body))
        text = msgspec.json.encode(answer)
        headers = [*_HEADERS, (b"content-length", b"%d" % len(text))]
        status = 201 if path.startswith("/ojs/v1/jobs") else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    async def _submit(self, path: str, request: Any) -> Any:
        self._loop = asyncio.get_running_loop()
        future = self._loop.create_future()
        self._waiting.append((path, request, future))
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._start)
        return await future

    def _start(self) -> None:
        batch, self._waiting = self._waiting, []
        self._busy = bool(batch)
        if batch:
            self._batches.put(batch)

    def _finish(self, batch: list[Work], answers: list[Any]) -> None:
        self._start()
        for (_, _, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)

    def _write(self) -> None:
        while True:
            batch = self._batches.get()
            answers = self._carry_out(batch)
            self._loop.call_soon_threadsafe(self._finish, batch, answers)

    def _carry_out(self, batch: list[Work]) -> list[Any]:
        now = wall_ms()
        rows: list[Row] = []
        answers: list[Any] = []
        ended: list[str] = []
        fetches: dict[str, list[tuple[int, int]]] = {}
        for place, (path, request, _) in enumerate(batch):
            answer: Any = {}
            if path == "/ojs/v1/workers/fetch":
                fetches.setdefault(request.queues[0], []).append((place, request.count))
            elif path == "/ojs/v1/workers/ack":
                ended.append(request.job_id)
            else:
                jobs = request.jobs if path.endswith("batch") else [request]
                made = [
                    (uuid7(now, self._bits), job.options.queue, job.type, bytes(job.args).decode())
                    for job in jobs
                ]
                rows += made
                shown = [_shown(row) for row in made]
                answer = {"jobs": shown} if path.endswith("batch") else {"job": shown[0]}
            answers.append(answer)
        counts = {queue: sum(count for _, count in of_queue) for queue, of_queue in fetches.items()}
        claimed = self._store.commit(rows, ended, counts)
        for queue, of_queue in fetches.items():
            found = iter(claimed[queue])
            for place, count in of_queue:
                answers[place] = {"jobs": [_shown(row) for row in islice(found, count)]}
        return answers


def _shown(row: Row) -> dict[str, Any]:
    job_id, queue, kind, args = row
    return {"id": job_id, "queue": queue, "type": kind, "args": msgspec.Raw(args.encode())}


class _Announcing(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        gc.freeze()
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"the floor listens on http://127.0.0.1:{port}", flush=True)


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floor", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--database", required=True, help="a new file, or a URL")
    given = parser.parse_args()
    kind = FloorPostgres if "://" in given.database else FloorSqlite
    config = uvicorn.Config(
        Floor(kind(given.database)),
        port=given.port,
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
    )
    _Announcing(config).run()


if __name__ == "__main__":
    main()
