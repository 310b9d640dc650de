"""Jobs as they look on the wire, many at once."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.jobs.uniform_jobs import UniformJobs
from ojs_server.http.jobs.views import envelope, envelopes
from tests.store.records import START, a_job

KINDS: list[dict[str, Any]] = [
    {},
    {"enqueued_at": START},
    {"enqueued_at": START, "spec": b'{"tags":["\\u0000"],"x":"id"}'},
    {"type": "j1", "queue": "j2"},
    {"state": "scheduled", "scheduled_at": START + 5, "meta": b'{"a":"b"}'},
    {"state": "active", "started_at": START + 9, "attempt": 1},
]


@given(st.lists(st.tuples(st.integers(0, len(KINDS) - 1), st.booleans()), max_size=12))
def test_jobs_look_the_same_alone_and_among_others(asked: list[tuple[int, bool]]) -> None:
    jobs = [
        a_job(f"j{number}", args=b'[%d,"\\u0000"]' % number, **KINDS[kind])
        for number, (kind, _) in enumerate(asked)
    ]
    earlier = [known for _, known in asked]
    alone = [envelope(one, deduplicated=known) for one, known in zip(jobs, earlier, strict=True)]
    assert list(envelopes(jobs, earlier)) == alone
    for text, job in zip(alone, jobs, strict=True):
        assert msgspec.json.decode(text)["id"] == job.job.id


@given(st.sampled_from(KINDS[:5]), st.integers(1, 30))
def test_uniform_jobs_look_the_same_alone_and_together(kind: dict[str, Any], count: int) -> None:
    like = a_job("", **kind).job
    ids = [f"job-{number}" for number in range(count)]
    args = [b'[%d,"\\u0000"]' % number for number in range(count)]
    metas = [b'{"args":"%b"}' % one.encode() for one in ids]
    jobs = UniformJobs(like, ids, range(count), args, metas, [9] * count)
    assert list(envelopes(jobs, [False] * count)) == list(map(envelope, jobs))
