"""The names that users write: of the SDK, and of the commands with their options.

``python -m tests.packaging.public_names`` writes the lists that are committed. The settings and
metrics of the server are listed in docs/operations.md, the settings of workers in docs/worker.md
and the routes in openapi.yaml; tests/spec, tests/worker and tests/openapi compare those.
"""

import argparse
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType
from typing import Any, Final

import click

import ojs_django
import ojs_worker
from conformance.commands.cli import make_parser as conformance_parser
from ojs_cli.grammar import Root
from ojs_server.options import make_parser as server_parser
from ojs_worker import BlockingClient
from ojs_worker.cli import make_parser as worker_parser
from ojs_worker.client.surface import Listing, Method

FOLDER: Final = Path(__file__).parent
# Modules that the documentation imports from, without a list of their own.
_MODULES: Final = (
    *("conformance.author", "ojs_worker.encryption", "ojs_worker.otel", "ojs_worker.outbox.relay"),
    "ojs_worker.transactional",
)
_OURS: Final = ("ojs_worker", "ojs_wire")
_STARS: Final[Mapping[Any, str]] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
_PARSERS: Final[Mapping[str, Callable[[], argparse.ArgumentParser]]] = {
    "ojs-conformance": conformance_parser,
    "ojs-server": server_parser,
    "ojs-worker": worker_parser,
}


def sdk() -> list[str]:
    """The public names of the SDK with the members of its classes and the parameters of calls."""
    found = {
        line
        for module, names in _modules()
        for name in names
        for line in _described(f"{module.__name__}.{name}", getattr(module, name))
    }
    with BlockingClient("http://localhost") as client:
        for name, group in vars(client).items():
            if not name.startswith("_"):
                found.update(_members(f"ojs_worker.Client.{name}", type(group)))
    return sorted(found)


def commands() -> list[str]:
    """The commands with their verbs, options and arguments."""
    found = {line for name, make in _PARSERS.items() for line in _of_argparse(name, make())}
    return sorted({*found, *_of_click("ojs", Root(), click.Context(Root()))})


def _modules() -> Iterator[tuple[Any, Iterable[str]]]:
    for info in walk_packages(ojs_worker.__path__, "ojs_worker."):
        if info.ispkg and hasattr(module := import_module(info.name), "__all__"):
            yield module, module.__all__
    for package in (ojs_worker, ojs_django):
        yield package, package.__all__
    for name in _MODULES:
        module = import_module(name)
        own = [key for key, value in vars(module).items() if _is_of(value, name)]
        listed = getattr(module, "__all__", own)
        yield module, [key for key in listed if not key.startswith("_")]


def _is_of(value: object, module: str) -> bool:
    return isinstance(value, type | FunctionType) and value.__module__ == module


def _described(name: str, value: object) -> Iterator[str]:
    """A value by its full name, and if it is a class, its members."""
    if isinstance(value, type):
        yield name if issubclass(value, Enum) else name + _parameters(value)
        yield from _members(name, value)
    else:
        yield name + _parameters(value)


def _members(name: str, owner: type) -> Iterator[str]:
    for base in owner.__mro__:
        if base.__module__.split(".")[0] in _OURS:
            for key in {**vars(base), **inspect.get_annotations(base)}:
                if not key.startswith("_"):
                    yield f"{name}.{key}{_parameters(inspect.getattr_static(owner, key, None))}"


def _parameters(value: object) -> str:
    """The parameters of a call as one writes them; an optional one ends with `=`."""
    if isinstance(value, Method | Listing):
        value = value.make
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    if not isinstance(value, type | FunctionType):
        return ""
    try:
        given = inspect.signature(value).parameters.values()
    except ValueError:
        return ""
    words: list[str] = []
    for one in given:
        if one.kind is one.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        words.append(f"{_STARS.get(one.kind, '')}{one.name}{_end(one)}")
    return f"({', '.join(word for word in words if word not in ('self', 'cls'))})"


def _end(parameter: Parameter) -> str:
    return "" if parameter.default is Parameter.empty else "="


def _of_argparse(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield name
    # argparse has no other way to look at its options.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, below in action.choices.items():
                yield from _of_argparse(f"{name} {verb}", below)
        else:
            yield from (f"{name} {word}" for word in action.option_strings or [action.dest.upper()])


def _of_click(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    yield name
    for one in command.params:
        if not getattr(one, "hidden", False):
            is_option = isinstance(one, click.Option)
            words = (*one.opts, *one.secondary_opts) if is_option else [one.human_readable_name]
            yield from (f"{name} {word}" for word in words)
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            if (below := command.get_command(context, verb)) is not None:
                yield from _of_click(f"{name} {verb}", below, context)


LISTS: Final[Mapping[str, Callable[[], list[str]]]] = {"sdk": sdk, "commands": commands}


def file_of(name: str) -> Path:
    """Return the file of a list."""
    return FOLDER / f"{name}.txt"


if __name__ == "__main__":
    for kind, found in LISTS.items():
        file_of(kind).write_text("".join(f"{line}\n" for line in found()), encoding="utf-8")
