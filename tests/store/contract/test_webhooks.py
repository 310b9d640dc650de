"""The store contract: webhook subscriptions, due deliveries, and pages of deliveries."""

from typing import Any

import msgspec
import pytest

from ojs_server.domain.webhooks.delivery import Delivery
from ojs_server.domain.webhooks.webhook import Webhook
from ojs_server.store.base import StaleWrite, Store
from ojs_server.store.records import DeliveryFilter, ListPosition
from tests.store.records import ON_ALL_VERSIONS, START, HandClock

HOOK = Webhook(
    id="sub_a",
    url="https://example.com/?a=%00",
    selection=b'{"events":["*"],"metadata":{"a":"\\u0000\\u2603"}}',
    active=True,
    secret="secret-1",
    old_secret="secret-0",
    old_until=START + 5,
    cursor=1 << 50,
    created_at=START,
    updated_at=START + 1,
    tenant="acme",
)
EVERYTHING = DeliveryFilter()


def a_webhook(name: str, **fields: Any) -> Webhook:
    return msgspec.structs.replace(HOOK, id=name, **fields)


def a_delivery(name: str, webhook: str = "sub_a", **fields: Any) -> Delivery:
    record: dict[str, Any] = {"status": "pending", "attempt": 0, "due_at": START, **fields}
    return Delivery(name, webhook, f"evt_{name}", "job.failed", b"{}", created_at=START, **record)


def ended(name: str, webhook: str = "sub_a", status: str = "dead") -> Delivery:
    return a_delivery(name, webhook, status=status, due_at=None, finished_at=START)


def keep(store: Store, *rows: Webhook | Delivery) -> None:
    with store.transaction() as tx:
        tx.insert_webhooks([row for row in rows if isinstance(row, Webhook)])
        tx.insert_deliveries([row for row in rows if isinstance(row, Delivery)])


def listed(
    store: Store,
    wanted: DeliveryFilter = EVERYTHING,
    limit: int = 10,
    offset: int = 0,
    after: ListPosition | None = None,
) -> list[str]:
    with store.reader() as reader:
        page = reader.deliveries(wanted, limit, offset, after)
    return [one.id for one in page.deliveries]


@ON_ALL_VERSIONS
def test_rows_come_back_as_they_were(store: Store) -> None:
    delivery = a_delivery("d", answer=500, error="no \u2603", took_ms=7, tenant="acme")
    keep(store, HOOK, delivery)
    with store.reader() as reader:
        assert reader.webhooks() == [HOOK]
        assert reader.webhooks(["sub_a", "sub_b"]) == [HOOK]
        assert reader.delivery("d") == delivery
        assert reader.delivery("\0") is None
    after = msgspec.structs.replace(HOOK, active=False, old_secret=None, old_until=None, cursor=7)
    done = msgspec.structs.replace(delivery, status="delivered", due_at=None, finished_at=START)
    with store.transaction() as tx:
        assert [tx.count_webhooks(of) for of in (None, "acme", "beta")] == [1, 1, 0]
        assert tx.load_webhooks(["sub_a", "sub_b"]) == {"sub_a": HOOK}
        assert tx.load_deliveries(["d", "e"]) == {"d": delivery}
        tx.update_webhooks([after])
        tx.update_deliveries([done])
    with store.reader() as reader:
        assert reader.webhooks() == [after]
        assert reader.delivery("d") == done


def test_what_is_gone_cannot_be_changed(store: Store) -> None:
    with pytest.raises(StaleWrite), store.transaction() as tx:
        tx.update_webhooks([HOOK])
    with pytest.raises(StaleWrite), store.transaction() as tx:
        tx.update_deliveries([a_delivery("d")])


@ON_ALL_VERSIONS
def test_what_is_due_is_taken_in_order_and_of_one_subscription(
    store: Store, clock: HandClock
) -> None:
    keep(
        store,
        a_delivery("late", due_at=START + 1),
        a_delivery("second"),
        a_delivery("first", due_at=START - 1),
        a_delivery("other", "sub_b"),
        ended("over"),
    )
    with store.transaction() as tx:
        assert [one.id for one in tx.load_due_deliveries("sub_a", 9)] == ["first", "second"]
        assert [one.id for one in tx.load_due_deliveries("sub_a", 1)] == ["first"]
    clock.forward(1)
    with store.transaction() as tx:
        assert len(tx.load_due_deliveries("sub_a", 9)) == 3


