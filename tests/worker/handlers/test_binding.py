"""From a job's arguments to a handler's parameters, and back."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_worker import BlockingContext, Context
from ojs_worker.faults import BadArguments
from ojs_worker.handlers.binding import Binding


@dataclass
class Address:
    street: str
    number: int = 1


class Order(msgspec.Struct):
    id: int


class Model:
    """Reads its own form, as pydantic's models do."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def model_validate(cls, value: Any) -> "Model":
        if not isinstance(value, dict) or "name" not in value:
            raise ValueError("a model has a name")
        return cls(value["name"])


def call(target: Callable[..., Any], *args: Any) -> Any:
    """Call a handler with the arguments of a job, bound as a worker does, and return its result."""
    positions, names = Binding(target, "the handler").bind(list(args), context=CTX)
    return target(*positions, **names)


CTX: Any = object()


def plain(to: str, count: int = 1) -> Any:
    return to, count


def first(ctx: Context, to: str, count: int = 1) -> Any:
    return ctx, to, count


def last(to: str, count: int, ctx: BlockingContext) -> Any:
    return to, count, ctx


def keyword(to: str, *, ctx: Context) -> Any:
    return to, ctx


def untyped(ctx, to, count=1):  # type: ignore[no-untyped-def]
    return ctx, to, count


def rest(ctx: Context, *args: int) -> Any:
    return ctx, args


def extra(to: str, **others: Any) -> Any:
    return to, others


def one_object(data: dict[str, Any]) -> Any:
    return data


def nothing() -> Any:
    return "called"


@pytest.mark.parametrize(
    ("target", "args", "bound"),
    [
        (plain, ["a"], ("a", 1)),
        (plain, ["a", 2], ("a", 2)),
        (plain, [{"to": "a"}], ("a", 1)),
        (plain, [{"count": 2, "to": "a"}], ("a", 2)),
        (first, ["a"], (CTX, "a", 1)),
        (first, [{"to": "a", "count": 3}], (CTX, "a", 3)),
        (last, ["a", 2], ("a", 2, CTX)),
        (last, [{"to": "a", "count": 2}], ("a", 2, CTX)),
        (keyword, ["a"], ("a", CTX)),
        (keyword, [{"to": "a"}], ("a", CTX)),
        (untyped, ["a"], (CTX, "a", 1)),
        (untyped, [{"to": "a"}], (CTX, "a", 1)),
        (rest, [1, 2, 3], (CTX, (1, 2, 3))),
        (rest, [], (CTX, ())),
        (extra, [{"to": "a", "x": 1}], ("a", {"x": 1})),
        (one_object, [{"x": 1}], {"x": 1}),
        (one_object, [{"data": {"x": 1}}], {"x": 1}),
        (one_object, [{}], {}),
        (nothing, [], "called"),
        (nothing, [{}], "called"),
    ],
)
def test_arguments_find_their_parameters(
    target: Callable[..., Any], args: list[Any], bound: Any
) -> None:
    assert call(target, *args) == bound


def test_values_become_what_the_hints_say() -> None:
    def handler(
        where: Address, order: Order, when: datetime, model: Model, maybe: int | None
    ) -> Any:
        return where, order, when, model.name, maybe

    given = {
        "where": {"street": "Long"},
        "order": {"id": 7},
        "when": "2030-01-31T09:00:00Z",
        "model": {"name": "m"},
        "maybe": None,
    }
    when = datetime(2030, 1, 31, 9, tzinfo=UTC)
    assert call(handler, given) == (Address("Long", 1), Order(7), when, "m", None)


@pytest.mark.parametrize(
    ("target", "args", "argument", "words"),
    [
        (plain, [7], "to", "`to`: Expected `str`, got `int`"),
        (plain, ["a", "2"], "count", "`count`: Expected `int`, got `str`"),
        (plain, [{"to": "a", "count": "2"}], "count", "Expected `int`"),
        (plain, [], "to", "`to` is missing"),
        (plain, [{}], "to", "`to` is missing"),
        (plain, [{"too": "a"}], "too", 'did you mean "to"?'),
        (plain, ["a", 1, 2], None, "has 3 arguments, the handler takes at most 2"),
        (nothing, [1], None, "takes no"),
        (nothing, [{"x": 1}], "x", "no argument `x`"),
        (one_object, ["x"], "data", "Expected `object`"),
        (rest, [{"to": 1}], None, ""),
        (extra, [{"x": 1}], "to", "missing"),
        (keyword, ["a", "b"], None, "at most 1"),
    ],
)
def test_wrong_arguments_say_which(
    target: Callable[..., Any], args: list[Any], argument: str | None, words: str
) -> None:
    if target is rest:
        # Arguments without names are whatever comes.
        assert call(target, *args) == (CTX, ({"to": 1},))
        return
    with pytest.raises(BadArguments) as refused:
        call(target, *args)
    assert words in str(refused.value)
    assert refused.value.argument == argument


def test_a_model_of_another_library_says_what_is_wrong() -> None:
    def handler(model: Model, n: int) -> Any: ...

    with pytest.raises(BadArguments, match="`model`: a model has a name"):
        call(handler, {"model": {}, "n": 1})


def test_a_hint_that_json_cannot_fill_is_refused_at_once() -> None:
    class Opaque:
        pass

    def handler(thing: Opaque) -> None: ...

    with pytest.raises(TypeError, match="parameter `thing` is a Opaque, which no JSON value"):
        Binding(handler, "the handler of x")


def test_a_hint_that_is_not_there_is_refused_at_once() -> None:
    def handler(thing: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match="the handler of x: its type hints cannot be read"):
        Binding(handler, "the handler of x")


@pytest.mark.parametrize(
    ("target", "args", "kwargs", "packed"),
    [
        (plain, ("a",), {}, [{"to": "a"}]),
        (plain, ("a", 2), {}, [{"to": "a", "count": 2}]),
        (first, (), {"count": 2, "to": "a"}, [{"to": "a", "count": 2}]),
        (rest, (1, 2), {}, [1, 2]),
        (extra, ("a",), {"x": 1}, [{"to": "a", "x": 1}]),
        (one_object, ({"x": 1},), {}, [{"data": {"x": 1}}]),
        (nothing, (), {}, []),
    ],
)
def test_a_typed_enqueue_names_its_arguments(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], packed: list[Any]
) -> None:
    assert Binding(target, "the handler").pack(args, kwargs) == packed


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), (("a",), {"cuont": 1}), (("a", 1, 2), {}), (("a",), {"to": "b"})]
)
def test_a_typed_enqueue_is_refused_like_a_call(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="the handler of x: "):
        Binding(plain, "the handler of x").pack(args, kwargs)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(VALUES, VALUES)
def test_what_is_packed_is_bound_again(a: Any, b: Any) -> None:
    def two(a: Any, b: Any = 0) -> Any:
        return a, b

    def one(a: Any) -> Any:
        return a

    def many(*a: Any) -> Any:
        return a

    def named(**a: Any) -> Any:
        return a

    def given_first(ctx: Context, a: Any, *, b: Any) -> Any:
        return a, b

    assert call(two, *Binding(two, "two").pack((a, b), {})) == (a, b)
    assert call(two, *Binding(two, "two").pack((a,), {})) == (a, 0)
    assert call(one, *Binding(one, "one").pack((a,), {})) == a
    assert call(many, *Binding(many, "many").pack((a, b), {})) == (a, b)
    assert call(named, *Binding(named, "named").pack((), {"x": a, "y": b})) == {"x": a, "y": b}
    packed = Binding(given_first, "given").pack((a,), {"b": b})
    assert call(given_first, *packed) == (a, b)
