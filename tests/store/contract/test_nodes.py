"""The store contract: the nodes of a database, as they announce themselves."""

from ojs_server.domain.admin.server_node import SILENT_MS, Announcement, ServerNode
from ojs_server.store.base import Store
from tests.store.records import ON_ALL_VERSIONS, START, HandClock

SAID = Announcement("web-1", 4711, "1.2.3", waiting_fetches=3, event_streams=2)


@ON_ALL_VERSIONS
def test_a_node_is_known_from_its_first_announcement_until_it_stops(
    store: Store, clock: HandClock
) -> None:
    assert store.nodes() == []
    store.announce(SAID)
    assert store.nodes() == [ServerNode("a", START, START, SAID)]
    clock.forward(10_000)
    busier = Announcement("web-1", 4711, "1.2.3", waiting_fetches=4)
    store.announce(busier)
    assert store.nodes() == [ServerNode(store.node, START, START + 10_000, busier)]
    store.withdraw()
    assert store.nodes() == []
    store.announce(SAID)
    assert store.nodes() == [ServerNode("a", START + 10_000, START + 10_000, SAID)]


def test_a_node_that_announces_nothing_is_silent(store: Store, clock: HandClock) -> None:
    store.announce(SAID)
    clock.forward(SILENT_MS - 1)
    (node,) = store.nodes()
    assert not node.is_silent(clock.now)
    clock.forward(1)
    assert node.is_silent(clock.now)
