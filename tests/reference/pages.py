"""The pages of the reference: which name stands where, and their Markdown."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec

from ojs_worker import BlockingClient
from tests.reference.described import Described, Field, alias, described

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"


class Page(msgspec.Struct, frozen=True):
    """A page: its title, its first sentences, and its names by module."""

    title: str
    intro: str
    names: Mapping[str, str]
    # Names for other types, by module.
    aliases: Mapping[str, str] = {}


PAGES: Final[Mapping[str, Page]] = {
    "worker": Page(
        "Workers and handlers",
        "Each of the [settings](../worker.md#settings) is an argument of `Worker`, too.",
        {
            "ojs_worker": "Worker Router Job Context BlockingContext JobContext StopReason "
            "current_context depends add_form",
            "ojs_worker.handlers.registry": "Handler",
        },
        {"ojs_worker.client.calls": "Overlap"},
    ),
    "client": Page(
        "Clients",
        "`BlockingClient` is `Client` for programs without an event loop.",
        {"ojs_worker": "Client BlockingClient JobHandle BlockingJobHandle JobRequest CronEntry"},
        {"ojs_worker.transport.access": "Auth"},
    ),
    "calls": Page(
        "Calls by noun",
        'Attributes of both clients, such as `client.queues.pause("mail")`. With `Client` a call '
        "is awaited, and a list is iterated over with `async for`.",
        {},
    ),
    "options": Page(
        "Options of jobs",
        "Options stand in `client.enqueue`, in `options` of a handler, and in its decorator.",
        {"ojs_worker": "Options RetryPolicy Unique RateLimit Progress"},
        {
            "ojs_worker.durations": "Duration Moment",
            "ojs_worker.client.requests": "Args",
            "ojs_worker.client.options": "OnConflict",
        },
    ),
    "workflows": Page(
        "Workflows",
        "`client.start` starts what these functions return.",
        {"ojs_worker": "chain group batch Flow Workflow"},
        {"ojs_worker.client.flows": "CallbackName"},
    ),
    "errors": Page(
        "Errors",
        "Exceptions that calls raise, and those by which a handler settles its job.",
        {
            "ojs_worker.errors": "OjsError Unreachable WaitTimeout JobFailed JobCancelled "
            "UnexpectedAnswer Refused InvalidRequest Unauthenticated PermissionDenied NotFound "
            "Conflict Duplicate LeaseLost RateLimited ServerTrouble",
            "ojs_worker": "Retry Discard Snooze",
        },
    ),
    "testing": Page(
        "Testing",
        "[Testing](../testing.md) says how to use this.",
        {"ojs_worker.testing": "Sandbox Clock Ran Blocking AsgiTransport ServerMissing"},
    ),
    "extras": Page(
        "Encryption and traces",
        "[Encrypted arguments](../worker.md#encrypted-arguments) and [traces](../worker.md#traces) "
        "need an extra each.",
        {"ojs_worker.encryption": "Encryption new_key", "ojs_worker.otel": "instrument"},
    ),
    "outbox": Page(
        "The outbox",
        "[Jobs and transactions](../transactions.md#outbox) says how to use it.",
        {
            "ojs_worker.outbox": "enqueue enqueue_blocking statements undo NoTable NoTransaction",
            "ojs_worker.outbox.relay": "Relay",
        },
        {"ojs_worker.connections": "Dialect"},
    ),
    "systems": Page(
        "Interfaces of other systems",
        "[APIs of other systems](../systems.md) says how to use these.",
        {
            "ojs_worker.blackboard": "BoardWorker BoardHooks FunctionBlock Acquired Executed "
            "Report BoardWorkflow new_run EndlessDiscovery OtherRun",
            "ojs_worker.jobmanager": "JobManager JobManagerClient Extension Category Task "
            "ClaimedTask",
            "ojs_worker.zeebe": "ZeebeClient ZeebeWorker ZeebeJob BlockingZeebeJob BpmnError "
            "AlreadyCompleted LeaseExpired",
        },
    ),
}


def texts() -> dict[str, str]:
    """Return the text of each page by its file name."""
    pages = {f"{name}.md": _page(page, groups=name == "calls") for name, page in PAGES.items()}
    return pages | {"README.md": _index()}


def names() -> set[str]:
    """Return the names that the pages have."""
    return {
        name for page in PAGES.values() for found in page.names.values() for name in found.split()
    }


def all_described() -> Iterator[tuple[str, Described]]:
    """Yield each description under its full name, those of methods included."""
    for page in PAGES.values():
        for one in _of(page, groups=page.title == PAGES["calls"].title):
            yield one.name, one
            yield from ((f"{one.name}.{method.name}", method) for method in one.methods)


def _of(page: Page, *, groups: bool) -> Iterator[Described]:
    for module, found in page.aliases.items():
        yield from (alias(import_module(module), name) for name in found.split())
    for module, found in page.names.items():
        yield from (described(import_module(module), name) for name in found.split())
    if groups:
        yield from _groups()


def _groups() -> Iterator[Described]:
    with BlockingClient("http://localhost") as client:
        for name, group in vars(client).items():
            if not name.startswith("_"):
                kind = type(group)
                found = described(import_module(kind.__module__), kind.__name__)
                yield msgspec.structs.replace(found, name=f"client.{name}", signature="", fields=())


def _index() -> str:
    lines = [
        "# Reference of the SDK",
        "",
        "Made by `make reference` of docstrings and signatures: what a program imports from",
        "`ojs_worker`. [Workers](../worker.md) says how to use it.",
        "",
        "| Page | Names |",
        "|---|---|",
    ]
    for name, page in PAGES.items():
        found = ", ".join(f"`{one.name}`" for one in _of(page, groups=name == "calls"))
        lines.append(f"| [{page.title}]({name}.md) | {found} |")
    return "\n".join(lines) + "\n"


def _page(page: Page, *, groups: bool) -> str:
    lines = [f"# {page.title}", "", "Made by `make reference`. " + page.intro, ""]
    for one in _of(page, groups=groups):
        lines += [f"## `{one.name}`", "", *_called(one), *_table(one.fields)]
        for method in one.methods:
            lines += [f"### `{one.name}.{method.name}`", "", *_called(method)]
    return "\n".join(lines).rstrip() + "\n"


def _called(one: Described) -> list[str]:
    shown = ["```python", one.signature, "```", ""] if one.signature else []
    return [*shown, *one.text.splitlines(), ""]


def _table(fields: tuple[Field, ...]) -> list[str]:
    if not fields:
        return []
    lines = ["| Member | Type | Default | |", "|---|---|---|---|"]
    for one in fields:
        cells = (f"`{text}`" if text else "" for text in (one.name, one.type, one.default))
        lines.append(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + f" | {one.text} |"
        )
    return [*lines, ""]
