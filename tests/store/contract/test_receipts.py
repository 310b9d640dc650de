"""The store contract: records of idempotency keys."""

from ojs_server.store.base import Store
from ojs_server.store.records import Receipt
from tests.store.records import ON_ALL_VERSIONS, START, HandClock, ReceiptKey, a_receipt

ONE: ReceiptKey = ("alice", "enqueue", "k1")
TWO: ReceiptKey = ("alice", "enqueue", "k2")


def insert(store: Store, receipts: dict[ReceiptKey, Receipt]) -> dict[ReceiptKey, Receipt]:
    with store.transaction() as tx:
        return tx.insert_receipts(receipts)


@ON_ALL_VERSIONS
def test_a_key_used_before_is_answered_with_what_was_stored(store: Store) -> None:
    first = a_receipt("j1", "j2")
    assert insert(store, {ONE: first}) == {}
    again = insert(store, {ONE: a_receipt("j9", body_hash=b"x"), TWO: a_receipt("j3")})
    assert again == {ONE: first}
    assert insert(store, {TWO: a_receipt()}) == {TWO: a_receipt("j3")}


def test_a_key_belongs_to_a_principal_and_an_operation(store: Store) -> None:
    keys: list[ReceiptKey] = [
        ("alice", "enqueue", "k"),
        ("bob", "enqueue", "k"),
        ("alice", "batch", "k"),
        ("alice", "enqueue", "K"),
        ("", "", "k"),
    ]
    assert insert(store, {key: a_receipt(str(n)) for n, key in enumerate(keys)}) == {}
    known = insert(store, dict.fromkeys(keys, a_receipt()))
    assert known == {key: a_receipt(str(n)) for n, key in enumerate(keys)}


def test_a_key_may_hold_what_sql_and_arrays_treat_specially(store: Store) -> None:
    keys: list[ReceiptKey] = [("p", "o", text) for text in ("'", '"', "{},", "\\", "%s", "☃", " ")]
    receipts = {key: a_receipt(key[2]) for key in keys}
    insert(store, receipts)
    assert insert(store, dict.fromkeys(keys, a_receipt())) == receipts


@ON_ALL_VERSIONS
def test_a_receipt_can_be_taken_back(store: Store) -> None:
    with store.transaction() as tx:
        tx.insert_receipts({ONE: a_receipt("j1"), TWO: a_receipt("j2")})
        tx.delete_receipts([ONE])
        tx.delete_receipts([])
    assert insert(store, {ONE: a_receipt("j3"), TWO: a_receipt()}) == {TWO: a_receipt("j2")}


@ON_ALL_VERSIONS
def test_old_receipts_are_removed_in_steps(store: Store, clock: HandClock) -> None:
    insert(store, {("p", "o", f"old{n}"): a_receipt() for n in range(3)})
    clock.forward(10)
    insert(store, {ONE: a_receipt("j1")})
    with store.transaction() as tx:
        assert [tx.prune_receipts(START + 10, 2) for _ in range(3)] == [2, 1, 0]
    assert insert(store, {ONE: a_receipt()}) == {ONE: a_receipt("j1")}


def test_no_receipts_are_no_error(store: Store) -> None:
    assert insert(store, {}) == {}
