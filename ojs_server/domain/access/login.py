"""Logins: sessions of people at the dashboard, which hold a token in place of their key."""

import hashlib
from typing import Final

import msgspec

# Number of random bytes in a token.
TOKEN_BYTES: Final = 32


class Login(msgspec.Struct, frozen=True):
    """A session that a person began with a key. A program with its token acts as that person,
    so only a hash of the token is stored."""

    token_hash: str
    principal: str
    created_at: int
    expires_at: int


def hash_of(token: str) -> str:
    """Return the hash by which a token is found."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
