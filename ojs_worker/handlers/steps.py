"""Durable steps of a handler: a step that has ended is remembered in the job's checkpoint, and not
run again by a later delivery. The checkpoint that the handler saves itself is kept beside them.
"""

from collections.abc import Callable
from typing import Any, Final

from ojs_worker import forms
from ojs_worker.handlers.annotations import result_type_of

# Members of the checkpoint of a job that has steps.
STEPS: Final = "ojs.steps"
DATA: Final = "ojs.data"
UNKNOWN: Final = object()


class Steps:
    """The results of the steps of one delivery, and of those before it, as JSON has them."""

    def __init__(self, state: Any) -> None:
        has_steps = isinstance(state, dict) and isinstance(state.get(STEPS), dict)
        self._results: dict[str, Any] = dict(state[STEPS]) if has_steps else {}
        # The handler's own checkpoint.
        self.data: Any = state.get(DATA) if has_steps else state
        self._begun: set[str] = set()

    def begin(self, name: str) -> Any:
        """Return the result that a step had in an earlier delivery, or `UNKNOWN`; raises
        `ValueError` for a name that this delivery has used."""
        if name in self._begun:
            raise ValueError(f"this job has a step {name!r} already; in a loop, add a number to it")
        self._begun.add(name)
        return self._results.get(name, UNKNOWN)

    def ended(self, name: str, value: Any) -> Any:
        """Note the result of a step, and return it as JSON has it."""
        self._results[name] = plain = forms.plain(value)
        return plain

    def state(self) -> Any:
        """Return the checkpoint of the job."""
        if not self._results:
            return self.data
        return {STEPS: dict(self._results), DATA: self.data}


def typed(do: Callable[..., Any], value: Any) -> Any:
    """Return the result of a step as the type that its annotation names, as JSON has it without
    one: the same in the delivery that ran it and in later ones."""
    kind = result_type_of(do)
    return value if kind is None else forms.convert(value, kind)
