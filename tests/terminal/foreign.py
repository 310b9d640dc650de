"""Servers of other kinds: one with the fewest calls, and one with arbitrary answers."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

JOB = {"id": "0190a1b2-0000-7000-8000-000000000001", "type": "t", "queue": "q", "state": "active"}
# A server of the lowest level, with the lists that the protocol names and nothing around them.
LEAST: Mapping[str, Any] = {
    "/ojs/manifest": {"specversion": "1.0", "name": "least", "conformance_level": 1},
    "/ojs/v1/health": {"status": "ok"},
    f"/ojs/v1/jobs/{JOB['id']}": {"job": JOB},
    "/ojs/v1/jobs": {"jobs": [JOB]},
    "/ojs/v1/queues": {"queues": [{"name": "q", "status": "active"}]},
    "/ojs/v1/dead-letter": {"jobs": [{**JOB, "state": "discarded"}]},
    "/ojs/v1/queues/q": {"name": "q", "counts": {"available": 3}},
    "/ojs/v1/cron": {"cron_jobs": [{"name": "c", "expression": "* * * * *", "type": "t"}]},
    "/ojs/v1/cron/c": {"cron": {"name": "c", "expression": "* * * * *"}},
    "/ojs/v1/workflows": {"items": [{"id": "w", "name": "n", "type": "chain"}]},
    "/ojs/v1/workflows/w": {"id": "w", "steps": [{"id": "a", "state": "waiting"}]},
    "/ojs/v1/workers": {"workers": [{"id": "w1", "state": "running"}]},
    "/ojs/v1/workers/w1": {"id": "w1", "hostname": "far"},
}


@contextmanager
def answering(
    answers: Mapping[str, Any],
    status: int = 404,
    other: str = "<h1>?</h1>",
    *,
    dated: bool = True,
) -> Iterator[str]:
    """A server with these answers by path, and one answer for all other paths.

    Its answers have the header `Date` if they are dated.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answers.get(self.path.partition("?")[0])
            body = other if found is None else json.dumps(found)
            send = self.send_response if dated else self.send_response_only
            send(status if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
