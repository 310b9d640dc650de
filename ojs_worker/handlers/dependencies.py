"""Dependencies of handlers: values that are made for each job, or once for a worker.

    async def database() -> AsyncIterator[Pool]:
        async with create_pool(DSN) as pool:
            yield pool

    async def session(pool: Pool = depends(database, per="worker")) -> AsyncIterator[Session]:
        async with pool.acquire() as session:
            yield session

    @worker.job("email.send")
    async def send_email(to: str, db: Session = depends(session)) -> None: ...

A maker is a function, a coroutine function, or a generator of either kind, whose code behind
`yield` runs when the job, or the worker, has ended.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar, get_type_hints, overload

import msgspec

from ojs_worker.context import is_context

T = TypeVar("T")
Per = Literal["job", "worker"]
Kind = Literal["function", "generator", "coroutine", "async generator"]
Make = Callable[..., Any]


class Dependency(msgspec.Struct, frozen=True):
    """The default of a parameter that stands for a value to be made."""

    make: Make
    per: Per = "job"


class Need(msgspec.Struct, frozen=True, eq=False):
    """A dependency, and what its maker takes."""

    dependency: Dependency
    kind: Kind
    context_name: str | None
    needs: "dict[str, Need]"

    @property
    def in_loop(self) -> bool:
        """True if the value is made in an event loop, wherever the handler runs."""
        return self.dependency.per == "worker" or self.is_async

    @property
    def is_async(self) -> bool:
        """True if the maker is a coroutine function or an asynchronous generator."""
        return self.kind in ("coroutine", "async generator")

    @property
    def name(self) -> str:
        """The name of the maker."""
        return _named(self.dependency.make)


Needs = dict[str, Need]


@overload
def depends(make: Callable[..., AsyncIterator[T]], *, per: Per = "job") -> T: ...
@overload
def depends(make: Callable[..., Awaitable[T]], *, per: Per = "job") -> T: ...
@overload
def depends(make: Callable[..., Iterator[T]], *, per: Per = "job") -> T: ...
@overload
def depends(make: Callable[..., T], *, per: Per = "job") -> T: ...
def depends(make: Make, *, per: Per = "job") -> Any:
    """Return the default of a parameter whose value `make` makes, for each job or for the worker.

    Two parameters of one job, or of its makers, with the same maker get the same value.
    """
    if not callable(make):
        raise TypeError(f"`depends` takes a function, not {make!r}")
    if per not in ("job", "worker"):
        raise ValueError(f'`per` is "job" or "worker", not {per!r}')
    return Dependency(make, per)


def need_of(dependency: Dependency, above: tuple[Make, ...] = ()) -> Need:
    """Return what a dependency takes to be made; raises `TypeError` if it cannot be made."""
    make, what = dependency.make, f"the dependency {_named(dependency.make)}"
    if make in above:
        raise TypeError(f"{what} depends on itself")
    try:
        hints = get_type_hints(make.__init__ if inspect.isclass(make) else make)
    except (NameError, TypeError):
        # Only the context's hint is needed, and its name is enough for that.
        hints = {}
    context_name: str | None = None
    needs: Needs = {}
    for parameter in inspect.signature(make).parameters.values():
        if isinstance(parameter.default, Dependency):
            need = need_of(parameter.default, (*above, make))
            if dependency.per == "worker" and need.dependency.per == "job":
                raise TypeError(f"{what} is made for the worker, and {need.name} for each job")
            needs[parameter.name] = need
        elif is_context(parameter.name, hints.get(parameter.name, Any)):
            if dependency.per == "worker":
                raise TypeError(f"{what} is made for the worker, and has no context of a job")
            context_name = parameter.name
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise TypeError(f"{what}: `{parameter.name}` is neither a dependency nor a context")
    return Need(dependency, _kind_of(make), context_name, needs)


def all_needs(needs: Iterable[Need]) -> Iterator[Need]:
    """Yield these and theirs, those that are needed first."""
    for need in needs:
        yield from all_needs(need.needs.values())
        yield need


def _kind_of(make: Make) -> Kind:
    if inspect.isasyncgenfunction(make):
        return "async generator"
    if inspect.isgeneratorfunction(make):
        return "generator"
    return "coroutine" if inspect.iscoroutinefunction(make) else "function"


def _named(make: Make) -> str:
    return str(getattr(make, "__name__", make))
