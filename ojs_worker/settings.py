"""A worker's settings: flags before code before environment before defaults, in one record."""

import contextlib
import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, TypedDict

import msgspec

from ojs_wire.values import QUEUE
from ojs_worker.durations import Duration, milliseconds

UnknownType = Literal["fail", "requeue", "discard"]
ShutdownRelease = Literal["fail", "requeue"]
LateAck = Literal["reject", "accept_unfinished"]
Level = Literal["debug", "info", "warning", "error"]
ProfileName = Literal["ojs", "blackboard", "jobmanager", "zeebe"]


class SettingError(ValueError):
    """A setting that cannot be; the message names it and what is allowed."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set about a worker. All times are seconds."""

    profile: ProfileName = "ojs"
    url: str = "http://127.0.0.1:8080"
    auth_token: str | None = None
    tls_ca_file: str | None = None
    tls_cert_file: str | None = None
    tls_key_file: str | None = None
    queues: tuple[str, ...] = ("default",)
    concurrency: int = 10
    processes: int = 2
    labels: tuple[str, ...] = ()
    grace_s: float = 25.0
    heartbeat_s: float = 5.0
    poll_s: float = 1.0
    long_poll_s: float = 25.0
    wake: Literal["poll", "stream"] = "poll"
    visibility_s: float | None = None
    connect_s: float = 5.0
    operation_s: float = 10.0
    only_known_types: bool = False
    unknown_type: UnknownType = "fail"
    shutdown_release: ShutdownRelease = "fail"
    # Whether the handler of a job that the server took back is stopped, or runs on for a late ACK.
    stop_lost: bool = True
    late_ack: LateAck | None = None
    # Whether heartbeats renew the leases of what is held, or only hear what became of it.
    auto_extend: bool = True
    health_port: int | None = None
    health_host: str = "0.0.0.0"
    log_format: Literal["text", "json"] = "text"
    log_level: Level = "info"


# What holds under each profile where nothing is set; the server has its own part of them.
PROFILES: Final[Mapping[ProfileName, Config]] = {
    "ojs": Config(),
    "blackboard": Config(
        profile="blackboard",
        concurrency=1,
        heartbeat_s=20.0,
        poll_s=10.0,
        long_poll_s=0.0,
        visibility_s=720.0,
        auto_extend=False,
    ),
    "jobmanager": Config(
        profile="jobmanager",
        concurrency=1,
        grace_s=10.0,
        heartbeat_s=30.0,
        poll_s=2.0,
        wake="stream",
    ),
    "zeebe": Config(
        profile="zeebe",
        concurrency=32,
        long_poll_s=30.0,
        visibility_s=60.0,
        late_ack="accept_unfinished",
        stop_lost=False,
        auto_extend=False,
    ),
}


class TlsFiles(TypedDict, total=False):
    """The files of TLS as keyword arguments."""

    tls_ca_file: str
    tls_cert_file: str
    tls_key_file: str


class Given(TlsFiles, total=False):
    """The settings as keyword arguments of a worker."""

    profile: ProfileName
    queues: list[str] | tuple[str, ...] | str
    concurrency: int
    processes: int
    labels: list[str] | tuple[str, ...] | str
    grace: Duration
    heartbeat_interval: Duration
    poll_interval: Duration
    long_poll: Duration
    wake: Literal["poll", "stream"]
    visibility_timeout: Duration | None
    connection_timeout: Duration
    operation_timeout: Duration
    only_known_types: bool
    unknown_type: UnknownType
    shutdown_release: ShutdownRelease
    stop_lost: bool
    late_ack: LateAck
    auto_extend: bool
    health_port: int
    health_host: str


class Setting(msgspec.Struct, frozen=True):
    """One setting's names outside, and what it is for."""

    name: str
    field: str
    kind: Literal["text", "names", "number", "seconds", "truth"]
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
    _row("url", "url", "text", "OJS_URL OJS_BACKEND_URL", "where the server is"),
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
    _row("queues", "queues", "names", "OJS_QUEUES OJS_QUEUE", "queues to serve, first one first"),
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
        "what becomes of a job without a handler",
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
        "late_ack",
        "late_ack",
        "text",
        "OJS_LATE_ACK",
        "an ACK after the lease was lost: as the server has it, or as this says",
        choices=("reject", "accept_unfinished"),
    ),
    _row("health_port", "health_port", "number", "OJS_HEALTH_PORT", "port for probes", most=65535),
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
    # The token is no flag, which every user of the machine could read; the others suit code only.
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
NO_FLAG: Final = frozenset({"auth_token", "stop_lost", "auto_extend"})
_TRUTH: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def load(
    flags: Mapping[str, Any], code: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> Config:
    """Merge all sources; `flags` and `code` hold what was given, by name."""
    known = {setting.name for setting in TABLE}
    for name in code:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            raise SettingError(f"{name!r} is not a setting of a worker{hint}")
    values: dict[str, Any] = {}
    for setting in TABLE:
        given, where = _given(setting, flags, code, environ)
        if given is not None:
            values[setting.field] = _value(setting, given, where)
    return msgspec.structs.replace(PROFILES[values.get("profile", "ojs")], **values)


def _given(
    setting: Setting, flags: Mapping[str, Any], code: Mapping[str, Any], env: Mapping[str, str]
) -> tuple[Any, str]:
    if flags.get(setting.name) is not None:
        return flags[setting.name], setting.flag
    if code.get(setting.name) is not None:
        return code[setting.name], f"`{setting.name}`"
    for name in setting.env:
        if env.get(name):
            return env[name], name
    return None, ""


def _value(setting: Setting, given: Any, where: str) -> Any:
    match setting.kind:
        case "names":
            return _names(setting, given, where)
        case "number":
            return _number(setting, given, where)
        case "seconds":
            return _seconds(setting, given, where)
        case "truth":
            truth = given if isinstance(given, bool) else _TRUTH.get(str(given).lower())
            if truth is None:
                raise SettingError(f"{where}: must be true or false, not {given!r}")
            return truth
        case "text":
            if not isinstance(given, str):
                raise SettingError(f"{where}: must be a text, not {given!r}")
            if setting.choices and given not in setting.choices:
                raise SettingError(f"{where}: must be one of {', '.join(setting.choices)}")
            return given


def _names(setting: Setting, given: Any, where: str) -> tuple[str, ...]:
    listed = given.split(",") if isinstance(given, str) else given
    names = tuple(str(name).strip() for name in listed if str(name).strip())
    if setting.name == "queues":
        if not names:
            raise SettingError(f"{where}: must name at least one queue")
        for name in names:
            if not QUEUE.fullmatch(name):
                raise SettingError(f"{where}: {name!r} is not a queue's name, such as email-high")
    return names


def _number(setting: Setting, given: Any, where: str) -> int:
    try:
        number = int(given) if not isinstance(given, bool | float) else None
    except (TypeError, ValueError):
        number = None
    if number is None or not setting.least <= number <= setting.most:
        raise SettingError(
            f"{where}: must be a whole number between {setting.least:g} and {setting.most:g}"
        )
    return number


def _seconds(setting: Setting, given: Any, where: str) -> float:
    if isinstance(given, str):
        with contextlib.suppress(ValueError):
            given = float(given)
    try:
        seconds = milliseconds(given, setting.name) / 1000
    except ValueError as error:
        raise SettingError(f"{where}: {error}") from None
    if not setting.least <= seconds <= setting.most:
        raise SettingError(f"{where}: must be a duration of at least {setting.least:g} s")
    return seconds
