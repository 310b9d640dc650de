"""The file of named servers, which clients, workers and the command line share.

server = "staging"                 # the default

[servers.staging]
url = "https://ojs.staging.example.org"
auth_token_file = "staging.key"    # beside this file
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import msgspec

from ojs_worker.config import SettingError

FILE: Final = "OJS_SERVERS"
# A longer file is not a file of servers.
MAX_BYTES: Final = 1_000_000


class NamedServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server: its URL, its key, and settings of the command line for it."""

    url: str
    auth_token: str | None = None
    auth_token_file: str | None = None
    tls_ca_file: str | None = None
    tls_cert_file: str | None = None
    tls_key_file: str | None = None
    read_only: bool = False
    # Number of jobs above which the command line asks for confirmation.
    confirm_over: int | None = None
    colour: str | None = None


class ServerFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file; `path` is None if it does not exist."""

    server: str | None = None
    servers: dict[str, NamedServer] = {}
    path: Path | None = None


_MEMBERS: Final = frozenset({"server", "servers"})


def path_of(environ: Mapping[str, str]) -> Path | None:
    """Return the path of the file of named servers; None if the user has no home."""
    if path := environ.get(FILE):
        return Path(path)
    if folder := environ.get("XDG_CONFIG_HOME"):
        return Path(folder, "ojs", "servers.toml")
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home, ".config", "ojs", "servers.toml") if home else None


def read(environ: Mapping[str, str]) -> ServerFile:
    """Read the file; raises `SettingError` if it cannot be read."""
    path = path_of(environ)
    if path is None:
        return ServerFile()
    try:
        with path.open("rb") as opened:
            text = opened.read(MAX_BYTES + 1)
            readable = os.name == "posix" and os.fstat(opened.fileno()).st_mode & 0o077
    except FileNotFoundError:
        if environ.get(FILE):
            raise SettingError(f"{FILE}: there is no file {path}") from None
        return ServerFile()
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror}") from None
    file = _parsed(path, text)
    if readable and any(server.auth_token for server in file.servers.values()):
        raise SettingError(f"{path}: holds keys and others may read it; chmod 600 {path}")
    return file


def named(name: str, environ: Mapping[str, str], where: str) -> Mapping[str, Any]:
    """Return the settings of a named server; `where` is the place that an error names."""
    file = read(environ)
    if name not in file.servers:
        close = get_close_matches(name, file.servers, n=1)
        hint = f'; did you mean "{close[0]}"?' if close else ""
        place = file.path or path_of(environ) or "a file, for there is no home folder"
        raise SettingError(f'{where}: there is no server "{name}" in {place}{hint}')
    return _settings(file, name)


def usual(environ: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the settings of the default server in the file; empty if it names none."""
    file = read(environ)
    if file.server is None:
        return {}
    return named(file.server, environ, f"{file.path}: server")


def _parsed(path: Path, text: bytes) -> ServerFile:
    import tomllib  # imported late, as most programs have no such file

    try:
        if len(text) > MAX_BYTES:
            raise ValueError("is too long")
        content = tomllib.loads(text.decode())
        if strange := sorted(content.keys() - _MEMBERS):
            raise ValueError(
                f"{strange[0]!r} does not belong in a file of servers, which has `server` and "
                "[servers.NAME]; settings of ojs-server are in the file that OJS_CONFIG names"
            )
        file = msgspec.convert(content, ServerFile)
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path}: {error}") from None
    return msgspec.structs.replace(file, path=path)


def _settings(file: ServerFile, name: str) -> Mapping[str, Any]:
    server = file.servers[name]
    members = ("url", "auth_token", "tls_ca_file", "tls_cert_file", "tls_key_file")
    values = {"server": name, **{member: getattr(server, member) for member in members}}
    if server.auth_token_file is not None:
        assert file.path is not None
        values["auth_token"] = _key(file.path.parent / server.auth_token_file)
    return values


def _key(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            key = opened.read(10_000).decode().strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingError(f"auth_token_file: {file}: {reason}") from None
    if not key:
        raise SettingError(f"auth_token_file: {file}: is empty")
    return key
