"""Clauses that no client can observe, each with the reason why."""

from typing import Final

UNSEEN: Final[dict[str, str]] = {
    "OJS-ERR-009": "the connection to the database would have to fail during a commit",
    "OJS-IDM-009": "it takes a day",
    "OJS-RLM-022": "it takes a day",
    "OJS-WHK-019": "no text that jobs, failures and workers may have makes an event of that size",
}

# Statuses that no case observes, of clauses whose other statuses are covered.
UNSEEN_STATUSES: Final[dict[str, tuple[int, ...]]] = {
    "OJS-MAN-008": (503,),  # the database would have to be gone
    "OJS-MAN-023": (503,),
}
