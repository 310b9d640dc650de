"""Refuse unknown names, and suggest the one that was probably meant."""

from collections.abc import Collection, Iterable
from difflib import SequenceMatcher, get_close_matches

from ojs_server.domain.errors import InvalidRequest, OjsError, ValidationError

# Longer names are compared by their first characters.
_COMPARED = 100
_SIMILAR = 0.8
# Least length of a compared part of a name.
_PART = 2


def nearest(given: object, known: Iterable[str]) -> str:
    """Return a clause such as `; did you mean "queue"?`, or an empty text if no name is similar."""
    if not isinstance(given, str):
        return ""
    close = get_close_matches(given[:_COMPARED], list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def refuse_unknown(
    where: str,
    given: Iterable[str],
    known: Collection[str],
    error: type[OjsError] = ValidationError,
) -> None:
    """Raise for an unknown member; `where` is the path before it, such as `filter.`."""
    for name in given:
        if name not in known:
            field = f"{where}{name[:100]}"
            raise error(
                f"`{field}` is not known{nearest(name, known)}",
                details={"field": field, "allowed": sorted(known)},
            )


def refuse_unknown_of_many(where: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise for an unknown member of a call that changes many things: what was to restrict it would
    be ignored."""
    refuse_unknown(where, given, known, InvalidRequest)


def refuse_lookalikes(where: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise for an unknown member that resembles a known one, as it would be ignored silently.
    Members that resemble none are allowed."""
    for name in given:
        if name not in known and (near := _lookalike(name, known)) is not None:
            field = f"{where}{name[:_COMPARED]}"
            raise ValidationError(
                f'`{field}` is not known; did you mean "{near}"?',
                details={"field": field, "allowed": sorted(known)},
            )


def _lookalike(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that this one resembles most: in another spelling, as a part of it, or
    mistyped."""
    plain = _plain(given[:_COMPARED])
    if len(plain) < _PART:
        return None
    best, likeness = None, 0.0
    for name in known:
        other = _plain(name)
        shared = SequenceMatcher(None, plain, other).ratio()
        is_part = other.startswith(plain) or other.endswith(plain) or plain.startswith(other)
        if (is_part or shared >= _SIMILAR) and shared > likeness:
            best, likeness = name, shared
    return best


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
