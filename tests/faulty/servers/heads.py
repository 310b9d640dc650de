"""Faults of request and response headers: hosts, origins, paths, and advice to browsers."""

from collections.abc import Callable
from typing import Any

from ojs_server.connection import framing
from ojs_server.http.access import origins
from ojs_server.http.access.origins import Origins
from ojs_server.http.paths import Paths
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap
from tests.faulty.traffic import drop_answer_header, drop_header


@fault("OJS-ACC-008")
def any_page_may_call() -> None:
    """Calls of pages of other origins are carried out."""
    drop_header("origin")


@fault("OJS-ACC-008")
def sec_fetch_site_is_believed() -> None:
    """The origin is not checked if `Sec-Fetch-Site` says that it is the same."""

    def make(admit: Callable[..., str]) -> Callable[..., str]:
        def admitted(self: Any, headers: dict[bytes, bytes]) -> str:
            return "" if headers.get(b"sec-fetch-site") == b"same-origin" else admit(self, headers)

        return admitted

    wrap(Origins, "admit", make)


@fault("OJS-ACC-009")
def any_name_is_answered() -> None:
    """A server on the loopback answers to every name."""
    put(origins, "_answers", lambda *_: True)


@fault("OJS-HTP-026")
def the_last_of_two_counts() -> None:
    """A request with two hosts or two keys is accepted, and the last one counts."""
    put(framing, "_ONCE", ())


@fault("OJS-HTP-027")
def nul_is_passed_over() -> None:
    """NUL in a path is ignored."""
    wrap(Paths, "find", lambda find: lambda self, path: find(self, path.replace("\0", "")))


@fault("OJS-HTP-028")
def types_may_be_guessed() -> None:
    """Answers lack `X-Content-Type-Options`."""
    drop_answer_header("X-Content-Type-Options")


@fault("OJS-HTP-028")
def answers_may_be_kept() -> None:
    """Answers lack `Cache-Control`."""
    drop_answer_header("Cache-Control")
