"""The store contract: providers, requests to them, and their answers."""

from msgspec.structs import replace

from ojs_server.store.base import Store
from ojs_server.systems.jobmanager import tables
from ojs_server.systems.jobmanager.domain.provider import Provider, ProviderResult
from tests.store.records import ON_ALL_VERSIONS, START


def provider(number: int, room: str = "r", worker: str = "w") -> Provider:
    """A provider of a room."""
    return Provider(
        id=f"p{number}",
        room=room,
        category="files",
        name=f"n{number}",
        schema=b"{}",
        content_type="text/plain",
        worker_id=worker,
        principal=None,
        created_at=START + number,
    )


@ON_ALL_VERSIONS
def test_providers_are_stored_changed_and_listed_by_room(store: Store) -> None:
    first, second, other = provider(1), provider(2, worker="x"), provider(3, "s")
    with store.transaction() as tx:
        tables.save_providers(tx, [second, first, other])
    changed = replace(first, schema=b"[]", worker_id="y", principal="k", created_at=START + 9)
    with store.transaction() as tx:
        tables.save_providers(tx, [changed])
        assert tables.load_providers(tx, ["p1", "none"]) == {
            "p1": replace(changed, created_at=START + 1)
        }
        assert tables.load_providers_of(tx, ["x", "nobody"]) == [second]
    with store.reader() as reader:
        assert [one.id for one in tables.providers_in(reader, "r")] == ["p2", "p1"]
        assert tables.providers_in(reader, "\0") == []
        assert tables.provider(reader, "p3") == other
        assert tables.provider(reader, "\0") is None


@ON_ALL_VERSIONS
def test_an_answer_is_kept_until_its_end_and_goes_with_its_provider(store: Store) -> None:
    asked = ProviderResult("p1", "h", START + 10)
    answered = ProviderResult("p1", "h", START + 20, b"\0\xff")
    with store.transaction() as tx:
        tables.save_providers(tx, [provider(1), provider(2)])
        tables.save_provider_results(tx, [asked, ProviderResult("p2", "h", START + 20, b"2")])
    with store.transaction() as tx:
        assert tables.load_provider_result(tx, "p1", "h") == asked
        assert tables.load_provider_result(tx, "p1", "i") is None
    with store.reader() as reader:
        assert tables.provider_answer(reader, "p1", "h", START) is None
    with store.transaction() as tx:
        tables.save_provider_results(tx, [answered])
    with store.reader() as reader:
        assert tables.provider_answer(reader, "p1", "h", START + 19) == b"\0\xff"
        assert tables.provider_answer(reader, "p1", "h", START + 20) is None
        assert tables.provider_answer(reader, "p1", "\0", START) is None
    with store.transaction() as tx:
        tables.delete_providers(tx, ["p1"])
        assert tables.load_provider_result(tx, "p1", "h") is None
        assert tables.load_provider_result(tx, "p2", "h") is not None


@ON_ALL_VERSIONS
def test_requests_without_an_answer_are_forgotten(store: Store) -> None:
    with store.transaction() as tx:
        tables.save_providers(tx, [provider(1), provider(2)])
        results = [ProviderResult("p1", "asked", tx.now + 1), ProviderResult("p2", "h", tx.now + 1)]
        answered = ProviderResult("p1", "answered", tx.now + 1, b"")
        tables.save_provider_results(tx, [*results, answered])
    with store.transaction() as tx:
        assert tables.forget_requests(tx, "p1") == 1
        assert tables.forget_requests(tx, "p1") == 0
        assert tables.load_provider_result(tx, "p1", "asked") is None
        assert tables.load_provider_result(tx, "p1", "answered") == answered
        assert tables.load_provider_result(tx, "p2", "h") is not None


@ON_ALL_VERSIONS
def test_what_is_over_is_removed_step_by_step(store: Store) -> None:
    with store.transaction() as tx:
        tables.save_providers(tx, [provider(1)])
        tables.save_provider_results(tx, [ProviderResult("p1", f"h{n}", n) for n in range(3)])
        tables.save_provider_results(tx, [ProviderResult("p1", "later", tx.now + 1)])
    with store.transaction() as tx:
        assert tables.prune_provider_results(tx, 2) == 2
        assert tables.prune_provider_results(tx, 2) == 1
        assert tables.load_provider_result(tx, "p1", "later") is not None
