"""Reading what clients of the job manager send: what cannot be read is 422, as they know it."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from ojs_server.domain.errors import InvalidRequest, MalformedPayload, OjsError, ValidationError
from ojs_server.domain.suggestions import nearest
from ojs_server.http.call import Call

Body = TypeVar("Body", bound=msgspec.Struct)


async def read_body(call: Call, body_type: type[Body], *, optional: bool = False) -> Body:
    """Decode the body of a request."""
    try:
        return await call.read(body_type, optional=optional)
    except (InvalidRequest, MalformedPayload) as error:
        raise _unreadable(error) from None


def parse_status(word: str, allowed: tuple[str, ...]) -> str:
    """Parse a status that a request names."""
    if word not in allowed:
        requirement = f"must be one of {', '.join(allowed)}{nearest(word, allowed)}"
        raise wrong("status", requirement)
    return word


def whole_number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    """Return a number of the query, from 0 to a bound."""
    text = query.get(name)
    if text is None:
        return default
    # Longer numbers are not converted.
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and int(text) <= most):
        raise wrong(name, f"must be a whole number from 0 to {most}")
    return int(text)


def wrong(field: str, requirement: str) -> ValidationError:
    """Return the error of a member that cannot be what it is."""
    return ValidationError(f"`{field}` {requirement}", details={"field": field})


def _unreadable(error: OjsError) -> ValidationError:
    return ValidationError(error.message, details=error.details, hint=error.hint)
