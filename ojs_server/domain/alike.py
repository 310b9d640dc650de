"""The jobs of a batch that say the same but for their arguments, checked as one.

What parse_draft() finds of each of them is found of all at once, and remains in columns.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from ojs_server.domain.errors import OjsError
from ojs_server.domain.shape import Shape, shape_of
from ojs_server.domain.validate import MAX_META, NO_META, OWN, Draft
from ojs_wire import codec


class AlikeDrafts(Sequence[Draft]):
    """Drafts of one shape with nothing of their own but arguments, each made when looked at."""

    __slots__ = ("args", "shape")

    def __init__(self, shape: Shape, args: Sequence[bytes]) -> None:
        self.shape = shape
        self.args = args

    def __len__(self) -> int:
        return len(self.args)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return AlikeDrafts(self.shape, self.args[place])
        return Draft(self.shape, self.args[place], NO_META)


def parse_alike(bodies: Sequence[object], *, strict: bool = False) -> AlikeDrafts | None:
    """Check jobs that are plain and alike; None where they are not, or one may be wrong."""
    if set(map(type, bodies)) != {dict}:
        return None
    jobs = cast(Sequence[dict[str, Any]], bodies)
    if not OWN.isdisjoint(jobs[0]):
        return None
    shared = [job.copy() for job in jobs]
    args = [one.pop("args", None) for one in shared]
    if set(map(type, args)) != {list}:
        return None
    # By their texts, not their values: to Python `true`, `1` and `1.0` are equal.
    said = codec.texts(shared)
    if said.count(said[0]) != len(said):
        return None
    texts = codec.texts(args)
    with suppress(OjsError):
        shape = shape_of(shared[0], strict=strict)
        if shape.plain and max(map(len, texts)) + len(shape.spec) < MAX_META:
            return AlikeDrafts(shape, texts)
    return None
