"""The events of a transaction are the same, whether kept together or one by one."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.event_buffer import EventBuffer, UniformEvents
from ojs_server.domain.jobs.job import Event

kinds = st.sampled_from(["job.enqueued", "job.started", "worker.quiet"])
runs = st.lists(
    st.tuples(kinds, st.integers(0, 3), st.booleans(), st.sampled_from([None, "acme"])), max_size=8
)


@given(runs, kinds)
def test_events_come_out_as_they_came_in(
    given_runs: list[tuple[str, int, bool, str | None]], kind: str
) -> None:
    happened = EventBuffer()
    told: list[Event] = []
    for name, count, together, tenant in given_runs:
        like = Event(name, "", "q", "t", name.encode(), tenant=tenant)
        ids = [f"j{len(told)}-{number}" for number in range(count)]
        alike = UniformEvents(like, ids)
        happened.add(alike if together else list(alike))
        told += [Event(name, one, "q", "t", name.encode(), tenant=tenant) for one in ids]
    assert list(happened) == told
    assert len(happened) == len(told)
    assert bool(happened) == bool(told)
    assert [list(run) for run in EventBuffer(happened).runs] == ([told] if told else [])
    assert list(happened.of({kind})) == [one for one in told if one.type == kind]
    labels = Counter((one.type, one.queue, one.job_type, one.tenant) for one in told)
    assert +happened.counts() == labels


def test_what_is_added_later_does_not_change_what_it_came_from() -> None:
    first = [Event("job.started", "a", None, None, b"")]
    happened = EventBuffer(first)
    happened.add(first)
    assert len(happened) == 2
    assert len(first) == 1


def test_a_part_of_events_that_are_alike_is_alike() -> None:
    alike = UniformEvents(Event("job.enqueued", "", "q", "t", b""), ["a", "b", "c"])
    assert list(alike[1:]) == list(alike)[1:]
    assert isinstance(alike[1:], UniformEvents)
