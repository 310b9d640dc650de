"""New jobs that differ only in ids, order and payloads, held as columns.

A producer's batch may have thousands of these. Columns can be stored and answered as they are;
making an object of each job would cost more than all the rest of the work.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from operator import add
from typing import Any, overload

from msgspec.structs import replace

from ojs_server.domain.jobs.job import Job, StoredJob
from ojs_server.domain.jobs.request_shape import Shape
from ojs_server.domain.jobs.uniform_batch import UniformDrafts
from ojs_server.domain.jobs.validate import NO_META, Draft


def shared_parts(draft: Draft) -> tuple[object, ...]:
    """Return the parts of a draft that all jobs of one group share."""
    return draft.shape, draft.trace_id, draft.demand, draft.tenant


def uniform_runs(requests: Iterable[Sequence[Draft]]) -> Iterator[Sequence[Draft]]:
    """Group the drafts of requests, in order, into runs that are stored as one."""
    for shape, drafts in groupby(requests, _shape_of_all):
        if shape is None:
            each = groupby(chain.from_iterable(drafts), shared_parts)
            yield from (list(run) for _, run in each)
        else:
            args = chain.from_iterable(one.args for one in drafts if isinstance(one, UniformDrafts))
            yield UniformDrafts(shape, list(args))


def _shape_of_all(drafts: Sequence[Draft]) -> Shape | None:
    return drafts.shape if isinstance(drafts, UniformDrafts) else None


class UniformJobs(Sequence[StoredJob]):
    """Jobs made from one template; each is built on access."""

    __slots__ = ("args", "ids", "metas", "positions", "sizes", "template")

    def __init__(
        self,
        template: Job,
        ids: Sequence[str],
        positions: Sequence[int],
        args: Sequence[bytes],
        metas: Sequence[bytes],
        sizes: Sequence[int],
    ) -> None:
        self.template = template
        self.ids = ids
        self.positions = positions
        self.args = args
        self.metas = metas
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> StoredJob: ...

    @overload
    def __getitem__(self, place: slice) -> "UniformJobs": ...

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return UniformJobs(self.template, *[column[place] for column in self._own()])
        job = replace(
            self.template, id=self.ids[place], seq=self.positions[place], size=self.sizes[place]
        )
        return StoredJob(job, self.args[place], self.metas[place])

    def owned(self, tenant: str) -> "UniformJobs":
        """Return these jobs as those of a tenant."""
        return UniformJobs(replace(self.template, tenant=tenant), *self._own())

    def _own(self) -> tuple[Sequence[Any], ...]:
        return self.ids, self.positions, self.args, self.metas, self.sizes


def uniform_jobs(
    drafts: Sequence[Draft], template: Job, ids: Sequence[str], positions: Sequence[int]
) -> UniformJobs:
    """Build the jobs of drafts that share all but arguments and metadata."""
    args: Sequence[bytes]
    metas: Sequence[bytes]
    if isinstance(drafts, UniformDrafts):
        args, metas = drafts.args, (NO_META,) * len(drafts)
    else:
        args, metas = [draft.args for draft in drafts], [draft.meta for draft in drafts]
    shared = len(template.spec)
    sizes = [shared + own for own in map(add, map(len, args), map(len, metas))]
    return UniformJobs(template, ids, positions, args, metas, sizes)
