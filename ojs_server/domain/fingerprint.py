"""The fingerprint of a value: equal for values that are equal, however they were spelled.

The text that is hashed is canonical JSON in the manner of RFC 8785, with every string in
Unicode's NFC. Unlike there, an integer keeps all its 64 bits.
"""

import hashlib
import unicodedata
from typing import Any

from ojs_wire.codec import MAX_INTEGER, MIN_INTEGER, encode


def fingerprint(value: object) -> bytes:
    """Return the SHA-256 of the canonical text."""
    return hashlib.sha256(canonical_text(value)).digest()


def canonical_text(value: object) -> bytes:
    """Return a value as canonical JSON: sorted members, no spaces, one form of each string and
    number."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=_place)
        return b"{" + b",".join(_member(name, item) for name, item in members) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(canonical_text, value)) + b"]"
    if isinstance(value, str):
        return encode(unicodedata.normalize("NFC", value))
    if isinstance(value, float) and value.is_integer() and MIN_INTEGER <= value <= MAX_INTEGER:
        # A JSON encoder may write this number as an integer.
        return encode(int(value))
    return encode(value)


def _member(name: str, value: object) -> bytes:
    return canonical_text(name) + b":" + canonical_text(value)


def _place(member: tuple[str, Any]) -> tuple[bytes, str]:
    # RFC 8785 sorts by UTF-16. The raw name breaks ties: two names may have the same NFC form.
    return unicodedata.normalize("NFC", member[0]).encode("utf-16-be"), member[0]
