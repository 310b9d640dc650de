"""Check a batch of jobs that differ only in their arguments as one job.

The result keeps one shared shape and a column of arguments, which is much cheaper than a call of
parse_draft() for each job.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs.request_shape import Shape, shape_of
from ojs_server.domain.jobs.validate import MAX_META, NO_META, OWN, Draft
from ojs_wire import codec


class UniformDrafts(Sequence[Draft]):
    """Drafts of one shape that differ only in their arguments; each is made on access."""

    __slots__ = ("args", "shape")

    def __init__(self, shape: Shape, args: Sequence[bytes]) -> None:
        self.shape = shape
        self.args = args

    def __len__(self) -> int:
        return len(self.args)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return UniformDrafts(self.shape, self.args[place])
        return Draft(self.shape, self.args[place], NO_META)


def parse_uniform(
    bodies: Sequence[object], *, strict: bool = False, any_type: bool = False
) -> UniformDrafts | None:
    """Check jobs that differ only in `args`; None if they differ more, or one may be invalid."""
    if set(map(type, bodies)) != {dict}:
        return None
    jobs = cast(Sequence[dict[str, Any]], bodies)
    if not OWN.isdisjoint(jobs[0]):
        return None
    shared = [job.copy() for job in jobs]
    args = [member.pop("args", None) for member in shared]
    if set(map(type, args)) != {list}:
        return None
    # Compare texts, not values: to Python `true`, `1` and `1.0` are equal.
    shared_texts = codec.texts(shared)
    if shared_texts.count(shared_texts[0]) != len(shared_texts):
        return None
    texts = codec.texts(args)
    with suppress(OjsError):
        shape = shape_of(shared[0], strict=strict, any_type=any_type)
        if shape.plain and max(map(len, texts)) + len(shape.spec) < MAX_META:
            return UniformDrafts(shape, texts)
    return None
