"""The dashboard's files, read and compressed once, and the headers that they are sent with."""

import re
from collections.abc import Mapping
from functools import cache
from gzip import compress
from hashlib import sha256
from importlib.resources import files
from typing import Final

import msgspec

_TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        # Strings never become code or markup.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_PAGE: Final = "index.html"


# One element of Accept-Encoding, with its weight.
_CODING: Final = re.compile(r"\s*(gzip|\*)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?", re.I | re.ASCII)


class Sent(msgspec.Struct, frozen=True):
    """The answer for a file; `body` is None if the browser's copy is still valid."""

    body: bytes | None
    headers: Mapping[str, str]


class File(msgspec.Struct, frozen=True):
    """A file, plain and compressed."""

    body: bytes
    zipped: bytes
    media_type: str
    # A strong ETag: it changes with the bytes.
    tag: str

    def sent(self, accept_encoding: str | None, if_none_match: str | None) -> Sent:
        """Return the file, or nothing if the browser's copy is valid, by these two headers of the
        request.

        Browsers ask each time, so that all modules of a page are of one version.
        """
        zipped = _takes_gzip(accept_encoding or "")
        # The compressed bytes need an ETag of their own.
        tag = f'{self.tag[:-1]}-gzip"' if zipped else self.tag
        headers = {
            "Cache-Control": "no-cache",
            "ETag": tag,
            "Vary": "Accept-Encoding",
            "Content-Security-Policy": POLICY,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
        }
        if _is_named(tag, if_none_match):
            return Sent(None, headers)
        if zipped:
            return Sent(self.zipped, {**headers, "Content-Encoding": "gzip"})
        return Sent(self.body, headers)


def _takes_gzip(accept_encoding: str) -> bool:
    weights = {
        found[1].lower(): float(found[2] or 1)
        for element in accept_encoding.split(",")
        if (found := _CODING.fullmatch(element))
    }
    return weights.get("gzip", weights.get("*", 0)) > 0


def _is_named(tag: str, if_none_match: str | None) -> bool:
    """True if one of the tags that the browser has sent is that of this file."""
    named = (if_none_match or "").split(",")
    tags = {tag.strip().removeprefix("W/") for tag in named}
    return tag in tags or "*" in tags


def page() -> File:
    """The document of every page; its address tells which one it becomes."""
    return _files()[_PAGE]


def asset(name: str) -> File | None:
    """A file that the document loads, by its name."""
    return None if name == _PAGE else _files().get(name)


@cache
def _files() -> Mapping[str, File]:
    found = {}
    for entry in files(__package__).joinpath("static").iterdir():
        body = entry.read_bytes()
        media_type = _TYPES[entry.name.rpartition(".")[2]]
        # Without a timestamp, so that every node sends the same bytes.
        zipped = compress(body, mtime=0)
        found[entry.name] = File(body, zipped, media_type, f'"{sha256(body).hexdigest()[:32]}"')
    return found
