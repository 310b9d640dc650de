"""Call webhook targets: check the resolved addresses, and follow no redirects.

The host name is resolved once, and the connection goes to the address that was checked. If the HTTP
library resolved it again, it could get another address.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from ojs_server.domain.errors import OjsError
from ojs_server.domain.streams.cloud_event import MEDIA_TYPE, cloud_event
from ojs_server.domain.webhooks.delivery import Delivery, NoAnswer, Reply
from ojs_server.domain.webhooks.target import Reach, Target, is_public, parse_url
from ojs_server.domain.webhooks.webhook import Format, Webhook, selection_of, signature
from ojs_server.environment import Environment

if TYPE_CHECKING:
    from ojs_server.webhooks.posting import Posted, Poster

# Most concurrent tests, each of which holds a request open while the target answers.
MAX_TESTS: Final = 4

Resolve = Callable[[str, int], Awaitable[list[str]]]


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as the system resolves them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class WebhookClient:
    """The outgoing calls of one node."""

    def __init__(
        self,
        reach: Reach,
        timeout_ms: int,
        environment: Environment,
        resolve: Resolve = resolve,
        ca: str | None = None,
    ) -> None:
        self.tests = asyncio.Semaphore(MAX_TESTS)
        self._reach = reach
        self._timeout_s = timeout_ms / 1000
        self._environment = environment
        self._resolve = resolve
        self._ca = ca
        self._poster: Poster | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Make one attempt within the time limit; a failure is returned as a reply, too."""
        started = self._environment.monotonic()
        answer: int | None = None
        error: str | None = None
        excerpt, pause = "", None
        try:
            async with asyncio.timeout(self._timeout_s):
                posted = await self._call(url, headers, body)
            answer, excerpt = posted.status, posted.excerpt
            pause = _retry_after_ms(posted.retry_after, self._environment.wall_ms())
            error = _fault(answer)
        except TimeoutError:
            error = f"no answer within {self._timeout_s:g} s"
        except NoAnswer as failure:
            error = str(failure)
        except OSError as failure:
            error = f"the name of the host cannot be resolved ({type(failure).__name__})"
        took_ms = round((self._environment.monotonic() - started) * 1000)
        return Reply(answer, error, took_ms, pause, excerpt)

    async def close(self) -> None:
        """Close all connections."""
        if self._poster is not None:
            await self._poster.close()
            self._poster = None

    async def _call(self, url: str, headers: Mapping[str, str], body: bytes) -> "Posted":
        try:
            # The settings may have changed since the subscription was made.
            target = parse_url(url, self._reach)
        except OjsError as refusal:
            raise NoAnswer(refusal.message) from None
        address = await self._address(target)
        host = f"[{address}]" if ":" in address else address
        if self._poster is None:
            # Imported only if there are webhooks.
            from ojs_server.webhooks.posting import Poster

            self._poster = Poster(self._ca)
        return await self._poster.post(
            f"{target.scheme}://{host}:{target.port}{target.path}",
            {**headers, "Host": target.authority},
            body,
            target.host,
        )

    async def _address(self, target: Target) -> str:
        addresses = await self._resolve(target.host, target.port)
        if not addresses:
            raise NoAnswer("the host has no address")
        if not self._reach.private and not all(map(is_public, addresses)):
            # Refuse the host even if other addresses are public: the choice would be arbitrary.
            raise NoAnswer(
                "the host has a private or local address; webhooks go to public ones only"
            )
        # A zone, as in fe80::1%eth0, is not allowed in a URL.
        return str(ip_address(addresses[0].partition("%")[0]))


def message_of(webhook: Webhook, delivery: Delivery, now: int) -> tuple[dict[str, str], bytes]:
    """Return the body and headers of an event in the format that its target wants."""
    timestamp, body, media_type = now // 1000, delivery.body, "application/json"
    if selection_of(webhook).format is Format.CLOUD_EVENTS:
        body, media_type = cloud_event(body), MEDIA_TYPE
    headers = {
        "Content-Type": media_type,
        "User-Agent": "OJS-Webhook/1.0",
        "X-OJS-Event-Type": delivery.event_type,
        "X-OJS-Delivery-ID": delivery.id,
        "X-OJS-Subscription-ID": webhook.id,
        "X-OJS-Timestamp": str(timestamp),
        "X-OJS-Signature": signature(webhook.secrets(now), timestamp, body),
    }
    return headers, body


def _fault(answer: int) -> str | None:
    if 200 <= answer < 300:
        return None
    if 300 <= answer < 400:
        return f"the target answered {answer}; redirects are not followed"
    return f"the target answered {answer}"


def _retry_after_ms(value: str | None, now: int) -> int | None:
    """Return the pause that the target asks for, in seconds or as a date."""
    if value is None:
        return None
    if value.isascii() and value.isdigit() and len(value) < 10:
        return int(value) * 1000
    try:
        return max(0, round(parsedate_to_datetime(value).timestamp() * 1000) - now)
    except ValueError:
        return None
