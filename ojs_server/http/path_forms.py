"""Paths below which another system answers in its own form, whatever is requested."""

from collections.abc import Callable, Sequence

import msgspec

from ojs_server.domain.errors import NotFound, OjsError
from ojs_server.http.call import Answer, Call
from ojs_server.http.errors import answer_of


def _nothing(path: str) -> OjsError | None:
    return None


class PathForm(msgspec.Struct, frozen=True):
    """The form of errors at and below a path, also of those before a handler is found: `answer`
    makes the answer to a call from its error. `missing` returns the error for a path
    that the system's clients know and that is not served; None for other paths."""

    prefix: str
    answer: Callable[[Call, BaseException], Answer]
    missing: Callable[[str], OjsError | None] = _nothing


class PathForms:
    """The forms of a server."""

    def __init__(self, forms: Sequence[PathForm] = ()) -> None:
        self._forms = forms

    def refused(self, call: Call, error: BaseException) -> Answer:
        """Return the answer for an error, in the form that clients of its path know."""
        form = self._of(call.path)
        return answer_of(error, call.request_id) if form is None else form.answer(call, error)

    def missing(self, call: Call) -> OjsError:
        """Return the error for a path that is not served."""
        form = self._of(call.path)
        known = None if form is None else form.missing(call.path.removeprefix(form.prefix))
        return known or NotFound(
            "there is no such path", hint="GET /ojs/manifest says what this server can do"
        )

    def _of(self, path: str) -> PathForm | None:
        for form in self._forms:
            if path == form.prefix or path.startswith(f"{form.prefix}/"):
                return form
        return None
