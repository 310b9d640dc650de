"""The handlers of a worker, by job type."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterator
from difflib import get_close_matches
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    overload,
)

import msgspec

from ojs_wire.values import JOB_TYPE
from ojs_worker.client.handle import BlockingJobHandle, JobHandle
from ojs_worker.client.options import Options, check_names
from ojs_worker.client.requests import JobRequest
from ojs_worker.context import BlockingContext, Context, JobContext
from ojs_worker.handlers.batching import Gathering
from ojs_worker.handlers.binding import Binding
from ojs_worker.handlers.dependencies import Needs, all_needs
from ojs_worker.handlers.retrying import ALWAYS, Retrying

P = ParamSpec("P")
# The return type of the handler: for a coroutine function, a coroutine.
C = TypeVar("C")
# The type of the job's result.
R = TypeVar("R")
# The argument of a handler that takes several jobs at once.
A = TypeVar("A")
R_co = TypeVar("R_co", covariant=True)
Awaited = Coroutine[Any, Any, R]
Runs = Literal["loop", "thread", "process"]


class Sender(Protocol):
    """A client through which handlers enqueue their own jobs."""

    def request(self, type: str, args: list[Any], options: Options) -> JobRequest:
        """Make the request of one job."""
        ...

    def sealed(self, request: JobRequest) -> JobRequest:
        """Return it with its arguments encoded."""
        ...

    async def send(self, request: JobRequest) -> JobHandle[Any]:
        """Enqueue it."""
        ...

    def send_blocking(self, request: JobRequest) -> BlockingJobHandle[Any]:
        """Enqueue it, outside an event loop."""
        ...


class Runnable(Protocol[R_co]):
    """An object of a handler class."""

    @property
    def run(self) -> Callable[..., R_co]:
        """The method that does the job."""
        ...


class Handler(Generic[P, C, R]):
    """A function or class that does the jobs of one type. Calling it calls the function itself."""

    def __init__(
        self,
        type: str,
        target: Callable[P, C],
        runs: Runs,
        sender: Sender,
        options: Options,
        retrying: Retrying = ALWAYS,
        gathering: Gathering | None = None,
    ) -> None:
        self.type = type
        self.target = target
        self.runs = runs
        self.binding = Binding(target, f"the handler of {type}")
        self.result_type = self.binding.result_type
        self._run_takes_context: bool | None = None
        if inspect.isclass(target):
            run = Binding(_run_of(target), f"the method run of {target.__name__}")
            self._run_takes_context = run.context_name is not None
            self.result_type = run.result_type
            if run.needs:
                raise TypeError(f"{target.__name__}: dependencies are fields, not of `run`")
        if runs == "process":
            for need in all_needs(self.needs.values()):
                if need.is_async:
                    raise ValueError(
                        f"the handler of {type} runs in a process, where {need.name} cannot be "
                        "awaited; use a plain function or generator"
                    )
        self._sender = sender
        self._options = options
        self.retrying = retrying
        # Set for a handler that takes several jobs at once; `target` then runs one alone.
        self.gathering = gathering
        self.__doc__ = target.__doc__
        self.__name__ = getattr(target, "__name__", type)
        self.__module__ = target.__module__
        self.__qualname__ = getattr(target, "__qualname__", self.__name__)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> C:
        """Call the function itself, as a test does."""
        if self.needs and (missing := self._missing_dependency(args, kwargs)):
            raise TypeError(f"{self.__name__}: give `{missing}`, which only a worker makes")
        return self.target(*args, **kwargs)

    def __repr__(self) -> str:
        """Return its job type and the function."""
        return f"<Handler of {self.type}: {self.__module__}.{self.__qualname__}>"

    @property
    def needs(self) -> Needs:
        """The dependencies of the handler, by parameter."""
        return self.binding.needs

    @property
    def defaults(self) -> Options:
        """The options of its enqueues."""
        return self._options

    @property
    def queue(self) -> str | None:
        """The queue of its enqueues; None if it names none."""
        return self._options.get("queue")

    def options(self, **options: Unpack[Options]) -> "Handler[P, C, R]":
        """Return the same handler with other options for its enqueues."""
        merged: Any = {**self._options, **check_names(options)}
        return Handler(
            *(self.type, self.target, self.runs, self._sender),
            *(merged, self.retrying, self.gathering),
        )

    def request(self, *args: P.args, **kwargs: P.kwargs) -> JobRequest:
        """Return the request of one job, for `enqueue_many`."""
        packed = self.binding.pack(args, kwargs)
        request = self._sender.request(self.type, packed, self.options_for(*args, **kwargs))
        request.result_type = self.result_type
        return request

    def sealed(self, *args: P.args, **kwargs: P.kwargs) -> JobRequest:
        """Return the request of one job as it is stored, with its arguments encoded."""
        return self._sender.sealed(self.request(*args, **kwargs))

    def options_for(self, *args: P.args, **kwargs: P.kwargs) -> Options:
        """Return the options of an enqueue with these arguments, which may be in the key of its
        rate limit."""
        limit = self._options.get("rate_limit")
        if limit is None or not limit.has_names:
            return self._options
        key = limit.key.format_map(self.binding.named(args, kwargs))
        return {**self._options, "rate_limit": msgspec.structs.replace(limit, key=key)}

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Store a job with these arguments."""
        return await self._sender.send(self.request(*args, **kwargs))

    def enqueue_blocking(self, *args: P.args, **kwargs: P.kwargs) -> BlockingJobHandle[R]:
        """Enqueue a job without an event loop."""
        return self._sender.send_blocking(self.request(*args, **kwargs))

    def prepare(self, args: list[Any], context: JobContext) -> Callable[..., Any]:
        """Return the call that runs a job with these arguments, which takes its dependencies;
        raises `BadArguments` if the arguments do not fit."""
        positions, names = self.binding.bind(args, context)
        target: Callable[..., Any] = self.target
        if self._run_takes_context is None:
            return functools.partial(target, *positions, **names)
        takes_context = self._run_takes_context

        def run(**needed: Any) -> Any:
            made = target(*positions, **names, **needed)
            return made.run(context) if takes_context else made.run()

        return run

    def build(self, args: list[Any], context: JobContext) -> Any:
        """Return the object of a handler class with these arguments, without running it."""
        if self.needs:
            raise TypeError(f"{self.__name__} has dependencies, which are made for runs only")
        positions, names = self.binding.bind(args, context)
        make: Callable[..., Any] = self.target
        return make(*positions, **names)

    def _missing_dependency(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        arguments = inspect.signature(self.target).bind_partial(*args, **kwargs).arguments
        return next((name for name in self.needs if name not in arguments), None)


class Registry:
    """Job types and their handlers."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._handlers: dict[str, Handler[..., Any, Any]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._handlers)

    def __len__(self) -> int:
        return len(self._handlers)

    def get(self, type: str) -> Handler[..., Any, Any] | None:
        """The handler of a job type."""
        return self._handlers.get(type)

    @property
    def handlers(self) -> tuple[Handler[..., Any, Any], ...]:
        """All handlers."""
        return tuple(self._handlers.values())

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues of the handlers that name one, each once."""
        named = (handler.queue for handler in self._handlers.values())
        return tuple(dict.fromkeys(queue for queue in named if queue is not None))

    def nearest(self, type: str) -> str | None:
        """Return the known type with the most similar name."""
        return next(iter(get_close_matches(type, self._handlers, n=1)), None)

    def add(
        self,
        type: str | None,
        target: Any,
        runs: Runs | None,
        options: Options,
        retrying: Retrying = ALWAYS,
        gathering: Gathering | None = None,
        *,
        any_type: bool = False,
    ) -> Handler[..., Any, Any]:
        """Make a function or class the handler of a type; without one its name is the type. With
        `any_type` it may be any text, for a server that takes such types."""
        if isinstance(target, Handler):
            target = target.target
        if not callable(target):
            raise TypeError(f"{target!r} is neither a function nor a class")
        name: str = type or str(getattr(target, "__name__", ""))
        if not any_type and not JOB_TYPE.fullmatch(name):
            raise ValueError(f"{name!r} is not a job type; one looks like email.send")
        self._check_free(name)
        if inspect.isclass(target):
            target = _with_fields(target)
        handler = Handler[..., Any, Any](
            *(name, target, _place(target, runs, name), self._sender),
            *(check_names(options), retrying, gathering),
        )
        self._handlers[name] = handler
        return handler

    def add_many(
        self, type: str | None, gathering: Gathering, options: Options, retrying: Retrying = ALWAYS
    ) -> Handler[..., Any, Any]:
        """Make a coroutine function the handler of many jobs of a type at once."""
        return self.add(type, gathering.single, None, options, retrying, gathering)

    def include(self, others: "Registry") -> None:
        """Include the handlers of another registry."""
        for name, handler in others._handlers.items():
            if self._handlers.get(name) is not handler:
                self._check_free(name)
                self._handlers[name] = handler

    def _check_free(self, name: str) -> None:
        if name in self._handlers:
            raise ValueError(f"{name} has a handler already: {self._handlers[name].__qualname__}")


class JobDecorator(Protocol):
    """`@worker.job(...)`: the context that a handler takes first is no argument of its jobs."""

    @overload
    def __call__(
        self, target: Callable[Concatenate[Context, P], Awaited[R]], /
    ) -> Handler[P, Awaited[R], R]: ...
    @overload
    def __call__(self, target: Callable[P, Awaited[R]], /) -> Handler[P, Awaited[R], R]: ...
    @overload
    def __call__(
        self, target: Callable[P, Runnable[Awaited[R]]], /
    ) -> Handler[P, Runnable[Awaited[R]], R]: ...
    @overload
    def __call__(self, target: Callable[P, Runnable[R]], /) -> Handler[P, Runnable[R], R]: ...
    @overload
    def __call__(
        self, target: Callable[Concatenate[BlockingContext, P], R], /
    ) -> Handler[P, R, R]: ...
    @overload
    def __call__(self, target: Callable[P, R], /) -> Handler[P, R, R]: ...
    def __call__(self, target: Any, /) -> Any:
        """Register the handler."""
        ...


class ManyDecorator(Protocol):
    """`@worker.many(...)`: a job has one member of the list that the handler takes first."""

    @overload
    def __call__(
        self, do: Callable[Concatenate[list[A], P], Awaited[None]], /
    ) -> Handler[Concatenate[A, P], Awaited[None], None]: ...
    @overload
    def __call__(
        self, do: Callable[Concatenate[list[A], P], Awaited[list[R]]], /
    ) -> Handler[Concatenate[A, P], Awaited[R], R]: ...
    def __call__(self, do: Any, /) -> Any:
        """Register the handler."""
        ...


def _place(target: Any, runs: Runs | None, name: str) -> Runs:
    body = _run_of(target) if inspect.isclass(target) else target
    is_coroutine = inspect.iscoroutinefunction(body) or inspect.iscoroutinefunction(
        getattr(body, "__call__", None)  # noqa: B004
    )
    if is_coroutine and runs not in (None, "loop"):
        raise ValueError(f"the handler of {name} is a coroutine, which runs in the event loop only")
    if not is_coroutine and runs == "loop":
        raise ValueError(f"the handler of {name} is no coroutine, so it would block the event loop")
    if runs == "process" and "<locals>" in getattr(target, "__qualname__", ""):
        raise ValueError(
            f"the handler of {name} stands inside a function, where no other process finds it"
        )
    return runs or ("loop" if is_coroutine else "thread")


def _run_of(made: Any) -> Callable[..., Any]:
    run: Callable[..., Any] = made.run
    return run


def _with_fields(target: type) -> Any:
    """A class whose fields are the parameters; `run` does the job."""
    if not callable(getattr(target, "run", None)):
        raise TypeError(f"the class {target.__name__} needs a method `run`")
    own_init = "__init__" in vars(target) or hasattr(target, "__struct_fields__")
    if own_init or dataclasses.is_dataclass(target):
        return target
    return dataclasses.dataclass(target)
