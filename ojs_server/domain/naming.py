"""Names that are not known: refused, with the one that was probably meant."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from ojs_server.domain.errors import ValidationError


def nearest(given: object, known: Iterable[str]) -> str:
    """A clause such as `; did you mean "queue"?`, or nothing where no name is near."""
    if not isinstance(given, str):
        return ""
    close = get_close_matches(given[:100], list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def refuse_unknown(where: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse a member that is not known; `where` is the path before it, such as `filter.`."""
    for name in given:
        if name not in known:
            field = f"{where}{name[:100]}"
            raise ValidationError(
                f"`{field}` is not known{nearest(name, known)}",
                details={"field": field, "allowed": sorted(known)},
            )
