"""Providers of the job manager API: registration, requests to them, and their answers."""

import msgspec

from ojs_server.domain.workers.worker import is_deleted
from ojs_server.ops.operation import Locks, Operation, Stage
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workers import presence
from ojs_server.ops.workers.presence import deleted_with_worker
from ojs_server.systems.jobmanager import tables
from ojs_server.systems.jobmanager.domain import provider as providers
from ojs_server.systems.jobmanager.domain.provider import Provider, ProviderResult

# Most expired requests that a request or an answer removes.
PRUNED: int = 100


class Provided(msgspec.Struct, frozen=True):
    """The stored provider, and if it is new."""

    provider: Provider
    is_new: bool


class Provide(Operation[Provided], frozen=True):
    """Register a provider with its worker. `new` makes the worker."""

    stage = Stage.OTHERS

    provider: Provider
    new: bool

    @property
    def keys(self) -> tuple[object, ...]:
        return (("worker", self.provider.worker_id), ("provider", self.provider.id))

    def lock(self, locks: Locks) -> None:
        locks.workers.add(self.provider.worker_id)
        locks.others[tables.load_providers].add(self.provider.id)

    def carry_out(self, work: Work) -> Provided:
        worker_id = self.provider.worker_id
        if self.new:
            register = presence.Register(worker_id, {}, self.provider.principal)
            work.tx.save_workers([presence.register(work, register, None)])
        else:
            worker = work.tx.load_workers([worker_id]).get(worker_id)
            if worker is None or is_deleted(worker):
                raise presence.unknown_worker(worker_id)
        known = tables.load_providers(work.tx, [self.provider.id]).get(self.provider.id)
        created_at = work.now if known is None else known.created_at
        stored = msgspec.structs.replace(self.provider, created_at=created_at)
        tables.save_providers(work.tx, [stored])
        work.note(providers.changed(stored.room))
        return Provided(stored, known is None)


class _OnProvider(Operation[None], frozen=True):
    """A request about one provider."""

    stage = Stage.OTHERS

    provider_id: str

    @property
    def keys(self) -> tuple[object, ...]:
        return (("provider", self.provider_id),)

    def lock(self, locks: Locks) -> None:
        locks.others[tables.load_providers].add(self.provider_id)

    def carry_out(self, work: Work) -> None:
        found = tables.load_providers(work.tx, [self.provider_id]).get(self.provider_id)
        if found is None:
            raise providers.unknown(self.provider_id)
        self.act(work, found)

    def act(self, work: Work, provider: Provider) -> None:
        """Apply the request to the locked provider."""
        raise NotImplementedError


class Withdraw(_OnProvider, frozen=True):
    """Delete a provider."""

    def act(self, work: Work, provider: Provider) -> None:
        tables.delete_providers(work.tx, [provider.id])
        work.note(providers.changed(provider.room))


class Ask(_OnProvider, frozen=True):
    """Send a request to a provider, unless it was just asked or has answered."""

    params: bytes
    # True if the worker may have missed the request.
    again: bool = False

    def act(self, work: Work, provider: Provider) -> None:
        request_hash = providers.hash_of(self.params)
        known = tables.load_provider_result(work.tx, provider.id, request_hash)
        if known is not None and known.until > work.now:
            return
        until = work.now + providers.IN_FLIGHT_MS
        tables.save_provider_results(work.tx, [ProviderResult(provider.id, request_hash, until)])
        tables.prune_provider_results(work.tx, PRUNED)
        work.note(providers.requested(provider, request_hash, self.params, again=self.again))


class SendAgain(_OnProvider, frozen=True):
    """Have requests without an answer sent again, because the worker may have missed them."""

    def act(self, work: Work, provider: Provider) -> None:
        if tables.forget_requests(work.tx, provider.id):
            work.note(providers.joined(provider))


class RecordAnswer(_OnProvider, frozen=True):
    """Store the answer of a provider."""

    request_hash: str
    content: bytes

    def act(self, work: Work, provider: Provider) -> None:
        until = work.now + providers.KEPT_MS
        result = ProviderResult(provider.id, self.request_hash, until, self.content)
        tables.save_provider_results(work.tx, [result])
        tables.prune_provider_results(work.tx, PRUNED)
        work.note(providers.answered(provider, self.request_hash))


@deleted_with_worker
def drop_providers(work: Work, worker_id: str) -> None:
    """Delete the providers of a worker."""
    dropped = tables.load_providers_of(work.tx, [worker_id])
    if dropped:
        tables.delete_providers(work.tx, [one.id for one in dropped])
    for room in sorted({one.room for one in dropped}):
        work.note(providers.changed(room))
