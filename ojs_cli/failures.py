"""The failures of a command, in one place: a message, a hint and an exit code."""

from collections.abc import Mapping
from typing import Any, Final

OK: Final = 0
REFUSED: Final = 1
MISUSED: Final = 2
NOT_SO: Final = 3
NO_ACCESS: Final = 4
NOT_FOUND: Final = 5
CONFLICT: Final = 6
PART_DONE: Final = 7
UNREACHABLE: Final = 8
INTERRUPTED: Final = 130
CLOSED_PIPE: Final = 141
# From the least rights to the most.
_ROLES: Final = ("viewer", "producer", "worker", "operator", "admin")


class Failure(Exception):
    """A command that cannot do what it was asked."""

    def __init__(self, message: str, hint: str = "", *, exit_code: int = REFUSED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


def _missing_role(details: Mapping[str, Any]) -> str:
    """Return the hint that names the least role that may make a call."""
    required = details.get("required_roles")
    least = next((role for role in _ROLES if isinstance(required, list) and role in required), None)
    if least is None:
        return "use a key with a role that may: operator reads and repairs, admin does everything"
    return f"use a key that has the role {least}"


def explain(error: Exception) -> Failure | None:
    """Return an error of the SDK or of a setting as a failure with a message; None for unexpected
    errors."""
    if isinstance(error, Failure):
        return error
    # Loaded already if one of these was raised.
    from ojs_worker.config import SettingError
    from ojs_worker.errors import (
        Conflict,
        NotFound,
        OjsError,
        PermissionDenied,
        Refused,
        Unauthenticated,
        Unreachable,
    )

    text = str(error)
    if isinstance(error, SettingError):
        return Failure(text, "see `ojs --help` for where settings come from", exit_code=MISUSED)
    if isinstance(error, Unreachable):
        hint = "start one with `ojs server`, or name another by --url, OJS_URL or --server"
        return Failure(text, hint, exit_code=UNREACHABLE)
    if isinstance(error, Unauthenticated):
        hint = "set OJS_AUTH_TOKEN, or auth_token_file of the server in the file of servers"
        return Failure(text, hint, exit_code=NO_ACCESS)
    if isinstance(error, PermissionDenied):
        return Failure(text, _missing_role(error.details), exit_code=NO_ACCESS)
    if isinstance(error, NotFound):
        return Failure(text, exit_code=NOT_FOUND)
    if isinstance(error, Conflict):
        return Failure(text, exit_code=CONFLICT)
    if isinstance(error, Refused) and error.status >= 500:
        return Failure(text, "try again later", exit_code=UNREACHABLE)
    return Failure(text) if isinstance(error, OjsError) else None
