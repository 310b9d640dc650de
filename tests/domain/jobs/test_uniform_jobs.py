"""Jobs stored as columns are the same as if each had been made by itself."""

from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from ojs_server.domain.jobs.build_job import build_job, template_of
from ojs_server.domain.jobs.uniform_batch import parse_uniform
from ojs_server.domain.jobs.uniform_jobs import UniformJobs, uniform_jobs, uniform_runs
from ojs_server.domain.jobs.validate import Draft, parse_draft
from tests.domain.sample_jobs import NOW

TRACED = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
SHAPES: list[dict[str, Any]] = [
    {},
    {"queue": "other", "tags": ["a"]},
    {"scheduled_at": "+PT5S", "retry": {"max_attempts": 7}},
    {"pending": True, "expires_at": "+PT1M"},
    {"meta": {"a": "b"}},
    {"meta": {"tenant_id": "acme"}},
    {"meta": TRACED},
    {"rate_limit": {"key": "k", "max_per_minute": 5, "on_limit": "wait"}},
    {"rate_limit": {"key": "k", "max_per_minute": 5}, "meta": {"tenant_id": "acme"}},
]


def cut(bodies: list[Any], sizes: list[int]) -> Iterator[list[Any]]:
    """Split a list into parts of these sizes, and the rest one by one."""
    rest = list(bodies)
    for size in [*sizes, *[1] * len(bodies)]:
        if rest:
            yield rest[:size]
            rest = rest[size:]


@given(
    st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(0, 10**9)), max_size=20),
    st.lists(st.integers(1, 4), max_size=10),
)
@example(
    [({}, 1), ({}, 2), ({}, 3), ({}, 4), ({}, 5), (SHAPES[1], 6), (SHAPES[1], 7)], [2, 2, 1, 2]
)
def test_uniform_jobs_are_those_that_their_drafts_become(
    asked: list[tuple[dict[str, Any], int]], sizes: list[int]
) -> None:
    bodies: list[dict[str, Any]] = [
        {"type": "t", "args": [number, "é"], **shape} for shape, number in asked
    ]
    drafts = list(map(parse_draft, bodies))
    # As they come: most requests bring one job, some many of which nothing is each one's own.
    requests: list[Sequence[Draft]] = [
        parse_uniform(request) or tuple(map(parse_draft, request)) for request in cut(bodies, sizes)
    ]
    ids, places = [f"j{n}" for n in range(len(drafts))], list(range(7, 7 + len(drafts)))
    alone = [
        build_job(draft, template_of(draft, NOW, 4), job_id, place)
        for draft, job_id, place in zip(drafts, ids, places, strict=True)
    ]
    together: list[UniformJobs] = []
    start = 0
    for run in uniform_runs(requests):
        own = slice(start, start + len(run))
        template = template_of(run[0], NOW, 4)
        together.append(uniform_jobs(run, template, ids[own], places[own]))
        start = own.stop
    assert [job for jobs in together for job in jobs] == alone
    for jobs in together:
        assert list(jobs[1:]) == list(jobs)[1:]
        assert [one.job.size for one in jobs] == list(jobs.sizes)
        assert [one.job.tenant for one in jobs.owned("x")] == ["x"] * len(jobs)


def test_jobs_equal_to_python_only_are_not_uniform() -> None:
    bodies: list[dict[str, Any]] = [
        {"type": "t", "args": [], "x": value} for value in (1, True, 1.0, 1, 1)
    ]
    assert [len(run) for run in uniform_runs([list(map(parse_draft, bodies))])] == [
        1,
        1,
        1,
        2,
    ]
