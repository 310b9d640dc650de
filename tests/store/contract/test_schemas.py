"""The store contract: schemas, which every transaction knows, and their texts."""

import msgspec

from ojs_server.domain.schemas.schema import Schema, registered
from ojs_server.domain.version import Version
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from tests.store.records import START, undone


def a_schema(kind: str = "mail.send", version: object = 1, **more: object) -> Schema:
    given = {"type": kind, "version": version, "schema": {"type": "array"}, **more}
    return registered(given, START)


def put(store: Store, *schemas: Schema) -> None:
    with store.transaction() as tx:
        assert all(tx.insert_schema(schema) for schema in schemas)


def known(store: Store, kind: str = "mail.send") -> list[str]:
    """The versions that a new transaction knows, newest first."""
    with store.transaction() as tx:
        return [str(mark.version) for mark in tx.schemas.get(kind, ())]


def test_every_transaction_after_it_knows_a_schema_newest_first(store: Store) -> None:
    assert known(store) == []
    put(store, a_schema(version="1.9"), a_schema(version=2), a_schema(version="1.10", mode="off"))
    put(store, a_schema("other"))
    assert known(store) == ["2.0.0", "1.10.0", "1.9.0"]
    with store.transaction() as tx:
        assert tx.schemas["mail.send"][1] == a_schema(version="1.10", mode="off").mark
        assert tx.delete_schema("mail.send", Version(2))
        assert not tx.delete_schema("mail.send", Version(2))
        assert [mark.version for mark in tx.schemas["mail.send"]] == [Version(1, 10), Version(1, 9)]
    assert known(store) == ["1.10.0", "1.9.0"]


def test_a_version_that_is_there_stays_as_it_was(store: Store) -> None:
    put(store, a_schema(version=1))
    with store.transaction() as tx:
        assert not tx.insert_schema(a_schema(version="1.0.0", schema={"type": "object"}))
    with store.reader() as reader:
        assert reader.schema("mail.send", Version(1)) == a_schema(version=1)


def test_who_locks_knows_what_is_there(store: Store) -> None:
    put(store, a_schema())
    with store.transaction() as tx:
        tx.lock_schemas()
        assert [mark.version for mark in tx.schemas["mail.send"]] == [Version(1)]
        assert tx.insert_schema(a_schema(version=2))
        tx.lock_schemas()
        assert [mark.version for mark in tx.schemas["mail.send"]] == [Version(2), Version(1)]


def test_to_lock_the_settings_changes_nothing(store: Store) -> None:
    put(store, a_schema())
    with store.transaction() as tx:
        tx.lock_settings()
        assert tx.insert_schema(a_schema(version=2))
    with store.reader() as reader:
        assert len(reader.schemas("mail.send")) == 2


def test_what_was_rolled_back_nobody_knows(store: Store) -> None:
    with undone(store) as tx:
        assert tx.insert_schema(a_schema())
    assert known(store) == []


def test_schemas_are_read_with_and_without_their_texts(store: Store) -> None:
    first, second = a_schema(version="1.0"), a_schema(version=2, mode="strict")
    put(store, first, second, a_schema("a"))
    with store.reader() as reader:
        bare = [msgspec.structs.replace(one, document=b"") for one in (second, first)]
        assert reader.schemas("mail.send") == bare
        assert [one.mark.type for one in reader.schemas()] == ["a", "mail.send", "mail.send"]
        assert reader.schema("mail.send", None) == second
        assert reader.schema("mail.send", Version(1)) == first
        assert reader.schema("mail.send", Version(3)) is None
        assert reader.schemas("none\0") == []
    with store.transaction() as tx:
        assert tx.load_schema("mail.send", Version(2)) == second.document
        assert tx.load_schema("mail.send", Version(3)) is None


def test_a_wipe_takes_them_all(store: Store) -> None:
    put(store, a_schema())
    with store.transaction() as tx:
        tx.wipe()
        assert tx.schemas == {}
    assert known(store) == []


def test_schemas_are_known_after_a_start(store: Store, store_url: str) -> None:
    put(store, a_schema())
    store.close()
    again = open_store(store_url)
    assert known(again) == ["1.0.0"]
    again.close()


def test_what_one_node_registers_the_next_transaction_of_another_knows(
    store: Store, store_url: str
) -> None:
    if store.kind != "postgres":
        return
    other = open_store(store_url)
    assert known(other) == []
    put(store, a_schema())
    assert known(other) == ["1.0.0"]
    other.close()


def test_a_chosen_uri_is_of_one_schema_and_finds_it(store: Store) -> None:
    chosen = a_schema(uri="https://example.com/mail")
    put(store, chosen, a_schema(version=2))
    with store.transaction() as tx:
        assert not tx.insert_schema(a_schema("other", uri="https://example.com/mail"))
    with store.reader() as reader:
        assert reader.schema_of_uri("https://example.com/mail") == chosen
        assert reader.schema("mail.send", Version(1)) == chosen
        assert [one.chosen_uri for one in reader.schemas()] == [None, "https://example.com/mail"]
        for unknown in ("urn:ojs:schema:mail.send:v2", "", "a\x00b"):
            assert reader.schema_of_uri(unknown) is None
    with store.transaction() as tx:
        assert tx.delete_schema("mail.send", Version(1))
        assert tx.insert_schema(a_schema("other", uri="https://example.com/mail"))
