"""Names of hosts."""

from ipaddress import ip_address


def is_loopback(name: str) -> bool:
    """Return True for an address of the loopback, or a name that RFC 6761 reserves for it."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
