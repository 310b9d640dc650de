"""The application under uvicorn as it is: `python -m tests.e2e.plain_uvicorn --database URL`."""

import argparse
import socket

import uvicorn

from ojs_server.app import create_app
from ojs_server.settings import Settings

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--database")
    given = parser.parse_args()
    bound = socket.create_server(("127.0.0.1", given.port))
    print(f"listens on http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
    app = create_app(Settings(database=given.database, insecure=True))
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([bound])
