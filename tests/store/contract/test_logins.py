"""The store contract: sessions of people at the dashboard."""

from contextlib import closing

from ojs_server.domain.access.login import Login, hash_of
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from tests.store.records import ON_ALL_VERSIONS, START


def login(token: str, expires_at: int = START + 10) -> Login:
    """A session of somebody."""
    return Login(hash_of(token), "principal-1", START, expires_at)


@ON_ALL_VERSIONS
def test_a_login_is_found_until_it_expires_or_ends(store: Store) -> None:
    first, second = login("one"), login("two", START + 20)
    with store.transaction() as tx:
        tx.insert_login(first)
        tx.insert_login(second)
    with store.reader() as reader:
        assert reader.login(hash_of("one"), START + 9) == first
        assert reader.login(hash_of("one"), START + 10) is None
        assert reader.login(hash_of("three"), START) is None
    with store.transaction() as tx:
        tx.delete_login(second.token_hash)
        tx.delete_login(second.token_hash)
    with store.reader() as reader:
        assert reader.login(second.token_hash, START) is None
        assert reader.login(first.token_hash, START) == first


@ON_ALL_VERSIONS
def test_expired_logins_are_removed_step_by_step(store: Store) -> None:
    with store.transaction() as tx:
        for number in range(3):
            tx.insert_login(login(f"old {number}", number))
        tx.insert_login(login("new", tx.now + 1))
    with store.transaction() as tx:
        assert [tx.prune_logins(2) for _ in range(3)] == [2, 1, 0]
    with store.reader() as reader:
        assert reader.login(hash_of("new"), START) is not None


def test_a_login_outlives_the_server(store: Store, store_url: str) -> None:
    with store.transaction() as tx:
        tx.insert_login(login("one"))
    store.close()
    with closing(open_store(store_url)) as reopened, reopened.reader() as reader:
        assert reader.login(hash_of("one"), START) == login("one")
