"""TLS to the server: trusted certificate authorities, and the worker's own certificate."""

import ssl
from collections.abc import Sequence
from typing import Final

import msgspec

from ojs_worker.config import Config, SettingError, TlsFiles
from ojs_worker.settings import CONNECTION, load
from ojs_worker.transport import joined
from ojs_worker.transport.access import Auth

_FILES: Final = tuple(TlsFiles.__annotations__)


def tls_of(config: Config) -> ssl.SSLContext | None:
    """Return the TLS context of the files that the configuration names; None if it names none.
    Raises `SettingError`."""
    files = {name: file for name in _FILES if (file := getattr(config, name)) is not None}
    if not files:
        return None
    if not all(url.strip().startswith("https://") for url in config.url.split(",")):
        # Certificates show that the user wants encryption.
        raise SettingError(
            f"{next(iter(files))}: the server's URL does not begin with https://, so nothing would "
            "be encrypted"
        )
    for name, file in files.items():
        _read(name, file)
    try:
        context = ssl.create_default_context(cafile=config.tls_ca_file)
    except ssl.SSLError as error:
        raise SettingError(
            f"tls_ca_file: {config.tls_ca_file}: holds no certificates in PEM form ({error.reason})"
        ) from None
    if config.tls_cert_file is not None:
        _show(context, config.tls_cert_file, config.tls_key_file)
    elif config.tls_key_file is not None:
        raise SettingError("tls_key_file: is of no use without its certificate, tls_cert_file")
    return context


class Connection(msgspec.Struct, frozen=True):
    """The URL of a server, or of several with commas between them, the key for it, and the TLS
    context of its connections."""

    url: str
    auth: Auth | None
    tls: ssl.SSLContext | None


def connection(
    url: str | Sequence[str] | None,
    auth: Auth | None = None,
    tls: ssl.SSLContext | None = None,
    *,
    server: str | None = None,
    files: TlsFiles | None = None,
) -> Connection:
    """Return the connection that a client uses: the values from its program, else from the
    environment or the file of servers. Raises `SettingError`."""
    if unknown := sorted((files or {}).keys() - {*TlsFiles.__annotations__}):
        raise TypeError(f"{unknown[0]!r} is none of {', '.join(_FILES)}")
    config = load({}, {"url": joined(url), "server": server, **(files or {})}, only=CONNECTION)
    return Connection(config.url, auth or config.auth_token, tls_of(config) if tls is None else tls)


def _read(name: str, file: str) -> None:
    """Check that a file can be read, because errors of `ssl` do not name it."""
    try:
        with open(file, "rb") as opened:
            opened.read(1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingError(f"{name}: {file}: {reason}") from None


def _show(context: ssl.SSLContext, cert: str, key: str | None) -> None:
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except ssl.SSLError as error:
        names = "tls_cert_file" if key is None else "tls_cert_file, tls_key_file"
        files = cert if key is None else f"{cert}, {key}"
        raise SettingError(
            f"{names}: {files}: not a certificate and its key in PEM form ({error.reason})"
        ) from None


def _no_password() -> str:
    # Otherwise OpenSSL would ask on the terminal.
    raise SettingError("tls_key_file: the key has a password; give one that has none")
