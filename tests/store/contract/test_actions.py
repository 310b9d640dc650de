"""The store contract: what people did."""

from ojs_server.domain.admin.action import Action, ActionFilter, Actor
from ojs_server.store.base import Store, Tx
from tests.store.records import ON_ALL_VERSIONS, START

ANY = ActionFilter()
NEWEST = 2**63 - 1


def action(tx: Tx, number: int, *, name: str = "admin-1", target: str = "email") -> Action:
    """Return an action of an operator."""
    actor = Actor(
        name=name,
        role="admin",
        via="key",
        tenant=None,
        address="192.0.2.7",
        call="POST /ojs/v1/queues/{name}/pause",
        target=target,
        request_id=f"req_{number}",
    )
    return Action(tx.position(), START + number, actor, "done")


@ON_ALL_VERSIONS
def test_actions_are_listed_from_the_newest_and_filtered(store: Store) -> None:
    with store.transaction() as tx:
        first = action(tx, 1)
        second = action(tx, 2, name="operator-2")
        third = action(tx, 3, target="bills")
        tx.insert_actions([first, second, third])
    with store.reader() as reader:
        assert reader.actions(ANY, NEWEST, 2) == [third, second]
        assert reader.actions(ANY, second.position, 2) == [first]
        wanted = {
            ActionFilter(name="operator-2"): [second],
            ActionFilter(target="bills"): [third],
            ActionFilter(call=first.actor.call, name="admin-1"): [third, first],
            ActionFilter(call="DELETE /ojs/v1/jobs/{id}"): [],
            ActionFilter(since=START + 2): [third, second],
            ActionFilter(until=START + 2): [first],
            ActionFilter(name="\0"): [],
        }
        for one, found in wanted.items():
            assert reader.actions(one, NEWEST, 9) == found, one


@ON_ALL_VERSIONS
def test_old_actions_are_removed_step_by_step(store: Store) -> None:
    with store.transaction() as tx:
        tx.insert_actions([action(tx, number) for number in range(4)])
    with store.transaction() as tx:
        assert [tx.prune_actions(START + 3, 2) for _ in range(3)] == [2, 1, 0]
    with store.reader() as reader:
        assert [one.at for one in reader.actions(ANY, NEWEST, 9)] == [START + 3]
