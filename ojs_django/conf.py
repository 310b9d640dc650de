"""The setting `OJS`: a dictionary with settings of this app, of clients and of workers.

    OJS = {
        "URL": "http://127.0.0.1:8080",
        "KEY": os.environ["OJS_KEY"],
        "QUEUES": ["mail", "default"],
        "AFTER_COMMIT": "transactional",
    }

What is not given comes from the environment, as for any worker: OJS_URL, OJS_AUTH_TOKEN, ...
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

import msgspec
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from ojs_django.ways import WAYS
from ojs_worker.codec import Codec
from ojs_worker.config import SettingError
from ojs_worker.settings import NO_CODE, TABLE, check
from ojs_worker.transactional import SCHEMA

NAME: Final = "OJS"
WORKER_SETTINGS: Final = {
    setting.name.upper(): setting.name
    for setting in TABLE
    if setting.name not in NO_CODE and setting.name != "auth_token"
}


class Own(msgspec.Struct, frozen=True, rename="upper", forbid_unknown_fields=True):
    """The settings of this app; those of workers are beside them."""

    # The key of the server.
    key: str | None = None
    # The way of `enqueue_after_commit`.
    after_commit: str = "on_commit"
    # The alias of the database whose transactions are meant.
    database: str = "default"
    # The schema of the server in that database, for the way `transactional`.
    schema: str = SCHEMA
    # The URL of the dashboard, for links of the admin; by default that of the server.
    dashboard: str | None = None
    # The dotted path of a codec for arguments.
    codec: str | None = None


OWN_SETTINGS: Final = tuple(field.encode_name for field in msgspec.structs.fields(Own))


@cache
def own() -> Own:
    """Return the settings of this app, checked once; raises `ImproperlyConfigured`."""
    _require_sound()
    return msgspec.convert(
        {name: value for name, value in _given().items() if name in OWN_SETTINGS}, Own
    )


def codec_of(settings: Own) -> Codec | None:
    """Return the codec that the settings name."""
    codec: Codec | None = None if settings.codec is None else import_string(settings.codec)
    return codec


def for_worker() -> dict[str, Any]:
    """Return the settings of a worker, by its own names; raises `ImproperlyConfigured`."""
    _require_sound()
    return {
        WORKER_SETTINGS[name]: value for name, value in _given().items() if name in WORKER_SETTINGS
    }


def mistakes() -> Iterator[str]:
    """Return a sentence for each mistake in the setting."""
    given = getattr(settings, NAME, {})
    if not isinstance(given, Mapping):
        yield f"{NAME} must be a dictionary, not {given!r}"
        return
    for name, value in given.items():
        if name in OWN_SETTINGS:
            yield from _own_mistakes(name, value)
        elif name in WORKER_SETTINGS:
            yield from _worker_mistakes(name, value)
        else:
            close = get_close_matches(str(name).upper(), [*OWN_SETTINGS, *WORKER_SETTINGS], n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            yield f"{NAME}[{name!r}] is not a setting{hint}"


def _own_mistakes(name: str, value: Any) -> Iterator[str]:
    try:
        made = msgspec.convert({name: value}, Own)
    except msgspec.ValidationError:
        # The value of a key is never shown.
        yield f'{NAME}["{name}"]: must be a text'
        return
    if made.after_commit not in WAYS:
        yield f'{NAME}["{name}"]: must be {" or ".join(map(repr, WAYS))}'
    if name == "CODEC":
        try:
            codec_of(made)
        except ImportError as error:
            yield f'{NAME}["{name}"]: {error}'


def _worker_mistakes(name: str, value: Any) -> Iterator[str]:
    known = WORKER_SETTINGS[name]
    try:
        check({known: ",".join(value) if name == "URL" and isinstance(value, list) else value})
    except (SettingError, TypeError) as error:
        yield f'{NAME}["{name}"]: {str(error).removeprefix(f"`{known}`: ")}'


def _require_sound() -> None:
    if found := "; ".join(mistakes()):
        raise ImproperlyConfigured(found)


def _given() -> Mapping[str, Any]:
    given: Mapping[str, Any] = getattr(settings, NAME, {})
    return given
