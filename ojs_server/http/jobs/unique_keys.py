"""Unique keys that are held, with the jobs that hold them."""

from typing import Final

from ojs_server.domain.jobs.job import Lease, StoredJob
from ojs_server.domain.jobs.unique import UniquePolicy, policy_of
from ojs_server.http import dialects
from ojs_server.http.access.roles import LOOK
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.lists import list_jobs
from ojs_server.http.paging import admin_page
from ojs_server.http.route import Route
from ojs_wire.codec import encode
from ojs_wire.values import format_timestamp, timestamp


async def listing(call: Call) -> Answer:
    """List the unique keys of all jobs that have not ended, newest jobs first."""
    page, query = admin_page(call, ("queue", "type"))
    return await list_jobs(call, "items", page, query, call.tenant, unique=True, show=_shown)


def _shown(stored: StoredJob, lease: Lease | None) -> bytes:
    job, key = stored.job, stored.unique_key or b""
    policy = policy_of(job) or UniquePolicy()
    until = None if policy.period_ms is None else job.created_at + policy.period_ms
    shown = {
        "uniqueness_key": key.hex(),
        "job_id": job.id,
        "type": job.type,
        "queue": job.queue,
        "state": job.state,
        "policy": policy.as_wire(),
        "created_at": format_timestamp(job.created_at),
        "expires_at": timestamp(until),
    }
    return encode(dialects.unique_key(shown))


ROUTES: Final = (Route("GET", "/unique-jobs", listing, LOOK, tenanted=True),)