@ON_ALL_VERSIONS
def test_loads_say_what_there_is_to_do_for_active_subscriptions(store: Store) -> None:
    idle, paused = a_webhook("sub_b"), a_webhook("sub_c", active=False)
    keep(store, HOOK, idle, paused, ended("over"), a_delivery("p", "sub_c"))
    keep(store, *(a_delivery(f"d{n}", due_at=START + n) for n in range(5)))
    with store.reader() as reader:
        assert reader.webhook_loads(3) == [(HOOK, START, 3), (idle, None, 0)]
        assert reader.webhook_loads(99)[0].waiting == 5


@ON_ALL_VERSIONS
def test_deleting_a_subscription_cancels_what_waits(store: Store, clock: HandClock) -> None:
    keep(store, HOOK, a_delivery("d"), ended("over"), a_delivery("other", "sub_b"))
    clock.forward(9)
    with store.transaction() as tx:
        tx.delete_webhooks(["sub_a"])
    with store.reader() as reader:
        assert reader.webhooks() == []
        gone = reader.delivery("d")
        assert gone is not None
        assert (gone.status, gone.due_at, gone.finished_at) == ("cancelled", None, START + 9)
    assert listed(store, DeliveryFilter("sub_a", "dead")) == ["over"]
    assert listed(store, DeliveryFilter(None, "pending")) == ["other"]


@ON_ALL_VERSIONS
def test_pages_are_newest_first_and_go_on_from_a_place(store: Store) -> None:
    keep(store, *(ended(f"d{n}", f"sub_{n % 2}") for n in range(5)))
    assert listed(store) == ["d4", "d3", "d2", "d1", "d0"]
    assert listed(store, limit=2, offset=1) == ["d3", "d2"]
    assert listed(store, after=ListPosition(START, "d2")) == ["d1", "d0"]
    assert listed(store, DeliveryFilter("sub_1")) == ["d3", "d1"]
    assert listed(store, DeliveryFilter("sub_1", "pending")) == []
    assert listed(store, DeliveryFilter("\0")) == []
    with store.reader() as reader:
        page = reader.deliveries(DeliveryFilter(status="dead"), 2, 0, None)
        assert (page.total, page.has_more) == (5, True)
        page = reader.deliveries(DeliveryFilter("sub_0"), 3, 0, None)
        assert (page.total, page.has_more) == (3, False)


def test_the_old_go_in_steps(store: Store) -> None:
    keep(store, *(ended(f"d{n}") for n in range(3)), a_delivery("p"))
    with store.transaction() as tx:
        assert tx.prune_deliveries(START, 9) == 0
        assert tx.prune_deliveries(START + 1, 2) == 2
        assert tx.prune_deliveries(START + 1, 2) == 1
    assert listed(store) == ["p"]


@ON_ALL_VERSIONS
def test_a_tenants_deliveries_are_a_list_of_their_own(store: Store) -> None:
    mine: dict[str, Any] = {"tenant": "acme", "due_at": None, "finished_at": START}
    keep(
        store,
        a_delivery("d1", status="dead", **mine),
        a_delivery("d2", "sub_b", status="delivered", **mine),
        ended("d3"),
        a_delivery("d4", tenant="beta"),
    )
    assert listed(store, DeliveryFilter(tenant="acme")) == ["d2", "d1"]
    assert listed(store, DeliveryFilter(tenant="acme"), 1, after=ListPosition(START, "d2")) == [
        "d1"
    ]
    assert listed(store, DeliveryFilter("sub_a", tenant="acme")) == ["d1"]
    assert listed(store, DeliveryFilter("sub_a", "delivered", "acme")) == []
    with store.reader() as reader:
        assert reader.deliveries(DeliveryFilter(tenant="beta"), 9, 0, None).total == 1
