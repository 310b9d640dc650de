"""Sessions of people at the dashboard: a cookie in place of a key.

Browsers send cookies by themselves, also where pages cannot send a key (`EventSource`,
`WebSocket`), and with requests of any page. So a cookie counts only for pages of this server: it is
`SameSite=Strict`, and changes must have an `Origin`.
"""

import asyncio
from contextlib import suppress
from typing import Final

from ojs_server.domain.access.login import TOKEN_BYTES, Login, hash_of
from ojs_server.domain.errors import Denied, NotFound, Unavailable
from ojs_server.http.access.keys import unauthenticated
from ojs_server.http.access.me import shown
from ojs_server.http.access.roles import Role
from ojs_server.http.call import Answer, Call, parsed
from ojs_server.http.route import ANYONE, Route
from ojs_server.ops.access.logins import LogIn, LogOut
from ojs_wire.calls import LoginRequest

_COOKIE: Final = "ojs_session"
# Browsers accept a cookie of this name only from this host, and only over TLS.
_SECURE: Final = "__Host-ojs_session"
_MAX_BODY: Final = 4096
_READING: Final = ("GET", "HEAD")
# Interval of the checks whether the session of a stream is still valid.
WATCH_S: Final = 10.0


async def log_in(call: Call) -> Answer:
    """Begin a session with a key."""
    keys = call.server.settings.keys
    if not keys.needed:
        raise NotFound("this server asks nobody for a key", hint="call it without one")
    _require_own_page(call)
    key = call.typed(parsed(await call.body(_MAX_BODY)), LoginRequest).key
    principal = call.server.key_check.prove(key, call.address)
    token = call.server.environment.secret(TOKEN_BYTES).hex()
    for_ms = call.server.settings.login_ms
    call.login = await call.server.engine.run(LogIn(hash_of(token), principal, for_ms))
    call.key_holder = principal
    call.tenant = keys.tenants.get(principal)
    return Answer(shown(call), headers={"Set-Cookie": _cookie(call, token, for_ms // 1000)})


async def log_out(call: Call) -> Answer:
    """End the session, on every node; one that has ended stays so."""
    token = token_of(call)
    if token is not None:
        _require_own_page(call)
        await call.server.engine.run(LogOut(hash_of(token)))
    return Answer({"logged_out": True}, headers={"Set-Cookie": _cookie(call, "", 0)})


def token_of(call: Call) -> str | None:
    """Return the session token in a request's cookies; None without one."""
    cookies = call.header(b"cookie")
    # Pages of listed origins must not use a session, and a key takes precedence over one.
    if cookies is None or call.for_page or b"authorization" in call.fields:
        return None
    if not call.server.settings.keys.needed:
        return None
    found = dict(part.strip().partition("=")[::2] for part in cookies.split(";"))
    return found.get(_SECURE) or found.get(_COOKIE) or None


class Watch:
    """Checks now and then whether the session of an open stream is still valid."""

    def __init__(self, call: Call, login: Login) -> None:
        self._call = call
        self._token_hash = login.token_hash
        self._monotonic = call.server.environment.monotonic
        self._looked_at = self._monotonic()

    async def is_over(self) -> bool:
        """Return True if the session has ended; the store is read only now and then."""
        if self._monotonic() - self._looked_at < WATCH_S:
            return False
        self._looked_at = self._monotonic()
        return await _found(self._call, self._token_hash) is None

    async def ended(self) -> None:
        """Wait until the session has ended."""
        over = False
        while not over:
            await asyncio.sleep(WATCH_S)
            over = await self.is_over()


async def recognise(call: Call, roles: frozenset[Role]) -> None:
    """Set the caller of a request with a session, where the roles need one. Raises Denied if the
    session has ended, or if a change is not sent by a page of this server.

    What anyone may call reads no session: health and the dashboard answer without the store.
    """
    call.for_page = call.server.origins.admit(call.fields)
    if Role.ANYONE not in roles:
        await _recognise(call)


async def recognise_in_time(call: Call, seconds: float) -> None:
    """Set the caller of a public call, if it has a session that the store finds in time."""
    with suppress(Denied, Unavailable, TimeoutError):
        async with asyncio.timeout(seconds):
            await _recognise(call)


async def _recognise(call: Call) -> None:
    token = token_of(call)
    if token is None:
        return
    login = await _found(call, hash_of(token))
    if login is None:
        raise unauthenticated("the session has ended; log in again")
    if changes(call):
        _require_own_page(call)
    call.login = login


def changes(call: Call) -> bool:
    """Tell whether a call may change something."""
    return call.scope["type"] != "http" or call.scope["method"] not in _READING


def _require_own_page(call: Call) -> None:
    if not call.is_own_page:
        raise Denied(
            "a session is for pages of this server, which say their Origin",
            hint="programs send their key: Authorization: Bearer KEY",
        )


def _cookie(call: Call, token: str, seconds: int) -> str:
    secure = (call.header(b"origin") or "").lower().startswith("https:")
    name, more = (_SECURE, "; Secure") if secure else (_COOKIE, "")
    return f"{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{more}"


async def _found(call: Call, token_hash: str) -> Login | None:
    """Return a session, if it and its key are still valid."""
    login = await call.server.engine.read(lambda reader: reader.login(token_hash, reader.now()))
    if login is None or not call.server.settings.keys.roles_of(login.principal):
        return None
    return login


ROUTES: Final = (
    Route("POST", "/login", log_in, ANYONE, tenanted=True),
    Route("POST", "/logout", log_out, ANYONE, tenanted=True),
)
