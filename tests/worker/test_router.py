"""Handlers in modules of their own: routers, and finding them in a package."""

from pathlib import Path

import pytest

from ojs_worker import Router, Worker
from tests.worker.conftest import Start
from tests.worker.scripted import FETCH, MemoryTransport, ScriptedServer, job


async def test_handlers_of_a_router_run_in_the_worker_that_includes_it(
    scripted: ScriptedServer, start: Start
) -> None:
    router = Router(queue="mail", tags=["a"])

    @router.job("email.send")
    async def send(to: str) -> str:
        return f"to {to}"

    @router.job("email.check", queue="slow")
    async def check() -> None: ...

    worker = Worker(transport=MemoryTransport(scripted))
    with pytest.raises(RuntimeError, match=r"no worker has included the router of email\.send"):
        send.request(to="ada")
    worker.include(router, router)
    assert send.request(to="ada").options == {"queue": "mail", "tags": ["a"]}
    scripted.answers["/ojs/v1/jobs"] = lambda body: (201, {"job": job(9)})
    assert (await send.enqueue(to="ada")).id == job(9)["id"]
    async with start(worker):
        await scripted.offer(job(1, "email.send", [{"to": "ada"}]))
        assert (await scripted.settled(job(1)))["result"] == "to ada"
    asked = scripted.of(FETCH)[0].body
    assert asked["queues"] == ["default", "mail", "slow"]
    assert asked["job_types"] == ["email.send", "email.check"]


def test_two_handlers_of_one_type_are_refused() -> None:
    router, worker = Router(), Worker()
    router.job("a.b")(lambda: None)
    worker.job("a.b")(lambda: None)
    with pytest.raises(ValueError, match=r"a\.b has a handler already"):
        worker.include(router)
    with pytest.raises(TypeError, match='did you mean "queue"'):
        Router(qeue="mail")  # type: ignore[call-arg]


def test_routers_are_found_in_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "found_jobs"
    inner = package / "inner"
    inner.mkdir(parents=True)
    made = "from ojs_worker import Router\nrouter = Router()\nrouter.job('a.{}')(lambda: None)\n"
    (package / "__init__.py").write_text("from found_jobs.mail import router\n")
    (package / "mail.py").write_text(made.format("mail"))
    (inner / "__init__.py").write_text("")
    (inner / "slow.py").write_text(made.format("slow"))
    monkeypatch.syspath_prepend(tmp_path)
    worker = Worker()
    worker.discover("found_jobs")
    assert sorted(worker.registry) == ["a.mail", "a.slow"]
    with pytest.raises(ModuleNotFoundError, match="no_such_jobs"):
        worker.discover("no_such_jobs")
