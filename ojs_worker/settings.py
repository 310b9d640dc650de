"""Settings: flags override code, then the environment, the file of servers, and defaults."""

import contextlib
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Literal

import msgspec

from ojs_wire.values import QUEUE
from ojs_worker import servers
from ojs_worker.config import PROFILES, Config, SettingError
from ojs_worker.durations import milliseconds


class Setting(msgspec.Struct, frozen=True):
    """A setting: its names as flag and environment variable, and its help."""

    name: str
    field: str
    kind: Literal["text", "names", "number", "seconds", "bytes", "truth"]
    env: tuple[str, ...]
    help: str
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 1_000_000

    @property
    def flag(self) -> str:
        """The command line's spelling."""
        return "--" + self.name.replace("_", "-")


def _row(name: str, field: str, kind: Any, env: str, help: str, **more: Any) -> Setting:
    return Setting(name, field, kind, tuple(env.split()), help, **more)


_LEVELS: Final = ("debug", "info", "warning", "error")
TABLE: Final[tuple[Setting, ...]] = (
    _row(
        "profile",
        "profile",
        "text",
        "OJS_PROFILE",
        "whose defaults hold; every other setting wins over it",
        choices=tuple(PROFILES),
    ),
    _row(
        "url",
        "url",
        "text",
        "OJS_URL OJS_BACKEND_URL",
        "where the server is; several, with commas, are tried in turn",
    ),
    _row(
        "server",
        "server",
        "text",
        "OJS_SERVER",
        "its name in the file of servers, instead of the URL",
    ),
    _row(
        "tls_ca_file",
        "tls_ca_file",
        "text",
        "OJS_TLS_CA_FILE",
        "PEM file of the authorities that the server's certificate may be of, instead of the public"
        " ones",
    ),
    _row(
        "tls_cert_file",
        "tls_cert_file",
        "text",
        "OJS_TLS_CERT_FILE",
        "PEM file of the certificate that the worker shows",
    ),
    _row(
        "tls_key_file",
        "tls_key_file",
        "text",
        "OJS_TLS_KEY_FILE",
        "PEM file of that certificate's key, unless it is in the same file",
    ),
    _row(
        "queues",
        "queues",
        "names",
        "OJS_QUEUES OJS_QUEUE",
        "queues to serve, first one first; those of the handlers come after",
    ),
    _row(
        "only_queues",
        "only_queues",
        "truth",
        "OJS_ONLY_QUEUES",
        "serve the named queues alone, and not those of the handlers",
    ),
    _row(
        "concurrency",
        "concurrency",
        "number",
        "OJS_CONCURRENCY",
        "jobs at once",
        least=1,
        most=1000,
    ),
    _row(
        "processes",
        "processes",
        "number",
        "OJS_PROCESSES",
        "processes for handlers that compute",
        least=1,
        most=1000,
    ),
    _row("labels", "labels", "names", "OJS_LABELS", "what this worker is known by, as region:eu"),
    _row(
        "grace",
        "grace_s",
        "seconds",
        "OJS_GRACE_PERIOD OJS_SHUTDOWN_GRACE_PERIOD OJS_SHUTDOWN_TIMEOUT",
        "how long running jobs may go on after SIGTERM",
    ),
    _row(
        "heartbeat_interval",
        "heartbeat_s",
        "seconds",
        "OJS_HEARTBEAT_INTERVAL",
        "time between heartbeats; less where the server asks for it",
        least=0.05,
    ),
    _row(
        "poll_interval",
        "poll_s",
        "seconds",
        "OJS_POLL_INTERVAL",
        "pause of an idle worker whose server does not hold its FETCH",
        least=0.01,
    ),
    _row("long_poll", "long_poll_s", "seconds", "OJS_LONG_POLL", "how long a FETCH may be held"),
    _row(
        "wake",
        "wake",
        "text",
        "OJS_WAKE",
        "how an idle worker hears of jobs: a FETCH that the server holds, or its event stream",
        choices=("poll", "stream"),
    ),
    _row(
        "visibility_timeout",
        "visibility_s",
        "seconds",
        "OJS_VISIBILITY_TIMEOUT",
        "lease of each job; without it, what the job or the server says",
        least=0.001,
    ),
    _row(
        "connection_timeout",
        "connect_s",
        "seconds",
        "OJS_CONNECTION_TIMEOUT",
        "how long connecting may take",
        least=0.01,
    ),
    _row(
        "operation_timeout",
        "operation_s",
        "seconds",
        "OJS_OPERATION_TIMEOUT",
        "how long an answer may take",
        least=0.01,
    ),
    _row(
        "only_known_types",
        "only_known_types",
        "truth",
        "OJS_ONLY_KNOWN_TYPES",
        "leave jobs without a handler here to other workers",
    ),
    _row(
        "unknown_type",
        "unknown_type",
        "text",
        "OJS_UNKNOWN_TYPE",
        "what becomes of a job without a handler that comes all the same",
        choices=("fail", "requeue", "discard"),
    ),
    _row(
        "shutdown_release",
        "shutdown_release",
        "text",
        "OJS_SHUTDOWN_RELEASE",
        "what becomes of jobs that outlast the grace period: fail spends an attempt",
        choices=("fail", "requeue"),
    ),
    _row(
        "cron_owner",
        "cron_owner",
        "text",
        "OJS_CRON_OWNER",
        "name under which the cron entries of this program are registered",
    ),
    _row(
        "prune_cron",
        "prune_cron",
        "truth",
        "OJS_PRUNE_CRON",
        "delete cron entries of that owner that the program has no more",
    ),
    _row(
        "late_ack",
        "late_ack",
        "text",
        "OJS_LATE_ACK",
        "an ACK after the lease was lost: as the server has it, or as this says",
        choices=("reject", "accept_unfinished"),
    ),
    _row(
        "health_port",
        "health_port",
        "number",
        "OJS_HEALTH_PORT",
        "port for probes and metrics",
        most=65535,
    ),
    _row("health_host", "health_host", "text", "OJS_HEALTH_HOST", "address for probes"),
    _row(
        "log_format",
        "log_format",
        "text",
        "OJS_LOG_FORMAT",
        "log lines for people or for machines",
        choices=("text", "json"),
    ),
    _row("log_level", "log_level", "text", "OJS_LOG_LEVEL", "least level logged", choices=_LEVELS),
    _row(
        "workers",
        "workers",
        "number",
        "OJS_WORKERS",
        "worker processes, each with its own concurrency",
        least=1,
        most=1000,
    ),
    _row(
        "max_jobs",
        "max_jobs",
        "number",
        "OJS_MAX_JOBS",
        "jobs after which a worker process is replaced",
        least=1,
        most=1_000_000_000,
    ),
    _row(
        "max_memory",
        "max_memory",
        "bytes",
        "OJS_MAX_MEMORY",
        "memory, as 500M, above which a worker process is replaced",
        least=1024**2,
        most=1024**5,
    ),
    # For clients; a worker repeats its own calls without a limit.
    _row(
        "deadline",
        "deadline_s",
        "seconds",
        "OJS_DEADLINE",
        "how long a client repeats a call while no server answers, or is busy; 0 sends it once",
    ),
    # No flags: all users of the machine could read the token, and the others suit code only.
    _row("auth_token", "auth_token", "text", "OJS_AUTH_TOKEN", "key of the server"),
    _row("stop_lost", "stop_lost", "truth", "OJS_STOP_LOST", "stop the handler of a lost job"),
    _row(
        "auto_extend",
        "auto_extend",
        "truth",
        "OJS_AUTO_EXTEND",
        "renew leases with each heartbeat; without, the lease is all the time there is",
    ),
)
NO_FLAG: Final = frozenset({"deadline", "auth_token", "stop_lost", "auto_extend"})
# Not settable in code, because the command needs them before it imports the program.
NO_CODE: Final = frozenset({"workers", "max_jobs", "max_memory"})
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_TRUTH: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


