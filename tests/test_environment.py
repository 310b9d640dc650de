"""The environment of a server: clocks, chance and threads as the machine gives them."""

import threading

import pytest

from ojs_server.environment import MachineThreads, chance, machine


def test_the_machines_clocks_are_in_milliseconds() -> None:
    environment = machine()
    assert 1_700_000_000_000 < environment.wall_ms() < 10_000_000_000_000
    assert 0 <= environment.monotonic_ms() <= environment.monotonic_ms()


def test_a_seed_says_what_chance_gives() -> None:
    one, same, other = chance(1), chance(1), chance(2)
    drawn = [
        (source.bits(64), source.random(), source.new_ids(5, 2)) for source in (one, same, other)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_no_two_processes_have_the_same_chance() -> None:
    assert machine().chance.bits(64) != machine().chance.bits(64)


@pytest.mark.parametrize("item", ["a", None, 0])
def test_an_inbox_does_everything_in_order_before_it_is_closed(item: object) -> None:
    done: list[object] = []
    names: set[str] = set()

    def do(given: object) -> None:
        done.append(given)
        names.add(threading.current_thread().name)

    inbox = MachineThreads().inbox("a thread", do)
    inbox.put(item)
    inbox.put("last")
    inbox.close()
    assert done == [item, "last"]
    assert names == {"a thread"}
