"""Calls to a server: JSON in, JSON out, whole lists page by page, whichever server it is."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

from ojs_cli.failures import MISUSED, NO_ACCESS, Failure
from ojs_worker.environment import Environment, machine
from ojs_worker.errors import NotFound, Unreachable, refusal
from ojs_worker.transport import NO_SUCH_CALL, BlockingTransport, Reply, Request
from ojs_worker.transport.tries import NOT_DONE, NOT_NOW, Tries

V1: Final = "/ojs/v1"
PAGE: Final = 100
Json = dict[str, Any]
T = TypeVar("T")


def _nothing_done(status: int, body: bytes) -> bool:
    """A bulk call of which nothing could be done answers 422, and says why for each job."""
    return status == 422 and _has_items(body)


def _is_health(status: int, body: bytes) -> bool:
    found = _decoded(body)
    return status == 503 and isinstance(found, dict) and isinstance(found.get("status"), str)


def segment(name: str) -> str:
    """Write a name as one part of a path."""
    if name in ("", ".", ".."):
        raise Failure(f"{name!r} is no name", exit_code=MISUSED)
    return quote(name, safe="")


class Server:
    """One server, as its address, key and file of settings say."""

    def __init__(
        self,
        transport: BlockingTransport,
        url: str,
        *,
        read_only: str | None = None,
        deadline_s: float = 0.0,
        environment: Environment | None = None,
    ) -> None:
        self.url = url
        self._deadline_s = deadline_s
        self._environment = environment or machine()
        self._transport = transport
        # The name of the server that the file marks as read-only; None otherwise.
        self._read_only = read_only

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def get(self, path: str, **query: Any) -> Json:
        """Read something."""
        return self.call("GET", path, query=query)

    def health(self, path: str = "/health") -> Json:
        """Read the health of a server; one that is not healthy tells it with 503."""
        return self._decoded(self.send("GET", path, well=_is_health))

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        timeout_s: float = 30.0,
    ) -> Json:
        """Call the server with JSON, and read its answer."""
        sent = None if method == "GET" else json.dumps({} if body is None else body).encode()
        answer = self.send(method, path, sent, query=query, timeout_s=timeout_s)
        return self._decoded(answer) if answer.strip() else {}

    def _decoded(self, answer: bytes) -> Json:
        found = _decoded(answer)
        if not isinstance(found, dict):
            raise self._not_ours()
        return found

    def read(self, path: str, kind: type[T], **query: Any) -> T:
        """Read something into a struct, its raw members as they were written."""
        import msgspec

        try:
            return msgspec.json.decode(self.send("GET", path, query=query), type=kind)
        except (ValueError, RecursionError):
            raise self._not_ours() from None

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        timeout_s: float = 30.0,
        well: Callable[[int, bytes], bool] = _nothing_done,
    ) -> bytes:
        """Send a call; raises the exceptions of the SDK. `well` says which answers are none,
        although their status is one of errors."""
        if method != "GET" and self._read_only is not None:
            raise Failure(
                f"the server {self._read_only} is read_only in the file of servers",
                "take that line out to change something there",
                exit_code=NO_ACCESS,
            )
        parameters = {name: value for name, value in (query or {}).items() if value is not None}
        whole = path if path.startswith("/ojs/manifest") else V1 + path
        path = whole + (f"?{urlencode(parameters)}" if parameters else "")
        reply = self._sent(Request(method, path, body, timeout_s=timeout_s), well)
        if not reply.well and not well(reply.status, reply.body):
            if reply.status in NO_SUCH_CALL and not _is_error(reply.body):
                raise NotFound(
                    f"{self.url} has no call {method} {whole}; is it a server of Open Job Spec? "
                    "`ojs status` tells what it can do",
                    status=reply.status,
                )
            raise refusal(reply.status, reply.body, reply.retry_after_s)
        return reply.body

    def _sent(self, request: Request, well: Callable[[int, bytes], bool]) -> Reply:
        """Send a request, again while that is safe and the deadline allows it."""
        reads = request.method == "GET"
        again = NOT_NOW if reads else NOT_DONE
        tries = Tries(self._deadline_s, self._environment)
        while True:
            try:
                reply = self._transport.send(request)
            except Unreachable as error:
                wait_s = tries.pause_s()
                if wait_s is None or (error.sent and not reads):
                    raise
            else:
                if reply.status not in again or well(reply.status, reply.body):
                    return reply
                wait_s = tries.pause_s(reply.retry_after_s)
                if wait_s is None:
                    return reply
            time.sleep(wait_s)

    def _not_ours(self) -> Failure:
        return Failure(
            f"{self.url} answers, but not as a server of Open Job Spec",
            "check the address; /ojs/manifest has to answer JSON there",
        )

    def first(self, method: str, *paths: str, body: Any = None) -> Json:
        """Call the first of these paths that the server has."""
        for path in paths[:-1]:
            try:
                return self.call(method, path, body)
            except NotFound as error:
                if error.code and error.details.get("resource_type") not in (None, "route"):
                    raise
        return self.call(method, paths[-1], body)

    def pages(self, path: str, member: str, **query: Any) -> Iterator[Json]:
        """Yield the pages of a list; `member` names its items where the server does not say
        `items`."""
        cursor: str | None = None
        while True:
            page = self.get(path, **{"limit": PAGE, **query}, cursor=cursor)
            page["items"] = _items(page, member)
            yield page
            pagination = page.get("pagination") or page
            following = pagination.get("next_cursor")
            if not following or following == cursor or pagination.get("has_more") is False:
                return
            cursor = following

    def items(self, path: str, member: str, most: int | None = None, **query: Any) -> list[Json]:
        """Read a list, `most` items of it."""
        found: list[Json] = []
        limit = PAGE if most is None else min(most, PAGE)
        for page in self.pages(path, member, **{"limit": limit, **query}):
            found += page["items"]
            if most is not None and len(found) >= most:
                return found[:most]
        return found


def _items(page: Json, member: str) -> list[Json]:
    for name in (member, "items", "data"):
        if isinstance(found := page.get(name), list):
            return [item for item in found if isinstance(item, dict)]
    lists = [value for value in page.values() if isinstance(value, list)]
    if len(lists) == 1:
        # This server uses another name for the list.
        return [list for list in lists[0] if isinstance(list, dict)]
    raise Failure(f"the server's answer has no {member}")


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _has_items(body: bytes) -> bool:
    found = _decoded(body)
    return isinstance(found, dict) and isinstance(found.get("items"), list)


def _is_error(body: bytes) -> bool:
    found = _decoded(body)
    return isinstance(found, dict) and bool(found.get("error"))
