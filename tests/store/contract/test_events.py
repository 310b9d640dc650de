"""The store contract: the event log, read page by page after a cursor."""

import pytest

from ojs_server.domain.event_buffer import EventBuffer, UniformEvents
from ojs_server.domain.jobs.job import Event
from ojs_server.store import event_log
from ojs_server.store.base import Store
from ojs_server.store.event_log import LOOK_AHEAD
from ojs_server.store.records import EventFilter, EventPage, EventTally, LogSpan
from tests.store.records import EVERYTHING, ON_ALL_VERSIONS, START, HandClock, an_event, log, undone


def page(
    store: Store, after: int = 0, wanted: EventFilter = EVERYTHING, limit: int = 99
) -> EventPage:
    with store.reader() as reader:
        return reader.events(after, wanted, limit)


def subjects(found: EventPage) -> list[str]:
    return [placed.event.subject for placed in found.events]


@ON_ALL_VERSIONS
def test_an_event_comes_back_as_it_was_stored(store: Store, clock: HandClock) -> None:
    full = an_event(own=b'{"nul":"\\u0000","text":"\xe2\x98\x83"}')
    bare = Event("worker.started", "w1", None, None, b"{}")
    clock.forward(5)
    log(store, full, bare)
    found = page(store)
    assert [(placed.at, placed.event) for placed in found.events] == [
        (START + 5, full),
        (START + 5, bare),
    ]
    assert found.cursor == found.events[-1].position
    assert not found.has_more


@ON_ALL_VERSIONS
def test_events_that_are_alike_come_back_among_others(store: Store) -> None:
    ids = [f"j{number}" for number in range(130)]
    alike = UniformEvents(an_event(subject=""), ids)
    bare = Event("worker.started", "w1", None, None, b"{}")
    for parts in ([alike], [[bare, bare], alike, [bare], alike[:1]], [[bare]]):
        happened = EventBuffer()
        for part in parts:
            happened.add(part)
        with store.transaction() as tx:
            last = tx.insert_events(happened)
        newest = page(store, last - len(happened), limit=500)
        assert [placed.event for placed in newest.events] == list(happened)
        assert newest.events[-1].position == last


@ON_ALL_VERSIONS
def test_positions_rise_within_and_across_transactions(store: Store) -> None:
    for batch in range(3):
        log(store, *(an_event(subject=f"{batch}.{n}") for n in range(3)))
    found = page(store)
    places = [placed.position for placed in found.events]
    assert places == sorted(set(places))
    assert subjects(found) == [f"{batch}.{n}" for batch in range(3) for n in range(3)]


def test_an_empty_log_is_an_empty_page_at_the_same_cursor(store: Store) -> None:
    assert page(store, after=7) == EventPage([], 7, False)


@ON_ALL_VERSIONS
def test_paging_sees_every_event_once(store: Store) -> None:
    log(store, *(an_event(subject=f"s{n}") for n in range(7)))
    seen: list[str] = []
    cursor, more = 0, True
    while more:
        found = page(store, cursor, limit=3)
        seen += subjects(found)
        cursor, more = found.cursor, found.has_more
    assert seen == [f"s{n}" for n in range(7)]
    assert subjects(page(store, cursor)) == []


@ON_ALL_VERSIONS
def test_the_newest_events_come_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    log(store, *(an_event(f"t.{n % 2}", subject=f"s{n}") for n in range(6)))
    every = page(store).events

    def recent(after: int = 0, limit: int = 9, *types: str) -> EventPage:
        with store.reader() as reader:
            return reader.recent_events(after, EventFilter(types=types), limit)

    assert list(recent().events) == every[::-1]
    assert list(recent(after=every[3].position).events) == every[:3:-1]
    assert subjects(recent(0, 2, "t.0")) == ["s4", "s2"]
    assert (recent().has_more, recent(limit=5).has_more) == (False, True)
    monkeypatch.setattr(event_log, "_STRETCH", 2)
    assert list(recent().events) == every[::-1]
    monkeypatch.setattr(event_log, "LOOK_AHEAD", 4)
    looked = recent(0, 9, "t.1")
    assert (subjects(looked), looked.has_more) == (["s5", "s3"], True)


def test_a_page_that_ends_with_the_log_has_no_more(store: Store) -> None:
    log(store, *(an_event() for _ in range(3)))
    assert not page(store, limit=3).has_more
    assert page(store, limit=2).has_more


@ON_ALL_VERSIONS
@pytest.mark.parametrize("stretch", [2, 1000])
def test_a_page_with_the_last_wanted_event_has_no_more(
    store: Store, monkeypatch: pytest.MonkeyPatch, stretch: int
) -> None:
    monkeypatch.setattr(event_log, "_STRETCH", stretch)
    log(store, *(an_event(kind) for kind in ("job.a", "job.a", "job.b", "job.b", "job.b")))
    wanted = EventFilter(types=("job.a",))
    last = page(store, wanted=wanted, limit=2)
    assert (len(last.events), last.has_more) == (2, False)
    assert page(store, last.cursor) == EventPage([], last.cursor, False)
    assert page(store, wanted=wanted, limit=1).has_more


