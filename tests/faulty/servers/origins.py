"""Faults of hosts and origins: who may call from a browser."""

from collections.abc import Callable
from typing import Any

from ojs_server.http import origins
from ojs_server.http.origins import Origins
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap
from tests.faulty.traffic import unheard


@fault("OJS-ACC-008")
def any_page_may_call() -> None:
    """Calls of pages of other origins are carried out."""
    unheard("origin")


@fault("OJS-ACC-008")
def sec_fetch_site_is_believed() -> None:
    """The origin does not matter where the browser says that the page is of the same origin."""

    def make(admit: Callable[..., str]) -> Callable[..., str]:
        def admitted(self: Any, headers: dict[bytes, bytes]) -> str:
            return "" if headers.get(b"sec-fetch-site") == b"same-origin" else admit(self, headers)

        return admitted

    wrap(Origins, "admit", make)


@fault("OJS-ACC-009")
def any_name_is_answered() -> None:
    """A server on the loopback answers to every name."""
    put(origins, "_answers", lambda *_: True)
