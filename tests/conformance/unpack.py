"""Reads the details of a page as its script does."""

import base64
import re
import zlib
from typing import Any

import msgspec


def unpacked(page: str) -> Any:
    """Unpack the details in a page as its script does."""
    (packed,) = re.findall(r'id="details">([^<]*)</script>', page)
    return msgspec.json.decode(zlib.decompress(base64.b64decode(packed)))
