"""Clients that repeat a request without an answer unchanged, as careful programs do.

Each is one task with one connection to each node, and chooses a node for every call, so that a
repeated request often meets another node than the first one did.
"""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx

from ojs_wire.values import uuid7
from tests.chaos.history import Act, Exchange, Fate, Handed, History
from tests.e2e.node import Node

# Longer than a server asks for the outcome of a COMMIT.
ANSWER_S: Final = 20.0
PAUSE_S: Final = 0.02
LIMIT_S: Final = 300.0
BEAT_S: Final = 0.5
WAIT_MS: Final = 100
COUNT: Final = 4
BACKLOG: Final = 150
RETRY: Final = {
    "max_attempts": 1000,
    "initial_interval": "PT0.05S",
    "backoff_coefficient": 1.0,
    "jitter": False,
}
# Each client would load the machine's certificates anew.
NO_TLS: Final = ssl.create_default_context()
PATHS: Final = {
    Act.ENQUEUE: "/ojs/v1/jobs",
    Act.FETCH: "/ojs/v1/workers/fetch",
    Act.ACK: "/ojs/v1/workers/ack",
    Act.FAIL: "/ojs/v1/workers/nack",
    Act.BEAT: "/ojs/v1/workers/heartbeat",
}


class Load:
    """The clients of one round on one queue: `producers` tasks enqueue, `workers` work."""

    def __init__(
        self, nodes: Sequence[Node], history: History, queue: str, luck: random.Random
    ) -> None:
        self.nodes = nodes
        self.history = history
        self.queue = queue
        self.backlog = 0
        self.enough = asyncio.Event()
        self.drained = asyncio.Event()
        self._luck = luck

    @asynccontextmanager
    async def running(self, producers: int, workers: int) -> AsyncIterator["Load"]:
        """Run the clients; at the end of the block let them finish what they have."""
        async with asyncio.TaskGroup() as group:
            try:
                self._producers = [
                    group.create_task(Producer(self, f"{self.queue}-p{number}").run())
                    for number in range(producers)
                ]
                for number in range(workers):
                    group.create_task(Worker(self, f"{self.queue}-w{number}").run())
                yield self
            finally:
                self.enough.set()
                self.drained.set()

    async def stop_producing(self, within_s: float) -> None:
        """Let each producer finish the enqueue that it is at."""
        self.enough.set()
        async with asyncio.timeout(within_s):
            await asyncio.gather(*self._producers)

    def may_enqueue(self) -> bool:
        """Tell whether there is room for one more job."""
        # Somebody always writes: workers that get no jobs have nothing to settle.
        idle = self.history.writes_in_flight == 0
        return self.backlog < BACKLOG or idle or self.enough.is_set()

    def random(self) -> random.Random:
        """Return a random generator for one client."""
        return random.Random(self._luck.getrandbits(64))


class Client:
    """Base of producers and workers: calls that are noted, and repeated until answered."""

    def __init__(self, load: Load, name: str) -> None:
        self.load = load
        self.name = name
        self.luck = load.random()
        self._http = httpx.AsyncClient(timeout=ANSWER_S, trust_env=False, verify=NO_TLS)

    async def insist(
        self,
        act: Act,
        about: str,
        body: dict[str, Any],
        *,
        attempt: int = 0,
        headers: dict[str, str] | None = None,
    ) -> Exchange:
        """Send until there is an answer; returns the exchange that had it."""
        node = self.luck.randrange(len(self.load.nodes))
        in_doubt = False
        while True:
            exchange = await self.once(node, act, about, body, attempt, headers)
            if exchange.fate is Fate.ANSWERED:
                exchange.in_doubt = in_doubt
                return exchange
            in_doubt = in_doubt or exchange.unknown
            node = (node + 1) % len(self.load.nodes)
            await asyncio.sleep(PAUSE_S)

    async def once(
        self,
        node: int,
        act: Act,
        about: str,
        body: dict[str, Any],
        attempt: int = 0,
        headers: dict[str, str] | None = None,
        listed: dict[str, str] | None = None,
    ) -> Exchange:
        """Send once; `listed` are the names of the jobs that a BEAT lists by id."""
        history = self.load.history
        url = self.load.nodes[node].url + PATHS[act]
        exchange = history.begin(act, self.name, about, attempt=attempt, node=node)
        try:
            answer = await self._http.post(url, json=body, headers=headers)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            history.end(exchange, Fate.UNSENT, said=type(error).__name__)
        except httpx.TransportError as error:
            history.end(exchange, Fate.BROKEN, said=type(error).__name__)
        else:
            if answer.status_code >= 500:
                said = answer.text[:300]
                history.end(exchange, Fate.UNAVAILABLE, answer.status_code, said)
            else:
                read(exchange, answer, listed or {})
                history.end(exchange, Fate.ANSWERED, answer.status_code, exchange.said)
        return exchange

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def read(exchange: Exchange, answer: httpx.Response, listed: dict[str, str]) -> None:
    """Record the facts of an answer in its exchange."""
    found = answer.json()
    if answer.status_code >= 400:
        exchange.said = str(found["error"].get("message", ""))[:300]
        exchange.state = str(found["error"].get("details", {}).get("current_state", ""))
    elif exchange.act is Act.ENQUEUE:
        exchange.id = found["job"]["id"]
    elif exchange.act is Act.FETCH:
        exchange.handed = tuple(
            Handed(job["args"][0], job["id"], job["attempt"]) for job in found["jobs"]
        )
    elif exchange.act is Act.BEAT:
        exchange.lost = tuple(listed[id_] for id_ in found["jobs_lost"])