# Settings of clients; all others are about workers.
CONNECTION: Final = frozenset(
    {"url", "server", "auth_token", "tls_ca_file", "tls_cert_file", "tls_key_file"}
)
Source = tuple[Mapping[str, Any], Callable[[Setting], str]]


def load(
    flags: Mapping[str, Any],
    code: Mapping[str, Any],
    environ: Mapping[str, str] = os.environ,
    *,
    only: Collection[str] | None = None,
) -> Config:
    """Merge all sources; `flags` and `code` hold what was given, by name. With `only` the settings
    of other names keep their defaults, whatever the environment says of them."""
    check(code)
    return _merged(_sources(flags, code, environ), only)


def deadline_of(code: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> float:
    """Return the deadline of a client's calls in seconds; the file of servers has none."""
    return _merged(_usual_sources({}, code, environ), {"deadline"}).deadline_s


def check(code: Mapping[str, Any]) -> None:
    """Raise `SettingError` for settings in code that are never valid, whatever the environment
    says."""
    known = {setting.name for setting in TABLE} - NO_CODE
    for name in code:
        if name in NO_CODE:
            raise SettingError(f"`{name}`: is an option of ojs-worker: {_BY_NAME[name].flag}")
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            raise SettingError(f"{name!r} is not a setting of a worker{hint}")
    _merged([(code, _in_code)], None)


def _merged(sources: Sequence[Source], only: Collection[str] | None) -> Config:
    values: dict[str, Any] = {}
    for setting in TABLE:
        if only is not None and setting.name not in only:
            continue
        for source, called in sources:
            if (value := source.get(setting.name)) is not None:
                values[setting.field] = _value(setting, value, called(setting))
                break
    return msgspec.structs.replace(PROFILES[values.get("profile", "ojs")], **values)


def _usual_sources(
    flags: Mapping[str, Any], code: Mapping[str, Any], environ: Mapping[str, str]
) -> list[Source]:
    """Return all sources but the file of servers, those with precedence first."""
    variable_of = {
        setting.name: name
        for setting in TABLE
        for name in reversed(setting.env)
        if environ.get(name)
    }
    variables = {name: environ[variable] for name, variable in variable_of.items()}
    return [
        (flags, lambda setting: setting.flag),
        (code, _in_code),
        (variables, lambda setting: variable_of[setting.name]),
    ]


def _sources(
    flags: Mapping[str, Any], code: Mapping[str, Any], environ: Mapping[str, str]
) -> list[Source]:
    """Return all sources, those with precedence first.

    A server of the file has the precedence of the source that names it, so that its key is never
    sent to a URL from another source.
    """
    value = _usual_sources(flags, code, environ)
    for place, (source, called) in enumerate(value):
        name, url = source.get("server"), source.get("url")
        if name is not None and url is not None:
            raise SettingError(f"{called(_BY_NAME['server'])}: goes without a URL beside it")
        if name is not None:
            settings = servers.named(str(name), environ, called(_BY_NAME["server"]))
            value.insert(place + 1, (settings, _in_file))
        if name is not None or url is not None:
            return value
    return [*value, (servers.usual(environ), _in_file)]


def variables_of(config: Config) -> dict[str, str]:
    """Return the environment variables by which another process of the program finds the same
    server."""
    values = {name: getattr(config, _BY_NAME[name].field) for name in CONNECTION}
    # The resolved URL replaces the name; an empty variable counts as unset.
    values["server"] = None
    return {_BY_NAME[name].env[0]: value or "" for name, value in values.items()}


_BY_NAME: Final = {setting.name: setting for setting in TABLE}


def _in_code(setting: Setting) -> str:
    return f"`{setting.name}`"


def _in_file(setting: Setting) -> str:
    return f"{setting.name} in the file of servers"


def _value(setting: Setting, value: Any, where: str) -> Any:
    match setting.kind:
        case "names":
            return _names(setting, value, where)
        case "number":
            return _number(setting, value, where)
        case "seconds":
            return _seconds(setting, value, where)
        case "bytes":
            return _bytes(setting, value, where)
        case "truth":
            truth = value if isinstance(value, bool) else _TRUTH.get(str(value).lower())
            if truth is None:
                raise SettingError(f"{where}: must be true or false, not {value!r}")
            return truth
        case "text":
            if not isinstance(value, str):
                raise SettingError(f"{where}: must be a text, not {value!r}")
            if setting.choices and value not in setting.choices:
                raise SettingError(f"{where}: must be one of {', '.join(setting.choices)}")
            return value


def _names(setting: Setting, value: Any, where: str) -> tuple[str, ...]:
    listed = value.split(",") if isinstance(value, str) else value
    names = tuple(str(name).strip() for name in listed if str(name).strip())
    if setting.name == "queues":
        if not names:
            raise SettingError(f"{where}: must name at least one queue")
        for name in names:
            if not QUEUE.fullmatch(name):
                raise SettingError(f"{where}: {name!r} is not a queue's name, such as email-high")
    return names


def _number(setting: Setting, value: Any, where: str) -> int:
    try:
        number = int(value) if not isinstance(value, bool | float) else None
    except (TypeError, ValueError):
        number = None
    if number is None or not setting.least <= number <= setting.most:
        raise SettingError(
            f"{where}: must be a whole number between {setting.least:g} and {setting.most:g}"
        )
    return number


def _bytes(setting: Setting, value: Any, where: str) -> int:
    match = _SIZE.fullmatch(str(value).strip())
    size = int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ")) if match else 0
    if not setting.least <= size <= setting.most:
        raise SettingError(f"{where}: must be a size of at least 1M, such as 500M or 1.5G")
    return size


def _seconds(setting: Setting, value: Any, where: str) -> float:
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value)
    try:
        seconds = milliseconds(value, setting.name) / 1000
    except ValueError as error:
        raise SettingError(f"{where}: {error}") from None
    if not setting.least <= seconds <= setting.most:
        raise SettingError(f"{where}: must be a duration of at least {setting.least:g} s")
    return seconds
