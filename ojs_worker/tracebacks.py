"""Tracebacks of handlers, as their authors want to read them."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

_SDK: Final = tuple(
    str(Path(__file__).parents[1] / package) for package in ("ojs_worker", "ojs_django")
)
_LIBRARIES: Final = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))


def without_sdk(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of the SDK that lead to the program's code.

    Those below the program's innermost frame stay: they tell which call of the SDK failed.
    """
    steps = list(_steps(trace))
    last = max((at for at, step in enumerate(steps) if not _is_sdk(step)), default=-1)
    if last == -1:
        return trace
    visible = steps[last + 1] if last + 1 < len(steps) else None
    for step in reversed(steps[: last + 1]):
        if not _is_sdk(step):
            visible = TracebackType(visible, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return visible


def place_of(trace: TracebackType | None) -> str | None:
    """Return the innermost line of the program's own code; None without one."""
    for step in reversed(list(_steps(trace))):
        code = step.tb_frame.f_code
        if not code.co_filename.startswith((*_SDK, *_LIBRARIES, "<")):
            return f"{code.co_filename}:{step.tb_lineno} in {code.co_name}"
    return None


def _steps(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _is_sdk(step: TracebackType) -> bool:
    return step.tb_frame.f_code.co_filename.startswith(_SDK)