def test_a_cursor_at_the_end_finds_what_comes_later(store: Store) -> None:
    log(store, an_event(subject="before"))
    end = page(store).cursor
    log(store, an_event(subject="after"))
    assert subjects(page(store, end)) == ["after"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (EventFilter(types=("job.enqueued",)), ["j1"]),
        (EventFilter(types=("job.*",)), ["j1", "j2"]),
        (EventFilter(types=("job.completed", "worker.*")), ["j2", "w1"]),
        (EventFilter(types=("*",)), ["j1", "j2", "w1"]),
        (EventFilter(types=("job",)), []),
        (EventFilter(queues=("mail",)), ["j1"]),
        (EventFilter(queues=("mail", "video")), ["j1", "j2"]),
        (EventFilter(job_types=("video.encode",)), ["j2"]),
        (EventFilter(subject="w1"), ["w1"]),
        (EventFilter(types=("job.*",), queues=("video",), subject="j1"), []),
    ],
    ids=str,
)
def test_a_reader_gets_what_it_asked_for(
    store: Store, wanted: EventFilter, found: list[str]
) -> None:
    log(
        store,
        an_event("job.enqueued", queue="mail"),
        an_event("job.completed", subject="j2", queue="video", job_type="video.encode"),
        an_event("worker.started", subject="w1", queue=None, job_type=None),
    )
    assert subjects(page(store, wanted=wanted)) == found


@ON_ALL_VERSIONS
def test_a_reader_of_rare_events_moves_on_at_a_bounded_cost(store: Store) -> None:
    log(store, *(an_event() for _ in range(LOOK_AHEAD + 100)), an_event("job.rare", subject="rare"))
    wanted = EventFilter(types=("job.rare",))
    first = page(store, wanted=wanted)
    assert (subjects(first), first.has_more) == ([], True)
    second = page(store, first.cursor, wanted)
    assert (subjects(second), second.has_more) == (["rare"], False)


@ON_ALL_VERSIONS
def test_the_oldest_events_before_a_moment_are_removed(store: Store, clock: HandClock) -> None:
    for n in range(4):
        log(store, an_event(subject=f"s{n}"))
        clock.forward(10)
    with store.transaction() as tx:
        assert tx.delete_events(START + 20, 0, 99) == 0, "nothing was counted yet"
        tx.tally_events(99)
        assert tx.delete_events(START + 20, 0, 1) == 1
        assert tx.delete_events(START + 20, 0, 99) == 1
        assert tx.delete_events(START + 20, 0, 99) == 0
    assert subjects(page(store)) == ["s2", "s3"]


@ON_ALL_VERSIONS
def test_events_are_counted_stretch_by_stretch(store: Store) -> None:
    log(store, *(an_event() for _ in range(5)))
    with store.transaction() as tx:
        # Events written by the transaction that counts belong to the next count.
        tx.insert_events([an_event()])
        assert tx.tally_events(3) == EventTally(3, behind=True)
        assert tx.tally_events(3) == EventTally(5, behind=False)
    with store.transaction() as tx:
        assert tx.tally_events(3) == EventTally(6, behind=False)
        assert tx.tally_events(3) == EventTally(6, behind=False)


@ON_ALL_VERSIONS
def test_what_is_too_many_is_removed_oldest_first_and_uncounted(store: Store) -> None:
    log(store, *(an_event(subject=f"s{n}") for n in range(6)))
    with store.transaction() as tx:
        tx.tally_events(99)
        assert tx.delete_events(START, 3, 2) == 2
        assert tx.delete_events(START, 1, 2) == 1
        assert tx.delete_events(START, 0, 2) == 0
        assert tx.tally_events(99) == EventTally(3, behind=False)
    assert subjects(page(store)) == ["s3", "s4", "s5"]


def test_a_count_that_is_undone_is_made_again(store: Store) -> None:
    log(store, an_event())
    with undone(store) as tx:
        tx.tally_events(9)
        tx.delete_events(START, 1, 9)
    with store.transaction() as tx:
        assert tx.tally_events(9) == EventTally(1, behind=False)


def test_a_wipe_begins_the_count_anew(store: Store) -> None:
    log(store, an_event(), an_event())
    with store.transaction() as tx:
        tx.tally_events(9)
        tx.wipe()
    log(store, an_event())
    with store.transaction() as tx:
        assert tx.tally_events(9) == EventTally(1, behind=False)


def test_events_go_with_the_transaction_that_they_describe(store: Store) -> None:
    with undone(store) as tx:
        tx.insert_events([an_event()])
    assert subjects(page(store)) == []


def test_no_events_are_no_error(store: Store) -> None:
    log(store)
    assert subjects(page(store)) == []


def span(store: Store) -> LogSpan:
    with store.reader() as reader:
        return reader.log_span()


@ON_ALL_VERSIONS
def test_the_span_goes_from_the_oldest_event_to_the_newest(store: Store, clock: HandClock) -> None:
    assert span(store) == LogSpan(0, 0)
    log(store, *(an_event(subject=f"s{n}") for n in range(5)))
    places = [placed.position for placed in page(store).events]
    assert span(store) == LogSpan(places[0], places[-1])
    clock.forward(1)
    with store.transaction() as tx:
        tx.tally_events(9)
        tx.delete_events(START + 1, 0, 2)
    assert span(store) == LogSpan(places[2], places[-1])


@ON_ALL_VERSIONS
def test_writing_events_answers_the_place_of_the_last(store: Store) -> None:
    with store.transaction() as tx:
        last = tx.insert_events([an_event(), an_event()])
        assert tx.insert_events([]) == 0
    assert span(store).last == last


def test_asking_to_hear_of_events_changes_nothing(store: Store) -> None:
    before = span(store)
    store.note_following(1000)
    log(store, an_event())
    assert len(page(store).events) == 1
    assert before == LogSpan(0, 0)
