"""Faults of streams that are many or slow."""

from collections.abc import Callable

from ojs_server.ops.tail import Tail
from tests.faulty.fault import fault
from tests.faulty.planting import wrap


@fault("OJS-STR-024")
def any_number_of_streams() -> None:
    """Every stream that is asked for is opened."""

    def make(begin: Callable[..., None]) -> Callable[..., None]:
        return lambda self, *given, **named: begin(self, *given, **{**named, "most": 1 << 20})

    wrap(Tail, "__init__", make)
