"""Resolution of job ids that are cut short, of filters, and of misspelt names."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

from ojs_cli.failures import MISUSED, NOT_FOUND, Failure
from ojs_cli.filters import Filter
from ojs_cli.server import Server, segment
from ojs_cli.text import identity
from ojs_wire.values import format_timestamp
from ojs_worker.errors import NotFound

Json = dict[str, Any]
JOBS: Final = ("/jobs", "jobs")
# Most jobs that are read for criteria that the server cannot check.
SCAN: Final = 20_000
# Limit of counting.
COUNTED: Final = 10_000
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHORT: Final = re.compile(r"([0-9a-f]{8}[0-9a-f-]*)(?:(?:…|\.\.\.?)([0-9a-f-]*))?")
# The first part of an id has the upper 32 of its 48 bits of milliseconds.
_WINDOW_MS: Final = 1 << 16


def is_id(word: str) -> bool:
    """Return True if the word may be the id of a job, whole or cut short, and not a filter."""
    return ":" not in word


def matching(server: Server, job_filter: Filter, *, scan: int = SCAN) -> Iterator[Json]:
    """Yield the jobs that a filter means, the newest first."""
    looked = 0
    limit = 1000 if job_filter.is_local else 100
    for page in server.pages(*JOBS, **{**job_filter.parameters, **job_filter.hints}, limit=limit):
        for job in page["items"]:
            if job_filter.matches(job):
                yield job
        looked += len(page["items"])
        if job_filter.is_local and looked >= scan:
            return


def count(server: Server, job_filter: Filter) -> tuple[int, bool]:
    """Count the jobs that match the server's part of a filter; tells whether that is the whole
    filter."""
    page = server.get("/jobs", **job_filter.parameters, limit=1)
    pagination = page.get("pagination") or page
    if pagination.get("total_is_exact", False):
        return int(pagination["total"]), True
    found = 0
    for page in server.pages(*JOBS, **job_filter.parameters, limit=1000):
        found += len(page["items"])
        if found >= COUNTED:
            return found, False
    return found, True


def job_id(server: Server, text: str) -> str:
    """Return the whole id for one that was cut short, `01a1f0c0…0001` or its first eight digits."""
    found = _SHORT.fullmatch(text)
    if _UUID.fullmatch(text) or found is None:
        return text
    begins, ends = found[1], found[2] or ""
    since = int(begins[:8], 16) << 16
    window = {
        "since": format_timestamp(since),
        "until": format_timestamp(since + _WINDOW_MS),
        # Servers that do not know it ignore it.
        "id_prefix": begins,
    }
    ids = [
        job["id"]
        for page in islice(server.pages(*JOBS, **window, limit=1000), COUNTED // 1000)
        for job in page["items"]
        if job["id"].startswith(begins) and job["id"].endswith(ends)
    ]
    if len(ids) == 1:
        return str(ids[0])
    if not ids:
        raise Failure(f"there is no job {text}", _finished(), exit_code=NOT_FOUND)
    shown = ", ".join(ids[:5])
    raise Failure(
        f"{text} may be any of {len(ids)} jobs", f"say more of it: {shown}", exit_code=MISUSED
    )


def job(server: Server, text: str) -> Json:
    """Read one job; for an unknown id, the failure names a similar one."""
    whole = job_id(server, text)
    try:
        answer = server.get(f"/jobs/{segment(whole)}")
    except NotFound as error:
        if error.details.get("resource_type", "job") != "job":
            raise
        raise Failure(
            f"there is no job {whole}", _near_job(server, whole), exit_code=NOT_FOUND
        ) from None
    found = answer.get("job", answer)
    assert isinstance(found, dict)
    return found


def known(server: Server, path: str, member: str, name: str, kind: str) -> Failure:
    """Return the failure for an unknown name, with a similar one."""
    names = [str(identity(item)) for item in server.items(path, member, most=1000)]
    return Failure(f"there is no {kind} {name}", _near(name, names), exit_code=NOT_FOUND)


@contextmanager
def naming(server: Server, path: str, member: str, name: str, kind: str) -> Iterator[None]:
    """Turn the server's 404 for a name into the failure with a similar one of that list."""
    try:
        yield
    except NotFound as error:
        if not error.code:
            raise
        raise known(server, path, member, name, kind) from None


def _near_job(server: Server, whole: str) -> str:
    try:
        newest = server.items(*JOBS, most=100)
    except NotFound:
        return _finished()
    return _near(whole, [str(job["id"]) for job in newest]) or _finished()


def _near(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1, cutoff=0.75)
    return f"did you mean {close[0]}?" if close else ""


def _finished() -> str:
    return "finished jobs are removed when their retention ends; `ojs jobs` lists what there is"
