"""The bound on sessions that have not connected, and who makes room."""

from ojs_server.systems.jobmanager.socketio.unconnected import SHARE, Unconnected


def test_the_oldest_makes_room() -> None:
    sessions = Unconnected(SHARE)
    first = [sessions.add(f"s{number}", f"192.0.2.{number}", number) for number in range(SHARE)]
    assert first == [None] * SHARE
    assert sessions.add("new", "192.0.2.99", 9) == "s0"
    sessions.remove("s1")
    assert sessions.add("newer", "192.0.2.98", 9) is None
    assert len(sessions) == SHARE


def test_an_address_makes_room_for_itself_before_it_takes_that_of_others() -> None:
    sessions = Unconnected(2 * SHARE)
    sessions.add("other", "192.0.2.1", 0)
    flood = [sessions.add(f"s{number}", f"2001:db8::{number}", 1) for number in range(9)]
    assert flood == [None, None, *(f"s{number}" for number in range(7))]
    assert sessions.added_before(1) == ["other"]
    assert sessions.added_before(2) == ["other", "s7", "s8"]


def test_sessions_that_are_gone_leave_nothing() -> None:
    sessions = Unconnected(SHARE)
    for sid in ("a", "b"):
        sessions.add(sid, "192.0.2.1", 0)
        sessions.remove(sid)
        sessions.remove(sid)
    assert (len(sessions), sessions.added_before(1)) == (0, [])
    assert sessions.add("c", "192.0.2.1", 1) is None
