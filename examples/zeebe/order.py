"""An order as a process of three steps, each done by a worker of its own type, as users of the
workflow engine Zeebe write it.

    collect-money ──▶ fetch-items ──▶ ship-parcel

Money is refused now and then, and tried again; a customer without money ends the order; the parcel
service is slow, so its worker asks for more time.

    ojs-server --profile zeebe &
    python examples/zeebe/order.py http://127.0.0.1:8080
"""

import asyncio
import sys
from typing import Any

from ojs_worker import Client, RetryPolicy, Workflow, chain
from ojs_worker.zeebe import BpmnError, ZeebeClient, ZeebeJob

STEPS = ("collect-money", "fetch-items", "ship-parcel")


def workers(client: ZeebeClient, **times: Any) -> list[str]:
    """Make the three workers; answers the list in which they note what they did."""
    done: list[str] = []

    @client.task("collect-money", timeout=30, max_jobs=8, **times)
    async def collect_money(job: ZeebeJob) -> None:
        total = sum(item["price"] for item in job.variables["items"])
        if job.variables["balance"] < total:
            raise BpmnError("NO_FUNDS", f"{total} are needed", {"missing": total})
        if job.retries == 3:
            # The first try always meets a busy bank.
            await job.fail("the bank is busy", retries=2, backoff=0.1)
            return
        done.append(f"collected {total} by {job.custom_headers['method']}")
        await job.complete({"paid": total})

    @client.task("fetch-items", **times)
    async def fetch_items(job: ZeebeJob) -> dict[str, Any]:
        names = [item["name"] for item in job.variables["items"]]
        done.append(f"fetched {', '.join(names)}")
        return {"parcel": names}

    @client.task("ship-parcel", timeout=5, max_jobs=1, **times)
    async def ship_parcel(job: ZeebeJob) -> dict[str, Any]:
        await job.update_timeout("10m")
        await asyncio.sleep(0.05)
        done.append(f"shipped {len(job.variables['parcel'])} for {job.variables['paid']}")
        return {"tracking": f"P-{job.process_instance_key}"}

    return done


async def order(jobs: Client, items: list[dict[str, Any]], balance: int) -> Workflow:
    """Start the process, and wait for its end."""
    variables = {"items": items, "balance": balance}
    steps = [
        jobs.request(
            name,
            [variables],
            meta={"custom_headers": {"method": "card"}},
            retry=RetryPolicy(max_attempts=3, on_exhaustion="dead_letter"),
        )
        for name in STEPS
    ]
    flow = await jobs.start(chain(*steps))
    while not flow.ended:
        await asyncio.sleep(0.05)
        flow = await jobs.get_workflow(flow.id)
    return flow


async def main(url: str, **times: Any) -> list[str]:
    """Run the workers, place two orders, and say what happened."""
    client = ZeebeClient(url)
    done = workers(client, **times)
    items = [{"name": "book", "price": 12}, {"name": "pen", "price": 3}]
    async with client, Client(url) as jobs:
        for balance in (100, 1):
            flow = await order(jobs, items, balance)
            done.append(f"the order is {flow.state}")
    return done


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
    print("\n".join(asyncio.run(main(url))))
