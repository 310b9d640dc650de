"""Settings in one frozen record: flags override the environment, a TOML file, and defaults."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from ojs_server.domain.access.client_address import Network, parse_network
from ojs_server.domain.limits.rate_limit import RETRY_PRIORITIES
from ojs_server.domain.profile import (
    LATE_ACKS,
    OJS,
    PROFILES,
    Given,
    Profile,
    adjusted,
    out_of_order,
)
from ojs_server.domain.retention import Retention
from ojs_server.domain.schemas.schema import MODES
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.webhooks.target import Reach
from ojs_server.http.access.keys import Keys, parse_keys
from ojs_server.http.access.origins import Origins, origins_of, parse_host, parse_origin
from ojs_server.ops.rules import Rules
from ojs_wire.values import format_duration, parse_duration

DEFAULT_DATABASE: Final = "ojs.db"


class SettingError(ValueError):
    """A setting has an invalid value; the message names it and the allowed values."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set about a server."""

    host: str = "127.0.0.1"
    port: int = 8080
    grpc_port: int | None = None
    database: str = DEFAULT_DATABASE
    listen_url: str | None = None
    start_timeout_ms: int = 60_000
    store_timeout_ms: int = 5_000
    migrate: bool = True
    conformance: bool = False
    insecure: bool = False
    allow_host: tuple[str, ...] = ()
    cors_origin: tuple[str, ...] = ()
    trusted_proxy: tuple[Network, ...] = ()
    strict: bool = False
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_jobs: bool = False
    traces: bool = False
    max_body_bytes: int = 16 * 1024 * 1024
    max_bodies_bytes: int = 256 * 1024 * 1024
    max_result_bytes: int = 1024 * 1024
    max_connections: int | None = None
    grpc_share: int = 50
    max_waiting: int = 10_000
    max_streams: int = 1000
    stream_buffer: int = 1000
    webhook_private: bool = False
    webhook_plain: bool = False
    webhook_ca: str | None = None
    webhook_timeout_ms: int = 30_000
    webhook_concurrency: int = 32
    default_execution_timeout_ms: int | None = None
    login_ms: int = 12 * 3_600_000
    ui_read_only: bool = False
    # Categories of jobs that clients of the job manager may register.
    job_categories: tuple[str, ...] = ("modifiers", "selections", "analysis")
    profile_name: str = "ojs"
    # The profile of that name, adjusted by the other settings.
    profile: Profile = OJS
    retry_priority: Literal["equal", "prefer_retry", "prefer_new"] = "equal"
    schema_validation: Literal["off", "warn", "strict"] = "warn"
    keep: Retention = Retention()
    keys: Keys = Keys()

    @property
    def reach(self) -> Reach:
        """Return the targets that webhooks may have."""
        return Reach(private=self.webhook_private, plain=self.webhook_plain)

    @property
    def origins(self) -> Origins:
        """Return the host names that requests may have, and the pages that may send them.

        Names are checked only if anybody who reaches the server may use it.
        """
        any_host = self.keys.needed or self.insecure
        return origins_of(None if any_host else self.allow_host, self.cors_origin)

    @property
    def source(self) -> str:
        """The `source` of this server's events."""
        return "ojs://ojs-server/api"

    def rules(self) -> Rules:
        """Return the settings that operations need."""
        return Rules(
            profile=self.profile,
            run_ms=self.default_execution_timeout_ms,
            keep=self.keep,
            retry_priority=self.retry_priority,
            schema_validation=self.schema_validation,
            conformance=self.conformance,
        )


class Setting(msgspec.Struct, frozen=True):
    """A setting's flag, environment variable and help text."""

    name: str
    kind: Literal[
        "text",
        "number",
        "flag",
        "duration",
        "retention",
        "kept",
        "hosts",
        "origins",
        "networks",
        "names",
    ]
    help: str
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 1 << 40
    field: str = ""
    variable: str = ""
    # The unit of a bare number, in milliseconds.
    unit: int = 1000
    # True if the default comes from the profile.
    of_profile: bool = False

    @property
    def flag(self) -> str:
        """The command line's spelling."""
        return "--" + self.name.replace("_", "-")

    @property
    def env(self) -> str:
        """The environment's spelling."""
        return self.variable or "OJS_" + self.name.upper()


