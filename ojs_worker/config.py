"""A worker's settings in one record, and the defaults of each profile."""

from collections.abc import Mapping
from typing import Final, Literal, TypedDict

import msgspec

from ojs_worker.durations import Duration

UnknownType = Literal["fail", "requeue", "discard"]
ShutdownRelease = Literal["fail", "requeue"]
LateAck = Literal["reject", "accept_unfinished"]
Level = Literal["debug", "info", "warning", "error"]
ProfileName = Literal["ojs", "blackboard", "jobmanager", "zeebe"]


# The exit code of a worker that has a wrong setting.
MISCONFIGURED: Final = 2


class SettingError(ValueError):
    """A setting is invalid; the message names it and what is allowed."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a worker. All times are in seconds."""

    profile: ProfileName = "ojs"
    url: str = "http://127.0.0.1:8080"
    # A name in the file of servers; a URL from a source of higher precedence replaces it.
    server: str | None = None
    auth_token: str | None = None
    tls_ca_file: str | None = None
    tls_cert_file: str | None = None
    tls_key_file: str | None = None
    queues: tuple[str, ...] = ("default",)
    # True if queues of handlers are served only if they are named in `queues`.
    only_queues: bool = False
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
    # Deadline of client calls; with 0 each is sent once.
    deadline_s: float = 30.0
    only_known_types: bool = True
    unknown_type: UnknownType = "requeue"
    shutdown_release: ShutdownRelease = "fail"
    # Stop the handler of a job that the server took back; otherwise it runs on for a late ACK.
    stop_lost: bool = True
    # The owner of registered cron entries; with `prune_cron` the owner's other entries are deleted.
    cron_owner: str | None = None
    prune_cron: bool = False
    late_ack: LateAck | None = None
    # Renew leases by heartbeats; otherwise these only report and receive states.
    auto_extend: bool = True
    health_port: int | None = None
    health_host: str = "0.0.0.0"
    log_format: Literal["text", "json"] = "text"
    log_level: Level = "info"
    # Only for the command, which can run several processes and replace them.
    workers: int = 1
    max_jobs: int | None = None
    max_memory: int | None = None


# Defaults by profile; the server has defaults of its own for each.
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


class WorkerSettings(TlsFiles, total=False):
    """The settings as keyword arguments of a worker."""

    profile: ProfileName
    server: str
    queues: list[str] | tuple[str, ...] | str
    only_queues: bool
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
    deadline: Duration
    only_known_types: bool
    unknown_type: UnknownType
    shutdown_release: ShutdownRelease
    stop_lost: bool
    cron_owner: str
    prune_cron: bool
    late_ack: LateAck
    auto_extend: bool
    health_port: int
    health_host: str
