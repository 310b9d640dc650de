"""Arguments that the server cannot read: AES-256-GCM, with keys that can be rotated.

On the wire `args` is one object with the marker `ojs_encoded` and the sealed bytes in base64: a
version byte, a nonce of 12 bytes, the ciphertext, a tag of 16 bytes. `meta` says what was done, in
its order, and with which key. Type, queue, meta, results and errors of a job stay readable.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from secrets import token_bytes
from typing import Any, Final

import msgspec

from ojs_worker.client.requests import JobRequest
from ojs_worker.codec import CannotOpen
from ojs_worker.compression import GZIP, ZSTD, Compression, compressed, from_gzip, from_zstd
from ojs_worker.forms import encode
from ojs_worker.job import Job

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError as missing:
    raise ImportError(
        "encryption needs the package cryptography: pip install 'ojs-reference[encryption]'"
    ) from missing

KEY_BYTES: Final = 32
ENCRYPTED: Final = "binary/encrypted"
ENCODINGS: Final = "ojs.codec.encodings"
KEY_ID: Final = "ojs.codec.key_id"
FINGERPRINT: Final = "ojs.codec.fingerprint"
MARKER: Final = "ojs_encoded"
_VERSION: Final = b"\x01"
_NONCE: Final = 12
_TAG: Final = 16
_args = msgspec.json.Decoder(list[Any])


def new_key() -> str:
    """Return a new key, in base64."""
    return b64encode(token_bytes(KEY_BYTES)).decode()


class Encryption:
    """Encrypts with the current key and decrypts with any of the keys.

    To change keys, give all workers the new one as an additional key, then make it the current one
    everywhere, and remove the old one once no job is left that was encrypted with it.
    `unique_secret` allows jobs to be unique by their arguments; it must stay the same when keys
    change. Long arguments are compressed first if that makes them shorter.
    """

    def __init__(
        self,
        keys: Mapping[str, str | bytes],
        current: str,
        *,
        unique_secret: str | bytes | None = None,
        compress: Compression | None = "zstd",
    ) -> None:
        self._keys = {name: _Key(_secret(key, f"the key {name!r}")) for name, key in keys.items()}
        if current not in self._keys:
            known = ", ".join(self._keys) or "none"
            raise ValueError(f"`current` is {current!r}, which is none of the keys: {known}")
        self._current = current
        self._unique = None
        if unique_secret is not None:
            self._unique = _secret(unique_secret, "`unique_secret`")
        if compress not in (None, "zstd", "gzip"):
            raise ValueError(f"`compress` must be zstd, gzip or None, not {compress!r}")
        self._compress = compress

    def seal(self, request: JobRequest) -> JobRequest:
        """Encrypt the arguments, unless that was done already."""
        if _sealed(request.args, request.meta) is not None:
            return request
        meta, options = dict(request.meta), dict(request.options)
        if unique := options.get("unique"):
            options["unique"] = self._by_fingerprint(dict(unique), request, meta)
        plain, encodings = encode(request.args), [ENCRYPTED]
        if self._compress and (smaller := compressed(plain, self._compress)):
            plain, encodings = smaller[0], [smaller[1], ENCRYPTED]
        key = self._keys[self._current]
        nonce = key.nonce(request.id, plain)
        data = _VERSION + nonce + key.cipher.encrypt(nonce, plain, None)
        # The encoding that was applied last comes first in this name.
        name = "+".join([ENCRYPTED, *(encoding.partition("/")[0] for encoding in encodings[:-1])])
        sealed = {MARKER: True, "encoding": name, "data": b64encode(data).decode()}
        meta |= {ENCODINGS: encodings, KEY_ID: self._current}
        return msgspec.structs.replace(request, args=[sealed], meta=meta, options=options)

    def open(self, job: Job) -> Job:
        """Decrypt the arguments, if they are encrypted."""
        data = _sealed(job.args, job.meta)
        if data is None:
            return job
        undo: dict[str, Callable[[bytes], bytes]] = {
            ENCRYPTED: lambda sealed: self._decrypted(sealed, job.meta.get(KEY_ID)),
            ZSTD: from_zstd,
            GZIP: from_gzip,
            "json/plain": bytes,
        }
        try:
            plain = b64decode(data, validate=True)
            for name in reversed(job.meta.get(ENCODINGS) or [ENCRYPTED]):
                if name not in undo:
                    raise CannotOpen(f"nobody here undoes the encoding {name!r}", retryable=True)
                plain = undo[name](plain)
            args = _args.decode(plain)
        except (ValueError, TypeError) as error:
            raise CannotOpen(f"the arguments are damaged: {error}", retryable=False) from error
        return msgspec.structs.replace(job, args=args)

    def _decrypted(self, sealed: bytes, key_id: object) -> bytes:
        if not isinstance(key_id, str) or key_id not in self._keys:
            raise CannotOpen(f"this worker does not have the key {key_id!r}", retryable=True)
        if sealed[:1] != _VERSION or len(sealed) < 1 + _NONCE + _TAG:
            raise ValueError("they are not sealed in a form that is known here")
        nonce, rest = sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
        try:
            return self._keys[key_id].cipher.decrypt(nonce, rest, None)
        except InvalidTag:
            raise ValueError(
                f"they were changed on their way, or {key_id!r} is another key here"
            ) from None

    def _by_fingerprint(
        self, unique: dict[str, Any], request: JobRequest, meta: dict[str, Any]
    ) -> dict[str, Any]:
        """Return a policy that compares a fingerprint of the arguments, because the server cannot
        read them."""
        keys = list(unique.get("keys") or ["type"])
        named = unique.pop("args_keys", None)
        if "args" not in keys and not named:
            return unique
        if self._unique is None:
            raise ValueError(
                "encrypted jobs cannot be unique by their arguments without a `unique_secret`"
            )
        args: Any = request.args
        if named:
            first: dict[str, Any] = next((arg for arg in args if isinstance(arg, dict)), {})
            if absent := [name for name in named if name not in first]:
                raise ValueError(f"`args_keys` names {absent[0]!r}, which no argument is called")
            args = {name: first[name] for name in named}
        text = msgspec.json.encode(args, order="deterministic")
        meta[FINGERPRINT] = hmac.digest(self._unique, text, "sha256").hex()
        meta_keys = [*(unique.get("meta_keys") or ()), FINGERPRINT]
        others = [name for name in keys if name not in ("args", "meta")]
        return {**unique, "keys": [*others, "meta"], "meta_keys": meta_keys}


class _Key:
    """One key, and the values that are derived from it."""

    def __init__(self, secret: bytes) -> None:
        self.cipher = AESGCM(secret)
        self._for_nonces = hmac.digest(secret, b"ojs nonce", "sha256")

    def nonce(self, job_id: str, plain: bytes) -> bytes:
        """Return a nonce that differs for different jobs, and is the same for a repeated request,
        so that the server recognises the repetition."""
        seed = job_id.encode() + b"\0" + plain
        return hmac.digest(self._for_nonces, seed, "sha256")[:_NONCE]


def _secret(key: str | bytes, what: str) -> bytes:
    try:
        secret = b64decode(key, validate=True) if isinstance(key, str) else key
    except ValueError:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise ValueError(
            f"{what} must be {KEY_BYTES} bytes, or their base64, as `new_key` makes it"
        )
    return secret


def _sealed(args: list[Any], meta: Mapping[str, Any]) -> str | None:
    """Return the encrypted bytes in base64, in either form that is in use; None if the arguments
    are not encrypted."""
    first = args[0] if len(args) == 1 else None
    if isinstance(first, dict) and first.get(MARKER) is True:
        data = first.get("data")
        return data if isinstance(data, str) else ""
    if isinstance(first, str) and meta.get(MARKER) is True:
        return first
    return None
