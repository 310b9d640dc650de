"""Calls that are one operation of the store: what they ask for, and what its outcome is told as.

Both halves wait for nothing, so that such a call needs no task of its own (`shortcut.py`).
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ojs_server.http.call import Answer, Call


def _count_nothing(call: Call, operation: Any, seconds: float) -> None:
    """Nothing but the request is measured."""


class Direct(msgspec.Struct, frozen=True):
    """The halves of a call, and what is measured once it was carried out.

    `ask` makes an operation of the body, or None where this call takes more than that one. `tell`
    says what the outcome is.
    """

    ask: Callable[[Call, bytes], Any]
    tell: Callable[[Call, Any, Any], Answer]
    measure: Callable[[Call, Any, float], None] = _count_nothing
