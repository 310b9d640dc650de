"""The tables of the job manager: providers, and their answers."""

from collections.abc import Iterable, Sequence

from ojs_server.store.tables.catalog import add_tables
from ojs_server.store.tables.statements import Statements, Writing
from ojs_server.systems.jobmanager.domain.provider import Provider, ProviderResult

add_tables(__package__, providers=Provider, provider_results=ProviderResult)


def oldest_lanes(tx: Writing, worker_id: str) -> list[tuple[str, str]]:
    """Return the (queue, type) pairs with waiting jobs that a worker is linked to; the pair whose
    first job has waited longest comes first."""
    rows = tx.all("oldest_lanes", worker_id=worker_id, now=tx.now)
    return [(queue, job_type) for queue, job_type, _ in rows]


def save_providers(tx: Writing, providers: Sequence[Provider]) -> None:
    """Store or replace providers; existing ones keep their time of creation."""
    tx.run_records("save_providers", sorted(providers, key=lambda provider: provider.id))


def load_providers(tx: Writing, ids: Iterable[str]) -> dict[str, Provider]:
    """Lock and read providers."""
    return {provider.id: provider for provider in tx.read_ids(Provider, "load_providers", ids)}


def load_providers_of(tx: Writing, worker_ids: Iterable[str]) -> list[Provider]:
    """Lock and read the providers that these workers answer for."""
    return tx.read_ids(Provider, "load_providers_of", worker_ids)


def delete_providers(tx: Writing, ids: Sequence[str]) -> None:
    """Delete providers and their answers."""
    tx.run_ids("delete_provider_results", ids)
    tx.run_ids("delete_providers", ids)


def load_provider_result(tx: Writing, provider_id: str, request_hash: str) -> ProviderResult | None:
    """Return the last request to a provider, whose row is locked."""
    bound = {"provider_id": provider_id, "request_hash": request_hash}
    return next(iter(tx.read(ProviderResult, "load_provider_result", **bound)), None)


def save_provider_results(tx: Writing, results: Sequence[ProviderResult]) -> None:
    """Store or replace requests to providers and their answers."""
    tx.run_records("save_provider_results", results)


def forget_requests(tx: Writing, provider_id: str) -> int:
    """Delete the unanswered requests to a locked provider; return their number."""
    return tx.run("forget_requests", provider_id=provider_id)


def prune_provider_results(tx: Writing, limit: int) -> int:
    """Remove expired requests and answers; return their number."""
    return tx.run("prune_provider_results", now=tx.now, limit=limit)


def providers_in(reader: Statements, room: str) -> list[Provider]:
    """Return the providers of a room, newest first."""
    if not reader.can_hold(room):
        return []
    return reader.read(Provider, "providers_in", room=room)


def provider(reader: Statements, provider_id: str) -> Provider | None:
    """Return a provider."""
    return next(iter(reader.read_ids(Provider, "some_providers", [provider_id])), None)


def provider_answer(
    reader: Statements, provider_id: str, request_hash: str, now: int
) -> bytes | None:
    """Return the answer of a provider while it is kept."""
    if not reader.can_hold(provider_id, request_hash):
        return None
    bound = {"provider_id": provider_id, "request_hash": request_hash, "now": now}
    rows = reader.all("provider_answer", **bound)
    return bytes(rows[0][0]) if rows else None
