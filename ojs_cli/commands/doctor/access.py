"""The check of access: who may call the server, and with how many rights the caller does."""

from collections.abc import Iterator
from typing import Any

from ojs_cli.commands.doctor.findings import Finding
from ojs_cli.session import Session
from ojs_wire.hosts import is_loopback

Json = dict[str, Any]


def access(session: Session) -> Iterator[Finding]:
    """Look for a server that others can reach without a key, and for a key of too many rights."""
    me = session.server.get("/me")
    if not (me.get("can") or {}).get("administer"):
        return
    settings = session.server.get("/admin/system/config").get("config") or {}
    if settings.get("keys_needed"):
        yield (
            f"the key {me.get('name')} has the role admin and may do everything",
            "give each program a key of its own: worker+producer for an application, viewer for "
            "whoever looks, as in docs/production.md",
        )
    elif reached := _beyond_loopback(settings):
        yield (
            f"whoever reaches {', '.join(reached)} may do everything without a key",
            "start the server with OJS_KEYS, as in docs/production.md",
        )


def _beyond_loopback(settings: Json) -> list[str]:
    names = [settings.get("host"), *(settings.get("allow_host") or ())]
    return [name for name in names if isinstance(name, str) and not is_loopback(name)]
