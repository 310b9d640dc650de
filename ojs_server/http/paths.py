"""The paths of the API, as one route of Starlette's router.

Each as a route of its own would be slower and answered otherwise. Starlette tries its routes one by
one: 60 to 210 us for the 180 paths here, against 1 to 17 (`docs/decisions/`). It hands a request
whose method a path has not to the next path that fits: `GET /ojs/v1/jobs/batch` would be the job
named `batch` and not a 405; and `Allow` would name the methods of one route only. And its patterns
take a line break at the end of a path, and, where they are mounted, none within.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from ojs_server.domain.errors import MethodNotAllowed, NotFound
from ojs_server.http.access import logins
from ojs_server.http.access.origins import PREFLIGHT_HEADERS, is_preflight
from ojs_server.http.admin.recorded_calls import actor_of
from ojs_server.http.admission import Admission
from ojs_server.http.call import CALL, Answer, Call
from ojs_server.http.path_forms import PathForms
from ojs_server.http.responses import NO_CONTENT, response_of
from ojs_server.http.route import ANYONE, SOCKET, Route
from ojs_server.ops.engine.acting import acting

# A schema is named by its type or by its URI, whose slashes arrive decoded.
_PARAMETERS: Final = {"schema": r"[^/:]+|[A-Za-z][A-Za-z0-9+.-]*:.+"}
_METHODS: Final = "ojs.methods"


class Paths(BaseRoute):
    """The paths of a route table: fixed ones are found in one look-up, the others by pattern."""

    def __init__(
        self, routes: Iterable[Route], admission: Admission, forms: PathForms | None = None
    ) -> None:
        self._admission = admission
        self._forms = forms or PathForms()
        self._fixed: dict[str, dict[str, Route]] = {}
        patterns: dict[str, dict[str, Route]] = {}
        for route in routes:
            table = patterns if "{" in route.path else self._fixed
            table.setdefault(route.path, {})[route.method] = route
        # Fewer parameters are more specific, so they are tried first.
        by_parameters = sorted(patterns.items(), key=lambda row: row[0].count("{"))
        self._patterns = [(_pattern(path), methods) for path, methods in by_parameters]

    def find(self, path: str) -> tuple[Mapping[str, Route], Mapping[str, str]] | None:
        """Return the methods of a path, and its parameters."""
        if "\0" in path:
            # Not every store can look up a NUL.
            return None
        if (methods := self._fixed.get(path)) is not None:
            return methods, {}
        for pattern, methods in self._patterns:
            if match := pattern.fullmatch(path):
                return methods, match.groupdict()
        return None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell Starlette's router whether this has the path of a request, whatever its method."""
        found = self.find(scope[CALL].path) if scope["type"] == "http" else None
        if found is None:
            return Match.NONE, {}
        return Match.FULL, {_METHODS: found[0], "path_params": found[1]}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to one of the paths."""
        call: Call = scope[CALL]
        call.counts = True
        call.route = route = _route_of(call, scope[_METHODS], self._forms)
        if b"cookie" in call.fields:
            await logins.recognise(call, route.roles)
        self._admission.admit(call, route)
        with acting(actor_of(call, route)):
            answer = await route.handler(call)
        await response_of(call, answer)(scope, receive, send)

    async def refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request to a path that is not here, unless it is a preflight."""
        if scope["type"] == "websocket":
            call: Call = scope[CALL]
            call.for_page = call.server.origins.admit(call.fields)
            raise NotFound("there is no such path", hint=f"the WebSocket is at {SOCKET}")
        scope[_METHODS] = {}
        await self.handle(scope, receive, send)


def _route_of(call: Call, methods: Mapping[str, Route], forms: PathForms) -> Route:
    method = call.scope["method"]
    route = methods.get("GET" if method == "HEAD" else method)
    if route is not None:
        return route
    call.for_page = call.server.origins.admit(call.fields)
    if call.for_page and is_preflight(method, call.fields):
        return _PREFLIGHT
    if not methods:
        raise forms.missing(call)
    allowed = sorted({*methods, "HEAD"} if "GET" in methods else methods)
    raise MethodNotAllowed(
        f"{method[:20]} is not possible here; allowed: {', '.join(allowed)}",
        details={"allowed": allowed},
        headers={"Allow": ", ".join(allowed)},
    )


async def _preflight(call: Call) -> Answer:
    """Answer a preflight of CORS: the page of a listed origin may call."""
    return Answer(b"", NO_CONTENT, PREFLIGHT_HEADERS)


# For every path, even an unknown one: the request itself is answered.
_PREFLIGHT: Final = Route("OPTIONS", "preflight", _preflight, ANYONE)


@cache
def _pattern(path: str) -> re.Pattern[str]:
    def one(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{_PARAMETERS.get(found[1], '[^/]+')})"

    return re.compile(re.sub(r"\{(\w+)\}", one, path))
