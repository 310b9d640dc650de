"""Content negotiation: which of the media types on offer a request prefers."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

# An element of Accept, with its parameters.
_RANGE: Final = re.compile(
    r"\s*([!#$%&'*+.^_`|~\w-]+)/([!#$%&'*+.^_`|~\w-]+)\s*((?:;[^;]*)*)", re.ASCII
)
_WEIGHT: Final = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?", re.ASCII)

Weighed = tuple[str, float]


def preferred(accept: str | None, offers: Sequence[str]) -> str:
    """Return the offer that an Accept header prefers; of equal ones the first.

    The first is also the default if none is acceptable, as an answer of another type says more than
    a refusal. Elements that cannot be read are ignored.
    """
    ranges = list(_ranges(accept or ""))
    if not ranges:
        return offers[0]
    weights = {offer: _weight(offer, ranges) for offer in offers}
    # `max` returns the first of equal ones.
    return max(offers, key=weights.__getitem__)


def _ranges(accept: str) -> Iterable[Weighed]:
    for element in accept.split(","):
        if (found := _RANGE.fullmatch(element)) is None:
            continue
        weight = 1.0
        for parameter in found[3].split(";"):
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "q":
                if not _WEIGHT.fullmatch(value.strip()):
                    break
                weight = float(value)
        else:
            yield f"{found[1]}/{found[2]}".lower(), weight


def _weight(offer: str, ranges: Sequence[Weighed]) -> float:
    """Return the weight of an offer by the most specific range; 0 if none matches."""
    kind = offer.partition("/")[0]
    for name in (offer, f"{kind}/*", "*/*"):
        weights = [weight for range_, weight in ranges if range_ == name]
        if weights:
            return max(weights)
    return 0.0
