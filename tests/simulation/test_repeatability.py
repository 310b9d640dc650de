"""A seed is the same simulation to the byte, in every process."""

import pytest

from tests.simulation.running import simulated


def digests(hash_seed: int, *arguments: str) -> list[str]:
    """Digests of some seeds in a process of its own, in which sets have an order of their own."""
    _, lines = simulated("--digests", "--storm=20", *arguments, hash_seed=hash_seed)
    return sorted(line for line in lines if "digest" in line)


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_seed_is_the_same_in_every_process(nodes: int) -> None:
    first = digests(1, "--seeds=50:53", f"--nodes={nodes}", "--jobs=2")
    assert len(first) == 3
    assert first == digests(4242, "--seeds=50:53", f"--nodes={nodes}", "--jobs=1")
    assert len({line.rpartition(" ")[2] for line in first}) == 3, "seeds are alike"


def test_a_trace_changes_nothing() -> None:
    _, lines = simulated("--replay=50", "--nodes=1", "--storm=20")
    (plain,) = digests(1, "--seeds=50", "--nodes=1")
    assert len(lines) > 100
    told = next(line for line in lines if line.startswith("digest "))
    assert told.split()[1].rstrip(",") == plain.rpartition(" ")[2]
