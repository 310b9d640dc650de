"""The store contract: the routing of versions, which every transaction knows."""

from ojs_server.domain.jobs.version_routing import Routing, Share
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from tests.store.records import undone

CANARY = Routing((Share(1, 95), Share("2.1", 5)))


def test_every_transaction_after_it_knows_a_routing(store: Store, store_url: str) -> None:
    with undone(store) as tx:
        tx.save_routing("undone", CANARY)
    with store.transaction() as tx:
        assert tx.routings == {}
        tx.save_routing("mail", Routing((Share(1, 1),)))
        tx.save_routing("mail", CANARY)
        tx.save_routing("gone", CANARY)
        tx.delete_routing("gone")
        assert tx.routings == {"mail": CANARY}
    with store.reader() as reader:
        assert reader.routing("mail") == CANARY
        assert reader.routing("gone") is None
        assert reader.routing("none\0") is None
    store.close()
    again = open_store(store_url)
    with again.transaction() as tx:
        assert tx.routings == {"mail": CANARY}
        tx.wipe()
        assert tx.routings == {}
    with again.transaction() as tx:
        assert tx.routings == {}
    again.close()