class Producer(Client):
    """Enqueues jobs, named by its id, by an Idempotency-Key, or by both."""

    async def run(self) -> None:
        """Enqueue until it is enough."""
        try:
            await self._enqueue()
        finally:
            await self.close()

    async def _enqueue(self) -> None:
        load, number = self.load, 0
        while not load.enough.is_set():
            await load.history.reach(load.may_enqueue, LIMIT_S)
            number += 1
            name = f"{self.name}-{number}"
            body: dict[str, Any] = {"type": "chaos.test", "args": [name]}
            body["options"] = {"queue": load.queue, "retry": RETRY}
            named_by = self.luck.choice(("id", "key", "both"))
            if named_by != "key":
                body["id"] = uuid7(self.luck.getrandbits(40), self.luck.getrandbits)
            headers = None if named_by == "id" else {"Idempotency-Key": name}
            load.backlog += 1
            await self.insist(Act.ENQUEUE, name, body, headers=headers)


class Worker(Client):
    """Fetches, works for a moment, and settles; beats meanwhile, with what it holds."""

    FAILS: Final = 0.1
    LONGEST_WORK_S: Final = 0.03

    def __init__(self, load: Load, name: str) -> None:
        super().__init__(load, name)
        self._held: dict[str, str] = {}
        self._seen: set[tuple[str, int]] = set()
        # FETCHes that had a try without an answer: it may have claimed jobs nobody was told of.
        self._in_doubt: list[str] = []

    async def run(self) -> None:
        """Work until the queue is drained."""
        await self.insist(Act.BEAT, self.name, self._beat_body())
        beats = asyncio.create_task(self._beat())
        try:
            number = 0
            while not self.load.drained.is_set():
                number += 1
                await self._fetch(f"{self.name}-{number}")
                if self.load.enough.is_set():
                    for fetch_id in list(self._in_doubt):
                        await self._fetch(fetch_id)
        finally:
            beats.cancel()
            await asyncio.gather(beats, return_exceptions=True)
            await self.close()

    async def _fetch(self, fetch_id: str) -> None:
        body = {
            "queues": [self.load.queue],
            "worker_id": self.name,
            "count": COUNT,
            "fetch_id": fetch_id,
            "wait_ms": WAIT_MS,
        }
        answer = await self.insist(Act.FETCH, fetch_id, body)
        if not answer.accepted:
            raise RuntimeError(f"a FETCH was answered {answer.status}: {answer.said}")
        if answer.in_doubt and fetch_id not in self._in_doubt:
            self._in_doubt.append(fetch_id)
        new = [one for one in answer.handed if (one.id, one.attempt) not in self._seen]
        self._seen.update((one.id, one.attempt) for one in new)
        self._held.update({one.id: one.job for one in new})
        await asyncio.gather(*(self._settle(one) for one in new))

    async def _settle(self, job: Handed) -> None:
        await asyncio.sleep(self.luck.uniform(0, self.LONGEST_WORK_S))  # the work
        body: dict[str, Any] = {
            "job_id": job.id,
            "worker_id": self.name,
            "attempt": job.attempt,
        }
        act = Act.FAIL if self.luck.random() < self.FAILS else Act.ACK
        if act is Act.FAIL:
            body["error"] = {"type": "chaos", "message": "as planned"}
        else:
            body["result"] = self.name
        self._held.pop(job.id, None)
        answer = await self.insist(act, job.job, body, attempt=job.attempt)
        if act is Act.ACK and (answer.accepted or answer.state == "completed"):
            self.load.backlog -= 1

    def _beat_body(self) -> dict[str, Any]:
        return {
            "worker_id": self.name,
            "state": "running",
            "active_job_ids": list(self._held),
        }

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            listed = dict(self._held)
            node = self.luck.randrange(len(self.load.nodes))
            await self.once(node, Act.BEAT, self.name, self._beat_body(), listed=listed)
