"""Variables of a job in the Zeebe API: one object of named values.

They are the first argument of the job if that is an object, overlaid by the results of earlier
steps. The result of a job is what its completion brought, and is merged into them where they are
read.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.jobs.dead_letter import RetryChanges, overridden
from ojs_server.domain.jobs.job import StoredJob
from ojs_wire import codec
from ojs_wire.values import kind_of

# The member of `meta` that holds the headers of a task.
HEADERS: Final = "custom_headers"
# The name of the variable that holds arguments that are not an object.
ARGS: Final = "args"


def parse_variables(text: str) -> dict[str, Any]:
    """Read variables: a JSON text of an object, or nothing. No digit of a number is lost."""
    if not text:
        return {}
    try:
        value = codec.decode(text.encode())
    except codec.MalformedJSON as error:
        raise InvalidRequest(
            f"`variables` is not valid JSON: {error}", details={"field": "variables"}
        ) from None
    if not isinstance(value, dict):
        raise InvalidRequest(
            f"`variables` must be a JSON object, not {kind_of(value)}",
            details={"field": "variables"},
        )
    return value


def variables_of(args: bytes, parent_results: bytes | None = None) -> dict[str, Any]:
    """Return the variables of a job; results of earlier steps override its arguments."""
    given: list[Any] = codec.decode(args)
    found = _own(given)
    if parent_results is not None:
        results = codec.decode(parent_results)
        for result in results.values() if isinstance(results, dict) else results:
            if isinstance(result, dict):
                found.update(result)
    return found


def at_the_end(stored: StoredJob) -> dict[str, Any]:
    """Return the variables of a completed job, with those of its completion."""
    before = variables_of(stored.args, stored.parent_results)
    return {**before, **_own([codec.decode(stored.result or b"{}")])}


def _own(given: list[Any]) -> dict[str, Any]:
    if given and isinstance(given[0], dict):
        return dict(given[0])
    return {ARGS: given} if given else {}


def chosen(variables: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """Return the variables with these names; all if no name is given."""
    if not names:
        return variables
    return {name: variables[name] for name in names if name in variables}


def merging(more: Mapping[str, Any]) -> Callable[[StoredJob], StoredJob] | None:
    """Return the function that merges variables into those of a job; None if there are none."""
    return partial(with_variables, more=more) if more else None


def with_variables(stored: StoredJob, more: Mapping[str, Any]) -> StoredJob:
    """Return the job with these variables merged into its own."""
    given: list[Any] = codec.decode(stored.args)
    merged = [{**_own(given), **more}, *(given[1:] if _has_object(given) else ())]
    return overridden(stored, RetryChanges(args=merged))


def _has_object(given: list[Any]) -> bool:
    return bool(given) and isinstance(given[0], dict)


class _Meta(msgspec.Struct):
    custom_headers: Any = None


_meta: Final = msgspec.json.Decoder(_Meta)


def headers_of(meta: bytes) -> dict[str, Any]:
    """Return the headers of a task."""
    given = _meta.decode(meta).custom_headers
    return given if isinstance(given, dict) else {}
