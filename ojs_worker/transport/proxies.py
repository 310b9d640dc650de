"""The proxy to a server, by the environment or the settings of the system."""

import os
import sys
from urllib.parse import SplitResult, urlsplit


def proxy_for(parts: SplitResult) -> SplitResult | None:
    """Return the proxy for a URL; None if it is reached without one."""
    if sys.platform not in ("darwin", "win32") and not any(
        name.lower().endswith("_proxy") for name in os.environ
    ):
        return None
    from urllib.request import getproxies, proxy_bypass  # slow to load, rarely needed

    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if named is None or proxy_bypass(parts.hostname or ""):
        return None
    return urlsplit(named if "://" in named else f"http://{named}")
