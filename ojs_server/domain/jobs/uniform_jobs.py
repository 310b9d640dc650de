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
from ojs_server.domain.jobs.uniform_batch import AlikeDrafts
from ojs_server.domain.jobs.validate import NO_META, Draft


def looks_of(draft: Draft) -> tuple[object, ...]:
    """Return the parts of a draft that all jobs of one group share."""
    return draft.shape, draft.trace_id, draft.demand, draft.tenant


def families(requests: Iterable[Sequence[Draft]]) -> Iterator[Sequence[Draft]]:
    """Group the drafts of requests, in order, into runs that are stored as one."""
    for shape, drafts in groupby(requests, _shape_of_all):
        if shape is None:
            each = groupby(chain.from_iterable(drafts), looks_of)
            yield from (list(alike) for _, alike in each)
        else:
            args = chain.from_iterable(one.args for one in drafts if isinstance(one, AlikeDrafts))
            yield AlikeDrafts(shape, list(args))


def _shape_of_all(drafts: Sequence[Draft]) -> Shape | None:
    return drafts.shape if isinstance(drafts, AlikeDrafts) else None


class Siblings(Sequence[StoredJob]):
    """Jobs of one likeness; each is made when it is accessed."""

    __slots__ = ("args", "ids", "like", "metas", "places", "sizes")

    def __init__(
        self,
        like: Job,
        ids: Sequence[str],
        places: Sequence[int],
        args: Sequence[bytes],
        metas: Sequence[bytes],
        sizes: Sequence[int],
    ) -> None:
        self.like = like
        self.ids = ids
        self.places = places
        self.args = args
        self.metas = metas
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> StoredJob: ...

    @overload
    def __getitem__(self, place: slice) -> "Siblings": ...

    def __getitem__(self, place: Any) -> Any:
        own = [column[place] for column in self._own()]
        if isinstance(place, slice):
            return Siblings(self.like, *own)
        job_id, seq, args, meta, size = own
        return StoredJob(replace(self.like, id=job_id, seq=seq, size=size), args, meta)

    def owned(self, tenant: str) -> "Siblings":
        """Return these jobs as those of a tenant."""
        return Siblings(replace(self.like, tenant=tenant), *self._own())

    def _own(self) -> tuple[Sequence[Any], ...]:
        return self.ids, self.places, self.args, self.metas, self.sizes


def siblings(
    drafts: Sequence[Draft], like: Job, ids: Sequence[str], places: Sequence[int]
) -> Siblings:
    """Build the jobs of drafts that are alike."""
    args: Sequence[bytes]
    metas: Sequence[bytes]
    if isinstance(drafts, AlikeDrafts):
        args, metas = drafts.args, (NO_META,) * len(drafts)
    else:
        args, metas = [draft.args for draft in drafts], [draft.meta for draft in drafts]
    shared = len(like.spec)
    sizes = [shared + own for own in map(add, map(len, args), map(len, metas))]
    return Siblings(like, ids, places, args, metas, sizes)
