"""The result of a job, also waited for."""

import re
from typing import Final

from ojs_server.domain.errors import NotReady, invalid
from ojs_server.domain.jobs.job import TERMINAL
from ojs_server.http.access.roles import READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.jobs.read import load_job
from ojs_server.http.prefer_header import MAX_TIMEOUT_S, applied, preference
from ojs_server.http.route import Route
from ojs_server.ops.jobs.wait_for_end import wait_for_end
from ojs_wire.codec import encode

_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_SECONDS = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


async def result(call: Call) -> Answer:
    """The result of a finished job; `wait=true` waits for it up to `timeout` seconds, and a
    preferred wait as long as it says."""
    stored, _ = await load_job(call)
    preferred, query_s = preference(call), _wait(call)
    preferred_ms = None
    if query_s is None:
        preferred_ms = preferred.wait_ms(call.server.engine.rules.profile.max_wait_ms)
    wait_s = query_s or (preferred_ms or 0) / 1000
    if stored.job.state not in TERMINAL and wait_s > 0:
        stored = await wait_for_end(call.server.engine, stored, wait_s)
    job = stored.job
    if job.state not in TERMINAL:
        if query_s and not preferred.respond_async:
            raise NotReady(
                f"job {job.id} is {job.state} after {query_s:g} s",
                details={"job_id": job.id, "state": job.state},
            )
        headers = applied(preferred_ms, respond_async=preferred.respond_async)
        answer = {"job_id": job.id, "state": job.state}
        return Answer(answer, 202, {"Retry-After": "1", **headers})
    body = encode({"job_id": job.id, "state": job.state})[:-1]
    body += b',"result":' + (stored.result or b"null")
    if job.error is not None:
        body += b',"error":' + job.error
    return Answer(body + b"}", headers=applied(preferred_ms))


def _wait(call: Call) -> float | None:
    """Return the seconds that the query asks to wait; None if it asks for no wait."""
    query = call.query_params
    word = query.get("wait")
    wait = _TRUTH.get("false" if word is None else word.lower())
    if wait is None:
        raise invalid("wait", f"must be one of {', '.join(_TRUTH)}")
    text = query.get("timeout", "30")
    if not _SECONDS.fullmatch(text) or not 0 <= float(text) <= MAX_TIMEOUT_S:
        raise invalid("timeout", f"must be a number of seconds from 0 to {MAX_TIMEOUT_S}")
    if word is None:
        return None
    return min(float(text), call.server.engine.rules.profile.max_wait_ms / 1000) if wait else 0


ROUTES: Final = (Route("GET", "/jobs/{id}/result", result, READ, waits=True, tenanted=True),)
