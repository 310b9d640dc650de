"""Two nodes on one database: each delivery is taken by one of them, without waiting."""

from ojs_server.domain.webhooks.delivery import Delivery
from tests.store.conftest import OpenNode
from tests.store.records import START


def test_two_nodes_take_different_deliveries(node: OpenNode) -> None:
    one, other = node("a"), node("b")
    with one.transaction() as tx:
        tx.insert_deliveries(
            [
                Delivery(f"d{n}", "sub_a", f"evt_{n}", "t", b"{}", "pending", 0, START, START)
                for n in range(4)
            ]
        )
    with one.transaction() as first, other.transaction() as second:
        mine = [delivery.id for delivery in first.load_due_deliveries("sub_a", 2)]
        theirs = [delivery.id for delivery in second.load_due_deliveries("sub_a", 9)]
    assert (mine, theirs) == (["d0", "d1"], ["d2", "d3"])
