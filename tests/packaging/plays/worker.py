"""Plays of the page on workers. Its examples that are no whole files share one namespace, in which
a worker runs beside them."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import yaml

from tests.authority import Authority
from tests.packaging.page import Block, Page
from tests.packaging.playing import Reader
from tests.packaging.plays.programs import systemd
from tests.packaging.shell import Shell

INSTALL: Final = "pip install '../ojs-reference[server,encryption,otel]'"
KEYS: Final = {
    "OJS_KEYS": "worker+operator:the-key-of-a-worker",
    "OJS_AUTH_TOKEN": "the-key-of-a-worker",
}
RUNNER: Final = Path(__file__).parents[1] / "fragments.py"
# Modules that the examples assume.
GIVEN: Final = """
import asyncio
import logging
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from ojs_worker import *
from ojs_worker.encryption import new_key

logging.basicConfig(level=logging.INFO)
os.environ |= {"KEY_NEW": new_key(), "KEY_OLD": new_key()}
tracing = TracerProvider()
tracing.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
trace.set_tracer_provider(tracing)


@dataclass
class Row:
    number: int


class Connection:
    @asynccontextmanager
    async def transaction(self):
        yield


class Pool:
    @asynccontextmanager
    async def acquire(self):
        yield Connection()


@asynccontextmanager
async def create_pool(dsn):
    yield Pool()


DSN = "postgresql://shop@db/shop"
url = "https://example.org/picture.png"
published = asyncio.Event()


def current_user():
    return "ada"
"""
# Handlers of the workflow, behind the example that makes the worker.
HANDLERS: Final = """
@worker.job("picture.fetch")
async def fetch(url: str) -> str:
    return url


@worker.job("picture.resize")
async def resize(width: int) -> int:
    return width


@worker.job("picture.publish")
async def publish() -> None:
    published.set()
"""
START: Final = "await worker.__aenter__()\n"
# Each handler of the examples does a job, and the jobs are encrypted and stamped.
REQUIRED: Final = """
await published.wait()
await (await insert.enqueue(Row(2))).result(timeout_s=60)
await (await place_order.enqueue(7)).result(timeout_s=60)
pruned = await prune.enqueue(keep_days=30)
await pruned.result(timeout_s=60)
stored = await client.get(pruned.id)
assert stored.meta["user"] == "ada"
assert "keep_days" not in str(stored.args)
"""
# Uses the file of servers: nobody listens at its address.
NAMED: Final = """
from ojs_worker import Client, Unreachable

async with Client(server="staging") as client:
    try:
        await client.within(0).manifest()
    except Unreachable as error:
        print(error)
"""
ENQUEUE: Final = """
curl -sS http://127.0.0.1:8080/ojs/v1/jobs -H 'Content-Type: application/json' \\
  -d '{"type": "email.send", "args": [%s], "options": {"queue": "mail"}}'
"""
ENDED: Final = "kill $!; wait $!"
_SERVES: Final = "… it has handlers for email.send"


async def worker(page: Page, reader: Reader, variables: Mapping[str, str] | None = None) -> None:
    authority = Authority(reader.folder)
    replaced = {
        "http://ojs-1:8080": "http://127.0.0.1:8080",
        "http://ojs:8080": "http://127.0.0.1:8080",
        "http://ojs-2:8080": "http://127.0.0.1:8082",
        "https://ojs.staging.example.org": "https://127.0.0.1:8082",
        "/etc/ssl/own.pem": str(authority.file),
        "/srv/myapp/bin/": f"{reader.environment}/bin/",
    }
    async with reader.starts(INSTALL, variables, replaced) as run:
        await run.run("ojs-server &")
        await run.says("… listens on …")
        await reader.play(page.take("Start"), run)
        routing, including, *handlers = page.take("Handlers")
        await reader.play([routing, including], run)
        await run.run("ojs-worker run myapp.worker:worker &")
        await run.says("… serves default, mail at …")
        await _fragments(page, handlers, reader, run)
        await _ways_to_run(page, reader, run)


async def worker_with_keys(page: Page, reader: Reader) -> None:
    await worker(page, reader, KEYS)


async def _fragments(page: Page, handlers: list[Block], reader: Reader, run: Shell) -> None:
    def texts(section: str) -> list[str]:
        return [run.here(block.text) for block in page.take(section, "python")]

    parts = [
        GIVEN,
        *texts("Encrypted arguments"),
        *texts("Middleware"),
        *texts("Traces"),
        *(block.text for block in handlers),
        *texts("Dependencies"),
        HANDLERS,
        *texts("Outages"),
        START,
        *texts("Enqueueing"),
        REQUIRED,
        *texts("Reading and administration"),
    ]
    await run.run(ENQUEUE % '{"too": "ada@example.org"}')
    await run.run("curl -sS http://127.0.0.1:8080/ojs/v1/queues/mail/stats")
    await run.prints('{"queue": {"discarded": 1}}')
    await run.run(f"{_namespace(parts, reader)} &")
    # The last example lists that job, and follows the events of its queue without end.
    await run.says("took 0.… s")
    await run.says('"name": "default process",')
    await run.runs_until(ENQUEUE % '"eve@example.org"', "job.enqueued")


def _namespace(parts: Iterable[str], reader: Reader) -> str:
    """Write texts as files; return the command that runs them in one namespace."""
    reader.write("fragments.py", RUNNER.read_text(encoding="utf-8"))
    names = [reader.write(f"part{number}.py", text).name for number, text in enumerate(parts)]
    return f"python fragments.py {' '.join(names)}"


async def _ways_to_run(page: Page, reader: Reader, run: Shell) -> None:
    await reader.play(page.take("Settings"), run)
    reader.write("staging.key", "the-key-of-staging")
    await run.run(f"OJS_SERVERS=servers.toml {_namespace([NAMED], reader)}")
    await run.says("https://127.0.0.1:8082")

    await reader.play(page.take("Several processes"), run)
    await run.says(_SERVES)
    await run.run(ENDED)

    (container,) = yaml.safe_load(page.one("Kubernetes", "yaml").text)["spec"]["containers"]
    variables = shlex.join(f"{each['name']}={each['value']}" for each in container["env"])
    command = shlex.join(container["command"])
    await run.run(f"env {variables} OJS_HEALTH_HOST=127.0.0.1 {command} &")
    await run.says(_SERVES)
    for probe in (container["readinessProbe"]["httpGet"], container["livenessProbe"]["httpGet"]):
        url = f"http://127.0.0.1:{probe['port']}{probe['path']}"
        await run.run(f"until curl -sS {url}; do :; done")
    await run.run(ENDED)

    service = systemd(page.one("systemd", "ini"), reader, run)
    await run.run(f"{service['ExecStart']} &")
    await run.says(_SERVES)
    await run.run(ENDED)
    await reader.play(page.take("A plain process"), run)
