"""Suggesting the name that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

from ojs_server.domain.errors import ValidationError


def nearest(given: object, known: Iterable[str]) -> str:
    """A clause such as `; did you mean "queue"?`, or nothing where no name is near."""
    if not isinstance(given, str):
        return ""
    close = get_close_matches(given[:100], list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def refuse_unknown(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse members that nobody knows; `where` is what stands before their names."""
    names = sorted(known)
    for name in given:
        if name not in names:
            raise ValidationError(
                f"`{where}{name[:100]}` is not known{nearest(name, names)}",
                details={"field": f"{where}{name[:100]}", "allowed": names},
            )
