"""Reads the details of a page as its script does."""

import base64
import re
import zlib
from typing import Any

import msgspec


def unpacked(page: str) -> Any:
    """Return what the page unpacks when a case is opened."""
    (packed,) = re.findall(r'id="details">([^<]*)</script>', page)
    return msgspec.json.decode(zlib.decompress(base64.b64decode(packed)))