def value_of(settings: Settings, setting: Setting) -> Any:
    """Return the value of a setting."""
    name = setting.field or setting.name
    if setting.kind in KEPT:
        return getattr(settings.keep, name)
    if not setting.of_profile:
        return getattr(settings, name)
    thresholds = settings.profile.thresholds
    return getattr(thresholds if hasattr(thresholds, name) else settings.profile, name)


# The kinds of the settings in `Retention`: durations and counts.
KEPT: Final = ("retention", "kept")
_LEVELS: Final = ("debug", "info", "warning", "error")
TABLE: Final[tuple[Setting, ...]] = (
    Setting("host", "text", "address to listen on; beyond loopback it needs keys or --insecure"),
    Setting("port", "number", "port to listen on; 0 takes a free one", most=65_535),
    Setting(
        "grpc_port",
        "number",
        "port for gRPC, which needs the extra grpc; 0 takes a free one, unless set the profile's",
        most=65_535,
    ),
    Setting(
        "database",
        "text",
        "where jobs are kept: a file, :memory:, sqlite:///PATH or postgresql://USER@HOST/NAME",
        variable="OJS_DATABASE_URL",
    ),
    Setting(
        "listen_url",
        "text",
        "direct PostgreSQL URL for LISTEN when --database goes through PgBouncer",
    ),
    Setting(
        "start_timeout",
        "duration",
        "how long a start waits for a PostgreSQL that is not there yet, or takes no changes yet",
        field="start_timeout_ms",
    ),
    Setting(
        "store_timeout",
        "duration",
        "how long a call waits for a database that does not answer, 1 s to 60 s",
        field="store_timeout_ms",
    ),
    Setting("conformance", "flag", "test hooks on: /ojs/v1/admin/reset and meta.test_directive"),
    Setting("insecure", "flag", "allow a bind beyond loopback without any key"),
    Setting(
        "allow_host",
        "hosts",
        "names that requests may call this server by besides those of the loopback, with commas",
    ),
    Setting("cors_origin", "origins", "origins whose pages may call this server, with commas"),
    Setting(
        "trusted_proxy",
        "networks",
        "networks of proxies whose Forwarded or X-Forwarded-For is believed, with commas",
    ),
    Setting("strict", "flag", "refuse unknown members of options, retry, unique and of requests"),
    Setting("log_format", "text", "log lines for people or for machines", ("text", "json")),
    Setting("log_level", "text", "least level that is logged", _LEVELS),
    Setting("log_jobs", "flag", "log a line for each step of each job"),
    Setting("traces", "flag", "send OpenTelemetry traces to where the variables OTEL_* say"),
    Setting(
        "profile",
        "text",
        "job system whose defaults and paths are served; other settings override it",
        tuple(PROFILES),
        field="profile_name",
    ),
    Setting(
        "job_categories",
        "names",
        "categories of the jobs that clients of the job manager register, with commas",
    ),
    Setting(
        "max_wait_ms",
        "number",
        "longest that a FETCH may wait for a job",
        of_profile=True,
    ),
    Setting("max_body_bytes", "number", "largest request body", least=1),
    Setting(
        "max_bodies_bytes",
        "number",
        "bytes that request bodies of more than 64 KiB may have together before 503 answers",
        least=1,
    ),
    Setting("max_result_bytes", "number", "largest result of a job"),
    Setting(
        "max_connections",
        "number",
        "connections that may be open; unless set, 10000 or what descriptors leave room for",
        least=1,
    ),
    Setting(
        "grpc_share",
        "number",
        "percentage of max_connections and max_bodies_bytes for the port of gRPC, if it is open",
        least=1,
        most=99,
    ),
    Setting(
        "max_waiting", "number", "requests that may wait for the store before 503 answers", least=1
    ),
    Setting("max_streams", "number", "event streams that may be open before 503 answers"),
    Setting(
        "stream_buffer",
        "number",
        "events that wait for a slow stream before the oldest are dropped",
        least=1,
        most=100_000,
    ),
    Setting(
        "webhook_private",
        "flag",
        "let webhooks go to private and loopback addresses, too",
    ),
    Setting("webhook_plain", "flag", "let webhooks go to http:// addresses, too"),
    Setting(
        "webhook_ca",
        "text",
        "PEM file of authorities for certificates of webhook targets, besides the public ones",
    ),
    Setting(
        "webhook_timeout",
        "duration",
        "how long a webhook's target may take to answer, 5 s to 60 s",
        field="webhook_timeout_ms",
    ),
    Setting(
        "webhook_concurrency",
        "number",
        "webhook deliveries that this node sends at a time",
        least=1,
        most=1000,
    ),
    Setting(
        "login_lifetime",
        "duration",
        "how long somebody who logs in at the dashboard stays so",
        field="login_ms",
    ),
    Setting("ui_read_only", "flag", "the dashboard changes nothing, whoever is logged in"),
    Setting(
        "visibility_timeout",
        "duration",
        "how long a fetched job is hidden without a heartbeat (seconds, or 30m, PT30M)",
        field="lease_ms",
        of_profile=True,
    ),
    Setting(
        "default_execution_timeout",
        "duration",
        "execution timeout of jobs that set none; without it they may run for ever",
        field="default_execution_timeout_ms",
    ),
    Setting(
        "heartbeat_interval",
        "duration",
        "heartbeat interval announced to workers",
        field="heartbeat_interval_ms",
        of_profile=True,
    ),
    Setting(
        "heartbeat_timeout",
        "duration",
        "silence after which a worker counts as dead",
        field="dead_after_ms",
        of_profile=True,
    ),
    Setting(
        "worker_unreachable_threshold",
        "duration",
        "silence after which a worker is unreachable (milliseconds, or 2m, PT2M)",
        field="unreachable_ms",
        variable="WORKER_UNREACHABLE_THRESHOLD_MS",
        unit=1,
        of_profile=True,
    ),
    Setting(
        "worker_offline_threshold",
        "duration",
        "silence after which a worker is offline; unless set, 3 times the one before",
        field="offline_ms",
        variable="WORKER_OFFLINE_THRESHOLD_MS",
        unit=1,
        of_profile=True,
    ),
    Setting(
        "worker_delete_threshold",
        "duration",
        "silence after which a worker is deleted",
        field="deleted_ms",
        variable="WORKER_OFFLINE_DELETE_THRESHOLD_MS",
        unit=1,
        of_profile=True,
    ),
    Setting(
        "stuck_job_timeout",
        "duration",
        "longest time a worker may hold a job, even with heartbeats; unless set, 2 times offline",
        field="stuck_ms",
        variable="BLACKBOARD_STUCK_JOB_TIMEOUT",
        unit=1,
        of_profile=True,
    ),
    Setting(
        "worker_check_interval",
        "duration",
        "interval between checks of the presence of workers",
        field="check_interval_ms",
        variable="BLACKBOARD_JOB_CHECK_INTERVAL",
        unit=1,
        of_profile=True,
    ),
    Setting(
        "sweep_interval",
        "duration",
        "least time between two checks for expired leases; without it each is noticed at once",
        field="sweep_interval_ms",
        of_profile=True,
    ),
    Setting(
        "session_grace",
        "duration",
        "how long a worker may lack the session that it held before it counts as dead",
        field="session_grace_ms",
        of_profile=True,
    ),
    Setting(
        "late_ack",
        "text",
        "treatment of an ACK whose lease was lost",
        LATE_ACKS,
        of_profile=True,
    ),
    Setting(
        "retry_priority",
        "text",
        "which jobs go first where a rate limit holds them back: retries, new ones, or neither",
        RETRY_PRIORITIES,
    ),
    Setting(
        "schema_validation",
        "text",
        "treatment of jobs that violate the schema of their type, unless the schema sets it",
        MODES,
    ),
    Setting("keep_completed", "retention", "keep completed jobs", field="completed_ms"),
    Setting("keep_cancelled", "retention", "keep cancelled jobs", field="cancelled_ms"),
    Setting("keep_discarded", "retention", "keep discarded jobs", field="discarded_ms"),
    Setting(
        "keep_dead_letter",
        "retention",
        "keep discarded jobs whose policy says dead_letter",
        field="dead_letter_ms",
    ),
    Setting("keep_events", "retention", "keep events", field="events_ms"),
    Setting(
        "max_dead_letters",
        "kept",
        "dead letters kept per queue for keep_dead_letter; the oldest beyond are removed",
        field="dead_letters",
    ),
    Setting(
        "max_events",
        "kept",
        "events kept; the oldest beyond are removed",
        field="events",
        least=1,
    ),
    Setting("keep_idempotency_keys", "retention", "keep idempotency keys", field="idempotency_ms"),
    Setting("keep_workers", "retention", "keep workers that are gone", field="workers_ms"),
    Setting("keep_deliveries", "retention", "keep ended webhook deliveries", field="deliveries_ms"),
    Setting("keep_workflows", "retention", "keep finished workflows", field="workflows_ms"),
    Setting("keep_actions", "retention", "keep the log of what people did", field="actions_ms"),
)
KEYS_ENV: Final = "OJS_KEYS"
CONFIG_ENV: Final = "OJS_CONFIG"
NO_MIGRATE_ENV: Final = "OJS_NO_MIGRATE"
# Not in TABLE, because the settings hold the opposite.
_NO_MIGRATE: Final = Setting("no_migrate", "flag", "", variable=NO_MIGRATE_ENV)


