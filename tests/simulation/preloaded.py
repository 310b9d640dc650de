"""Modules and patterns that each simulation would load again, loaded before the first fork."""

import gc
from functools import cache
from importlib import import_module
from typing import Final

from tests.simulation import reached

# Modules that the server and uvicorn load late.
LATE: Final = ("ojs_server.store.sqlite.store", "uvicorn.lifespan.on")


@cache
def preload() -> None:
    """Load everything once."""
    for module in LATE:
        import_module(module)
    reached.paths()
    # A collection in a child would copy the pages of all objects.
    gc.freeze()
