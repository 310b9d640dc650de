"""The dashboard's files, read once, and the lines of a head that leave with each of them."""

from collections.abc import Mapping
from functools import cache
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
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        # No text becomes code or markup, whoever wrote it.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_PAGE: Final = "index.html"


class File(msgspec.Struct, frozen=True):
    """One file as it is sent."""

    body: bytes
    media_type: str
    # A strong one: it changes with the bytes.
    tag: str

    @property
    def headers(self) -> dict[str, str]:
        """The lines beside its type. Browsers ask each time whether their copy is still good, so
        that all modules of a page are of one version."""
        return {
            "Cache-Control": "no-cache",
            "ETag": self.tag,
            "Content-Security-Policy": _POLICY,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
        }

    def is_known(self, if_none_match: str | None) -> bool:
        """Whether the browser's copy, by the tags that it names, is this very file."""
        if if_none_match is None:
            return False
        tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
        return self.tag in tags or "*" in tags


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
        found[entry.name] = File(body, media_type, f'"{sha256(body).hexdigest()[:32]}"')
    return found
