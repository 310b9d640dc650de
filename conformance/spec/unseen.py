"""Clauses that no client can see kept or broken, each with the reason why."""

from typing import Final

_GRPC: Final = "only a client of gRPC sees it, and this suite speaks HTTP"
UNSEEN: Final[dict[str, str]] = {
    **{f"OJS-GRP-{number:03}": _GRPC for number in range(1, 13)},
    **{f"OJS-ZEE-{number:03}": _GRPC for number in range(1, 12)},
    "OJS-ZEE-012": "its paths are served under a profile, and this suite knows paths of OJS",
    "OJS-ERR-009": "the connection to the database would have to fail during a commit",
    "OJS-IDM-009": "it takes a day",
    "OJS-RLM-022": "it takes a day",
    "OJS-WHK-019": "no text that jobs, failures and workers may have makes an event of that size",
}
