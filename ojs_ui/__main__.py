"""`python -m ojs_ui --url URL`: the dashboard of any server of Open Job Spec, on the loopback."""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

import httpx
import uvicorn

from ojs_ui.proxy import dashboard

PORT: Final = 8081


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m ojs_ui", description=__doc__)
    parser.add_argument("--url", type=_url, default="http://127.0.0.1:8080", help="of the server")
    parser.add_argument("--port", type=int, default=PORT, help=f"on the loopback, default {PORT}")
    options = parser.parse_args(arguments)
    server = uvicorn.Server(
        uvicorn.Config(
            dashboard(options.url),
            host="127.0.0.1",
            port=options.port,
            log_level="warning",
            # Short, because pages keep event streams open.
            timeout_graceful_shutdown=1,
        )
    )
    print(f"the dashboard of {options.url} is at http://127.0.0.1:{options.port}/ui/", flush=True)
    server.run()
    return 0


def _url(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no URL: {error}") from None
    if url.scheme not in ("http", "https") or not url.host or url.path != "/" or url.query:
        raise argparse.ArgumentTypeError(f"must be as http://jobs.example:8080, not {text!r}")
    return text


if __name__ == "__main__":
    sys.exit(main())
