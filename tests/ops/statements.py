"""The transaction methods that run named statements, for tests that watch them."""

# Stores that send statements ahead have two more. Workers, and jobs with leases, are read by other
# methods.
_ALL = ("run", "all", "run_batch", "all_batch", "_send", "_say")


def ways(kind: type) -> list[str]:
    """The names of those that a store's transactions have; each is given a statement's name."""
    return [name for name in _ALL if hasattr(kind, name)]
