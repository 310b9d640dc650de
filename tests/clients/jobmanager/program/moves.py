"""The answers to each report on a task, by its state: ``python moves.py [URL]``.

Without a URL the package's own server is asked. A line of JSON for each report: the state, the body
that was sent, the status of the answer, and the type of its problem.
"""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.pool import StaticPool
from zndraw_auth import (
    Base,
    current_active_user,
    current_superuser,
    current_user_scoped_session,
)
from zndraw_auth.db import get_session_maker
from zndraw_joblib.exceptions import ProblemException, problem_exception_handler
from zndraw_joblib.router import router
from zndraw_joblib.settings import JobLibSettings

BASE = "/v1/joblib"
JOB = {"category": "modifiers", "name": "Rotate", "schema": {}}
WAYS: dict[str, tuple[str, ...]] = {
    "pending": (),
    "claimed": (),
    "running": ("running",),
    "completed": ("running", "completed"),
    "failed": ("failed",),
    "cancelled": ("cancelled",),
}
BODIES: tuple[Any, ...] = (
    *({"status": word} for word in WAYS),
    {"status": "failed", "error": "no"},
    {"status": "done"},
    {"status": "Running"},
    {"status": ""},
    {"status": 7},
    {"status": None},
    {"error": "no"},
    {},
    [],
    "running",
)


def package() -> FastAPI:
    """The package's own server, for one user who is an administrator."""
    engine = create_async_engine("sqlite+aiosqlite://", poolclass=StaticPool)

    @asynccontextmanager
    async def tables(_: FastAPI) -> AsyncIterator[None]:
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
        yield
        await engine.dispose()

    app = FastAPI(lifespan=tables)
    app.include_router(router)
    app.add_exception_handler(ProblemException, problem_exception_handler)
    app.state.joblib_settings = JobLibSettings()
    sessions = async_sessionmaker(engine, expire_on_commit=False)
    user = SimpleNamespace(id=uuid4(), is_active=True, is_superuser=True, is_verified=True)
    app.dependency_overrides[get_session_maker] = lambda: sessions
    for who in (current_active_user, current_superuser, current_user_scoped_session):
        app.dependency_overrides[who] = lambda: user
    return app


def play(client: httpx.Client) -> None:
    """Send each report for a task in each state."""
    made = client.put(f"{BASE}/rooms/room/jobs", json=JOB).raise_for_status().json()
    for state, ways in WAYS.items():
        for body in BODIES:
            task = submitted(client, made)
            if state != "pending":
                client.post(f"{BASE}/tasks/claim", json={"worker_id": made["worker_id"]})
            for status in ways:
                client.patch(task, json={"status": status}).raise_for_status()
            tell(state, body, client.patch(task, json=body))
            client.patch(task, json={"status": "cancelled"})
    tell("none", {}, client.patch(f"{BASE}/tasks/{uuid4()}", json={}))
    running = {"status": "running"}
    tell("none", running, client.patch(f"{BASE}/tasks/{uuid4()}", json=running))


def submitted(client: httpx.Client, made: dict[str, Any]) -> str:
    """A new task of the job."""
    path = f"{BASE}/rooms/room/tasks/{made['full_name']}"
    return f"{BASE}/tasks/{client.post(path, json={'payload': {}}).raise_for_status().json()['id']}"


def tell(state: str, body: Any, answer: httpx.Response) -> None:
    """Write what was answered."""
    problem = answer.headers["content-type"] == "application/problem+json"
    kind = answer.json()["type"] if problem else None
    print(json.dumps({"state": state, "body": body, "status": answer.status_code, "type": kind}))


def main() -> None:
    """Ask the server of an address, or the package's own."""
    if sys.argv[1:]:
        with httpx.Client(base_url=sys.argv[1], timeout=60, trust_env=False) as client:
            play(client)
    else:
        with TestClient(package()) as client:
            play(client)


if __name__ == "__main__":
    main()
