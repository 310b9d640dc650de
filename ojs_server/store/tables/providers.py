"""Providers, and their answers."""

from collections.abc import Iterable, Sequence

from ojs_server.domain.compat.provider import Provider, ProviderResult
from ojs_server.store.tables.statements import Statements, Writing


class ProviderWrites(Writing):
    """Providers in a write transaction."""

    def save_providers(self, providers: Sequence[Provider]) -> None:
        """Store or replace providers; existing ones keep their time of creation."""
        self.run_records("save_providers", sorted(providers, key=lambda provider: provider.id))

    def load_providers(self, ids: Iterable[str]) -> dict[str, Provider]:
        """Lock and read providers."""
        return {
            provider.id: provider for provider in self.read_ids(Provider, "load_providers", ids)
        }

    def load_providers_of(self, worker_ids: Iterable[str]) -> list[Provider]:
        """Lock and read the providers that these workers answer for."""
        return self.read_ids(Provider, "load_providers_of", worker_ids)

    def delete_providers(self, ids: Sequence[str]) -> None:
        """Delete providers and their answers."""
        self.run_ids("delete_provider_results", ids)
        self.run_ids("delete_providers", ids)

    def load_provider_result(self, provider_id: str, request_hash: str) -> ProviderResult | None:
        """Return the last request to a provider, whose row is locked."""
        bound = {"provider_id": provider_id, "request_hash": request_hash}
        return next(iter(self.read(ProviderResult, "load_provider_result", **bound)), None)

    def save_provider_results(self, results: Sequence[ProviderResult]) -> None:
        """Store or replace requests to providers and their answers."""
        self.run_records("save_provider_results", results)

    def forget_requests(self, provider_id: str) -> int:
        """Delete the unanswered requests to a locked provider; return their number."""
        return self.run("forget_requests", provider_id=provider_id)

    def prune_provider_results(self, limit: int) -> int:
        """Remove expired requests and answers; return their number."""
        return self.run("prune_provider_results", now=self.now, limit=limit)


class ProviderReads(Statements):
    """Providers outside of a transaction."""

    def providers_in(self, room: str) -> list[Provider]:
        """The providers of a room, newest first."""
        if not self.can_hold(room):
            return []
        return self.read(Provider, "providers_in", room=room)

    def provider(self, provider_id: str) -> Provider | None:
        """A provider."""
        return next(iter(self.read_ids(Provider, "some_providers", [provider_id])), None)

    def provider_answer(self, provider_id: str, request_hash: str, now: int) -> bytes | None:
        """Return the answer of a provider while it is kept."""
        if not self.can_hold(provider_id, request_hash):
            return None
        bound = {"provider_id": provider_id, "request_hash": request_hash, "now": now}
        rows = self.all("provider_answer", **bound)
        return bytes(rows[0][0]) if rows else None