def load_settings(flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Settings:
    """Merge all sources; `flags` holds the values of the command line by name."""
    config = flags.get("config") or environ.get(CONFIG_ENV)
    file = _read_file(Path(config)) if config else {}
    values: dict[str, Any] = {}
    keep: dict[str, int] = {}
    stated: dict[str, Any] = {}
    for setting in TABLE:
        given, where = _given(setting, flags, environ, file)
        if given is None:
            continue
        value = _value(setting, given, where)
        if setting.kind in KEPT:
            keep[setting.field] = value
        elif setting.of_profile:
            stated[setting.field or setting.name] = value
        else:
            values[setting.field or setting.name] = value
    values["keep"] = Retention(**keep)
    values["profile"] = adjusted(PROFILES[values.get("profile_name", "ojs")], Given(**stated))
    given, where = _given(_NO_MIGRATE, flags, environ, file)
    values["migrate"] = not _value(_NO_MIGRATE, given or False, where)
    table = file.get("keys", {})
    if not isinstance(table, dict):
        raise SettingError('`keys` in the configuration file: must be a table, role = ["KEY"]')
    try:
        values["keys"] = parse_keys(environ.get(KEYS_ENV, ""), table)
    except ValueError as error:
        raise SettingError(str(error)) from None
    return _checked(Settings(**values))


def _checked(settings: Settings) -> Settings:
    loopback = settings.host in ("127.0.0.1", "::1", "localhost")
    if not loopback and not settings.keys.needed and not settings.insecure:
        raise SettingError(
            f"refusing to listen on {settings.host} without keys: anyone who can connect "
            f"could run jobs. Set {KEYS_ENV} (for example {KEYS_ENV}=admin:KEY, 16 characters or "
            "more), listen on 127.0.0.1, or say --insecure"
        )
    if not 5_000 <= settings.webhook_timeout_ms <= 60_000:
        raise SettingError("webhook_timeout must lie between 5 and 60 seconds")
    if not 1_000 <= settings.store_timeout_ms <= 60_000:
        raise SettingError("store_timeout must lie between 1 and 60 seconds")
    _check_profile(settings.profile)
    return settings


def _check_profile(profile: Profile) -> None:
    dead_after_ms = profile.dead_after_ms
    missed = profile.missed_beats
    if dead_after_ms is not None and dead_after_ms < missed * profile.heartbeat_interval_ms:
        raise SettingError(
            f"heartbeat_timeout must be at least {missed} times heartbeat_interval, "
            "or a delayed heartbeat would count as a death"
        )
    grace_ms = profile.session_grace_ms
    if grace_ms is not None and dead_after_ms is not None and grace_ms >= dead_after_ms:
        raise SettingError(
            "session_grace must be shorter than heartbeat_timeout, which would be over before it"
        )
    if wrong := out_of_order(profile):
        (earlier, soon), (later, late) = wrong
        raise SettingError(
            f"{earlier} ({format_duration(soon)}) must be shorter than {later} "
            f"({format_duration(late)})"
        )


def _given(
    setting: Setting, flags: Mapping[str, Any], environ: Mapping[str, str], file: Mapping[str, Any]
) -> tuple[Any, str]:
    if flags.get(setting.name) is not None:
        return flags[setting.name], setting.flag
    # A Kubernetes service named `ojs` sets OJS_PORT=tcp://ADDRESS:PORT in every container.
    if (value := environ.get(setting.env)) and not value.startswith("tcp://"):
        return value, setting.env
    return file.get(setting.name), f"`{setting.name}` in the configuration file"


def _value(setting: Setting, given: Any, where: str) -> Any:
    try:
        match setting.kind:
            case "flag":
                return given if isinstance(given, bool) else _truth(given)
            case "number" | "kept":
                # Not int(), which accepts 3.7, True and 1_000.
                if not str(given).isdecimal():
                    raise ValueError(f"must be a whole number, not {given!r}")
                number = int(given)
                if not setting.least <= number <= setting.most:
                    raise ValueError(f"must lie between {setting.least} and {setting.most}")
                return number
            case "duration" | "retention":
                milliseconds = parse_duration(_numeric(given), setting.unit)
                if milliseconds <= 0:
                    raise ValueError("must be longer than zero")
                return milliseconds
            case "hosts":
                return tuple(map(parse_host, _several(given)))
            case "names":
                return tuple(map(_name, _several(given)))
            case "origins":
                return tuple(map(parse_origin, _several(given)))
            case "networks":
                return tuple(map(parse_network, _several(given)))
            case _:
                if not isinstance(given, str):
                    raise ValueError(f"must be a text, not {given!r}")
                if setting.choices and given not in setting.choices:
                    allowed = ", ".join(setting.choices)
                    raise ValueError(f"must be one of {allowed}{nearest(given, setting.choices)}")
                return given
    except (ValueError, TypeError) as error:
        raise SettingError(f"{where}: {error}") from None


def _several(given: Any) -> list[str]:
    """Texts with commas between them, or a list of a file."""
    parts = given if isinstance(given, list) else str(given).split(",")
    return [str(part) for part in parts if str(part).strip()]


def _name(text: str) -> str:
    name = text.strip()
    if ":" in name or not name.isprintable():
        raise ValueError(f"{name!r} must be printable and without `:`")
    return name


def _numeric(given: Any) -> Any:
    text = str(given)
    return float(text) if text.replace(".", "", 1).isdecimal() else given


def _truth(given: object) -> bool:
    word = str(given).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("", "0", "false", "no", "off"):
        return False
    raise ValueError(f"must be true or false, not {given!r}")


def _read_file(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is not valid TOML: {error}") from None
    known = {setting.name for setting in (*TABLE, _NO_MIGRATE)} | {"keys"}
    if "servers" in content:
        raise SettingError(
            f"{path}: is a file of servers, for clients and workers, which OJS_SERVERS names; "
            "this program reads the settings of one server"
        )
    for name in content:
        if name not in known:
            raise SettingError(f"{path}: `{name}` is not a setting{nearest(name, known)}")
    return content
