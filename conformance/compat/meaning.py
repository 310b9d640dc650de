"""Cases read as they are meant or as the published runner reads them; differences are quirks.

While a quirk is on, steps are done as that runner does them; if it is off, as the strict judge does
them.
"""

from functools import partial

import msgspec

from conformance.compat.match import as_specified
from conformance.compat.paths import PathError, fill, has_quoted_key, resolve
from conformance.compat.quirks import InForce, Quirk, Quirks
from conformance.language import paths, template
from conformance.language.model import Case
from conformance.language.template import Scope, Unresolved
from conformance.language.values import Missing, is_absent, same


class Meaning:
    """One play of a case: its steps, their answers, and the quirks that made a difference."""

    def __init__(self, case: Case | None, quirks: Quirks) -> None:
        self.bodies: dict[str, object] = {}
        self._quirks = quirks
        self._steps = {step.id: step for step in case.all_steps} if case else {}
        names = {name for step in self._steps.values() for name in step.all_captures}
        self._captured = Scope(frozenset(names))

    def at(self, place: str) -> InForce:
        """Return a function that says whether a quirk is in force, and notes this place if so."""
        return partial(self._quirks.bite, place=place)

    def waits_twice(self, step: str, delay_ms: float) -> bool:
        """Return True if a wait without a duration sleeps its delay twice."""
        return delay_ms > 0 and self._quirks.bite(Quirk.WAIT, f"[{step}] delay_ms {delay_ms:g}")

    def times(self, step: str) -> int:
        """Return how many times to play a step."""
        repeat = self._steps[step].repeat if step in self._steps else 1
        if repeat > 1 and self._quirks.bite(Quirk.REPEAT, f"[{step}] repeat {repeat}"):
            return 1
        return repeat

    def content(self, step: str, body: bytes) -> bytes | None:
        """Return the body to send; None for none."""
        raw = self._steps[step].raw_body if step in self._steps else None
        if raw is not None and not self._quirks.bite(Quirk.RAW_BODY, f"[{step}] raw_body"):
            return raw.encode()
        if body in (b"", b"null"):
            return None
        return self._json(body.decode(), f"[{step}] body").encode()

    def received(self, step: str, body: object) -> None:
        """Keep the body of an answer, and the variables that the step captures from it."""
        self.bodies[step] = body
        if step in self._steps:
            definition = self._steps[step]
            for name, path in definition.all_captures.items():
                self._captured.capture(name, path, body, definition.unwrap)

    def text(self, text: str, place: str) -> str:
        """A text with the values of earlier answers inserted."""
        filled = fill(text, self.bodies)
        try:
            value = template.fill_text(filled, self._captured)
        except Unresolved:
            return filled
        names = [name for name in self._captured.variables if name in filled]
        if value == filled or self._quirks.bite(Quirk.CAPTURES, f"{place}: {', '.join(names)}"):
            return filled
        return value

    def matcher(self, matcher: object, place: str) -> object:
        """A matcher with the values of earlier answers inserted; an error if it is no JSON then."""
        text = msgspec.json.encode(matcher).decode()
        filled = self._json(text, place)
        try:
            return matcher if filled == text else msgspec.json.decode(filled)
        except msgspec.DecodeError as error:
            raise PathError(f"the matcher is no JSON once it is filled: {error}") from error

    def find(self, path: str, document: object, place: str) -> object:
        """Return the value at a path, None for a missing key; a step into nothing is an error."""
        error: PathError | None = None
        found = None
        try:
            found = resolve(path, document)
        except PathError as raised:
            error = raised
        if found is None:
            quirk = Quirk.QUOTED_KEYS if has_quoted_key(path) else Quirk.DOTTED_KEYS
            value = _found(path, document)
            if not is_absent(value) and not self._quirks.bite(quirk, place):
                return value
        if error is not None:
            raise error
        return found

    def is_wrong_at_a_dead_end(self, matcher: object, place: str) -> bool:
        """Tell whether a matcher fails on a path that is an error."""
        if matcher == "absent":
            return False
        wants_nothing = as_specified(matcher, Missing("the path leads nowhere"))
        return not wants_nothing or self._quirks.bite(Quirk.DEAD_END, place)

    def _json(self, text: str, place: str) -> str:
        """Fill JSON text; inserted values keep their types only if that quirk is off."""
        filled = self.text(text, place)
        if filled == text:
            return text
        captures = self._captured if self._quirks.is_mended(Quirk.CAPTURES) else Scope()
        scope = Scope(captures.names, self.bodies, captures.variables)
        try:
            value = template.fill_json(msgspec.json.decode(text), scope)
        except Unresolved:
            return filled
        if _stands_for(filled, value) or self._quirks.bite(Quirk.FILLING, place):
            return filled
        return msgspec.json.encode(value).decode()


def _found(path: str, document: object) -> object:
    try:
        return paths.find(path, document)
    except paths.BadPath as error:
        return Missing(str(error))


def _stands_for(text: str, value: object) -> bool:
    try:
        return same(msgspec.json.decode(text), value)
    except msgspec.DecodeError:
        return False
