"""Chains of middleware, and both sides that they stand on."""

from typing import Any

import pytest

from ojs_worker.middleware import Chain, as_process_layer


def test_layers_stand_where_they_are_put() -> None:
    chain: Chain[str] = Chain()
    chain.add("b")
    chain.add("d")
    chain.prepend("a")
    chain.insert_before("d", "c")
    chain.insert_after("d", "e")
    chain.remove("b")
    assert list(chain) == ["a", "c", "d", "e"]
    assert len(chain) == 4


def test_a_layer_may_stand_twice() -> None:
    chain: Chain[str] = Chain()
    chain.add("a")
    chain.add("a")
    chain.remove("a")
    assert list(chain) == ["a"]


def test_a_layer_that_is_not_there_is_refused() -> None:
    chain: Chain[str] = Chain()
    with pytest.raises(ValueError, match="'x' is not in this chain"):
        chain.remove("x")


def test_a_chain_in_use_does_not_change() -> None:
    chain: Chain[str] = Chain()
    chain.add("a")
    chain.freeze()
    for change in (chain.add, chain.prepend, chain.remove):
        with pytest.raises(RuntimeError, match="while the worker runs"):
            change("a")
    chain.thaw()
    chain.add("b")
    assert list(chain) == ["a", "b"]


def test_objects_and_functions_are_layers() -> None:
    class Layer:
        async def call(self, job: Any, ctx: Any, call_next: Any) -> Any:
            return await call_next()

    async def function(job: Any, ctx: Any, call_next: Any) -> Any:
        return await call_next()

    layer = Layer()
    assert as_process_layer(layer) == layer.call
    assert as_process_layer(function) is function
    with pytest.raises(TypeError, match="neither a function"):
        as_process_layer(7)
