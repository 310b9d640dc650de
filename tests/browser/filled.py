"""A server with a bit of everything, for pages to show."""

import json
from typing import Any, Final

import httpx

V1: Final = "/ojs/v1"
WORKER: Final = "worker-1"


class Filled:
    """The ids of what a server was filled with."""

    job: str
    dead: str
    active: str
    flow: str

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send something, which has to be taken."""
        answer = await self.client.post(V1 + path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def put(self, path: str, body: dict[str, Any]) -> None:
        """Store something, which has to be taken."""
        answer = await self.client.put(V1 + path, json=body)
        assert answer.is_success, answer.text

    async def get(self, path: str) -> Any:
        """Read something, which has to be there."""
        answer = await self.client.get(V1 + path)
        assert answer.is_success, answer.text
        return answer.json()

    async def enqueue(self, job_type: str = "mail.send", **options: Any) -> str:
        """Enqueue a job; answers its id."""
        args = options.pop("args", [{"to": "ada@example.org"}])
        body = {"type": job_type, "args": args, "options": options}
        job_id: str = (await self.post("/jobs", body))["job"]["id"]
        return job_id

    async def state(self, job_id: str) -> str:
        """The state of a job."""
        state: str = (await self.get(f"/jobs/{job_id}"))["job"]["state"]
        return state

    async def fetch(self, queue: str) -> str:
        """Take a job; answers its id."""
        wanted = {"queues": [queue], "worker_id": WORKER, "count": 1}
        job_id: str = (await self.post("/workers/fetch", wanted))["jobs"][0]["id"]
        return job_id

    async def die(self, queue: str = "bills") -> str:
        """Let a job use up its attempts; answers its id."""
        retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
        await self.enqueue("invoice.print", queue=queue, retry=retry)
        job_id = await self.fetch(queue)
        trace = ["/srv/shop/printing.py:12 in print", "/lib/python3/site-packages/ipp.py:3 in go"]
        error = {"type": "OutOfPaper", "message": "printer 2", "backtrace": trace}
        await self.post("/workers/nack", {"job_id": job_id, "worker_id": WORKER, "error": error})
        return job_id

    async def fill(self) -> "Filled":
        """Fill the server."""
        registration = {"worker_id": WORKER, "queues": ["mail", "work"], "concurrency": 4}
        await self.post("/workers/register", registration)
        self.job = await self.enqueue(queue="mail", tags=["first"])
        self.dead = await self.die()
        await self.enqueue("report.monthly", queue="work")
        self.active = await self.fetch("work")
        await self.progress(0.25, "a quarter")
        await self.enqueue("later.on", scheduled_at="2099-01-01T00:00:00Z")
        cron = {"name": "nightly", "cron": "0 3 * * *", "job_template": {"type": "t", "args": []}}
        await self.post("/cron", cron)
        limit = {"key": "stripe", "concurrency": 5}
        await self.enqueue("card.charge", queue="cards", rate_limit=limit)
        schema = {"type": "card.charge", "version": "1.0", "schema": {"type": "array"}}
        await self.post("/schemas", schema)
        pool = {"queues": {"mail": {"weight": 3}}, "strategy": "weighted", "concurrency": 20}
        await self.put("/admin/pools/fast", pool)
        await self.put("/admin/tenants/acme", {"limits": {"max_concurrency": 5}})
        hook = {"url": "https://example.com/hook", "events": ["job.failed"]}
        await self.post("/webhooks/subscriptions", hook)
        steps = [
            {"id": "a", "type": "pay", "args": []},
            {"id": "b", "type": "pack", "args": [], "depends_on": ["a"]},
            {"id": "c", "type": "ship", "args": [], "depends_on": ["b"]},
        ]
        flow = await self.post("/workflows", {"name": "order", "steps": steps})
        self.flow = flow["workflow"]["id"]
        return self

    async def progress(self, share: float, message: str) -> None:
        """Say how far the active job is."""
        body = {"worker_id": WORKER, "progress": share, "message": message}
        answer = await self.client.put(f"{V1}/jobs/{self.active}/progress", json=body)
        assert answer.is_success, answer.text

    def pages(self) -> dict[str, str]:
        """Every page by its name, and the heading that it has to have."""
        return {
            "": "Overview",
            "jobs": "Jobs",
            "jobs?state=active": "Jobs",
            f"job?id={self.dead}": "invoice.print",
            f"job?id={self.active}": "report.monthly",
            "queues": "Queues",
            "queue?name=mail": "mail",
            "scheduled": "Scheduled and retries",
            "dead": "Dead letters",
            "workers": "Workers",
            f"worker?id={WORKER}": WORKER,
            "cron": "Cron",
            "workflows": "Workflows",
            f"workflow?id={self.flow}": "order",
            "events": "Events",
            "server": "Server",
            "limits": "Rate limits",
            "schemas": "Schemas",
            "tenants": "Tenants",
            "pools": "Pools",
            "webhooks": "Webhooks",
            "actions": "Actions",
            "enqueue": "Enqueue a job",
            "nothing-here": "There is no such page",
        }


HOSTILE: Final = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "javascript:alert(1)",
    "{{7*7}}",
    "\u202egnp.exe",
    "\x1b[31mred\x07",
    "=HYPERLINK(1)",
    "__proto__",
    "e\u0301\u0301\u0301\u0301",
    "\u2028",
)


def hostile_job() -> bytes:
    """An enqueue whose members try to be markup, code, or numbers that a double rounds."""
    args = json.dumps(
        [list(HOSTILE), {text: text for text in HOSTILE}, "w" * 20_000], ensure_ascii=False
    )
    body = json.dumps({"type": "hostile.job", "options": {"queue": "mail", "tags": ["<b>x</b>"]}})
    exact = ", 9007199254740993]"
    return (body[:-1] + ', "args": ' + args[:-1] + exact + "}").encode()
