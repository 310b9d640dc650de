"""Finding a worker by the name `module:attribute`."""

import importlib
import os
import sys
from difflib import get_close_matches
from types import ModuleType

from ojs_worker.worker import Worker


class NoWorker(Exception):
    """There is no worker of that name; the message lists those that exist."""


def find_worker(target: str) -> Worker:
    """Import the module, also from the current folder, and take its worker.

    Without `:attribute` it is the one worker that the module has.
    """
    name, _, attribute = target.partition(":")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise NoWorker(f"there is no module {name} (looked in {folder} too)") from None
    return _worker_of(module, attribute)


def _worker_of(module: ModuleType, attribute: str) -> Worker:
    workers = {name: value for name, value in vars(module).items() if isinstance(value, Worker)}
    if not attribute:
        if len({id(value) for value in workers.values()}) == 1:
            return next(iter(workers.values()))
        listed = ", ".join(f"{module.__name__}:{name}" for name in workers) or "none"
        raise NoWorker(f"name the worker as module:name; {module.__name__} has {listed}")
    worker = getattr(module, attribute, None)
    if isinstance(worker, Worker):
        return worker
    if worker is not None:
        raise NoWorker(f"{module.__name__}:{attribute} is a {type(worker).__name__}, no Worker")
    close = get_close_matches(attribute, workers, n=1)
    hint = f'; did you mean "{close[0]}"?' if close else ""
    raise NoWorker(f"{module.__name__} has no {attribute}{hint}")
