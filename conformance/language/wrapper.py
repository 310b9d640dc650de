"""Unwraps the member `job` of an answer, as two of the published dialects do."""

from typing import Literal

from conformance.language import paths
from conformance.language.values import is_absent

Unwrap = Literal["", "fallback", "job"]


def find(path: str, body: object, unwrap: Unwrap) -> object:
    """Return the value at a path; `fallback` looks into `job` second, `job` looks only there.

    A path that begins with the wrapper itself, such as `jobs[0].id`, is taken as it stands.
    """
    if unwrap == "job":
        return paths.find(path, body if _names_wrapper(path, body) else _job_in(body))
    found = paths.find(path, body)
    if unwrap == "fallback" and is_absent(found):
        inner = paths.find(path, _job_in(body))
        return found if is_absent(inner) else inner
    return found


def _names_wrapper(path: str, body: object) -> bool:
    first = next(iter(paths.parse(path)), None)
    return (
        isinstance(first, paths.Key)
        and first.name in ("job", "jobs")
        and isinstance(body, dict)
        and first.name in body
    )


def _job_in(body: object) -> object:
    if not isinstance(body, dict):
        return body
    job, jobs = body.get("job"), body.get("jobs")
    if isinstance(job, dict):
        return job
    return jobs[0] if isinstance(jobs, list) and jobs else body
