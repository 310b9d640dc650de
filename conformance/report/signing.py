"""Signatures of JSON reports: ed25519 over the report in one canonical form.

The form is JSON with the members of objects sorted, without spaces, in UTF-8. Needs the extra
`signing`, and is loaded only where a report is signed or its signature verified.
"""

import base64
import binascii
import json
import math
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if find_spec("cryptography") is None:
    raise ImportError("cryptography is not installed: pip install 'ojs-reference[signing]'")

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

ALGORITHM = "ed25519"
MEMBER = "signature"


class BadKey(Exception):
    """A file that is no key, or another one than is needed."""


class NotSigned(Exception):
    """A report whose signature does not hold, with the reason."""


def private_key(path: Path) -> Ed25519PrivateKey:
    """Read the key that signs, as `openssl genpkey -algorithm ed25519` writes it."""
    try:
        key = load_pem_private_key(_content(path), password=None)
    except TypeError as error:
        raise BadKey(f"{path} is encrypted; a key without a password is needed") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKey(f"{path} has no private key in PEM") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey(f"{path} has a key of another kind than {ALGORITHM}")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """Read the key that verifies, as `openssl pkey -pubout` writes it."""
    content = _content(path)
    if b"PRIVATE KEY" in content:
        raise BadKey(f"{path} has a private key; the public one is needed")
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKey(f"{path} has no public key in PEM") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadKey(f"{path} has a key of another kind than {ALGORITHM}")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of the raw public key."""
    return sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()


def signed(report: bytes, key: Ed25519PrivateKey) -> bytes:
    """Return a JSON report with its signature as a further member."""
    document = _document(report)
    document[MEMBER] = {
        "algorithm": ALGORITHM,
        "key": fingerprint(key.public_key()),
        "value": base64.b64encode(key.sign(_canonical(document))).decode(),
    }
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def verify(report: bytes, key: Ed25519PublicKey) -> None:
    """Return if the report is as the holder of the key signed it; raise if not."""
    document = _document(report)
    signature = document.get(MEMBER)
    if signature is None:
        raise NotSigned("it has no signature")
    if not isinstance(signature, dict) or signature.get("algorithm") != ALGORITHM:
        raise NotSigned(f"its signature is none of {ALGORITHM}")
    try:
        value = base64.b64decode(str(signature.get("value")), validate=True)
    except binascii.Error as error:
        raise NotSigned("its signature is not in base64") from error
    if signature.get("key") != fingerprint(key):
        raise NotSigned(f"another key signed it: {signature.get('key')}")
    try:
        key.verify(value, _canonical(document))
    except InvalidSignature as error:
        raise NotSigned("it was changed after it was signed") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadKey(f"cannot read {path}: {error.strerror}") from error


def _document(report: bytes) -> dict[str, Any]:
    try:
        document = json.loads(
            report.decode(),
            object_pairs_hook=_members,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except RecursionError as error:
        raise NotSigned("it is nested too deeply") from error
    except ValueError as error:
        raise NotSigned(f"it is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise NotSigned("it is no object of JSON")
    return document


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; one with a member twice would mean another thing to another reader."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a member twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number")
    return number


def _canonical(document: dict[str, Any]) -> bytes:
    """Return the form that is signed: the report without its signature."""
    covered = {name: value for name, value in document.items() if name != MEMBER}
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="surrogatepass")
