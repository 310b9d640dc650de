"""Servers of other implementations' style: conforming, but without this project's extensions.

``python -m tests.faulty.schools NAME [options of ojs-server]`` starts one.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from ojs_server.cli import main
from ojs_server.domain.jobs import request_shape
from tests.faulty.planting import put
from tests.faulty.traffic import change_answer, drop_members

# Capabilities of the published levels, and of extensions of other backends.
_CLAIMED: Final = frozenset(
    {
        "batch_enqueue",
        "cron_jobs",
        "dead_letter",
        "delayed_jobs",
        "job_ttl",
        "pause_resume",
        "priority_queues",
        "unique_jobs",
        "workflows",
    }
)


def options_only() -> None:
    """Options are read in `options` only, FETCH does not wait, and extensions are not known."""
    put(request_shape, "merge", lambda body, options: dict(options))
    drop_members("/workers/fetch", "wait_ms", "fetch_id")
    drop_members("/workers/(ack|nack)", "attempt")

    def modest(body: dict[str, Any]) -> None:
        body["capabilities"] = {name: name in _CLAIMED for name in body["capabilities"]}
        body["extensions"] = []

    change_answer("/ojs/manifest", modest, status=200)


def flat_only() -> None:
    """Options are read at the top level only."""
    put(
        request_shape,
        "merge",
        lambda body, options: {k: v for k, v in body.items() if v is not None},
    )


SCHOOLS: Final[Mapping[str, Callable[[], None]]] = {
    "options-only": options_only,
    "flat-only": flat_only,
}


if __name__ == "__main__":
    SCHOOLS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
