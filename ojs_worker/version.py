"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version


def installed() -> str:
    """The version; 0 in a checkout that was never installed."""
    try:
        return version("ojs-reference")
    except PackageNotFoundError:
        return "0"
