"""Settings: which source wins, and what is wrong with a wrong one."""

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from ojs_server.domain.profile import PROFILES
from ojs_server.domain.retention import Retention
from ojs_server.settings import TABLE, Setting, SettingError, Settings, load_settings, value_of

KEY = "0123456789abcdef"


def load(
    flags: dict[str, Any] | None = None, env: dict[str, str] | None = None, file: Path | None = None
) -> Settings:
    given = {} if file is None else {"config": str(file)}
    return load_settings({**given, **(flags or {})}, env or {})


def toml(folder: Path, text: str) -> Path:
    path = folder / "ojs.toml"
    path.write_text(text, encoding="utf-8")
    return path


def example(setting: Setting) -> tuple[str, object]:
    """A value that is not the default, as text and as it is kept."""
    match setting.kind:
        case "flag":
            return "true", True
        case "number" | "kept":
            return "77", 77
        case "duration" if setting.name == "webhook_timeout":
            # A target that may take longer would hold its place for as long.
            return "PT40S", 40_000
        case "duration" if setting.name == "store_timeout":
            # Clients would not wait longer for a 503.
            return "PT50S", 50_000
        case "duration" | "retention":
            return "PT10H", 36_000_000
        case "hosts":
            return "Jobs.Example, [fd00::7]", ("jobs.example", "[fd00::7]")
        case "names":
            return "tools, views", ("tools", "views")
        case "networks":
            return "10.0.0.0/8, fd00::/8", (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
        case "origins":
            return "https://A.example:443,http://b:8080", ("https://a.example", "http://b:8080")
        case _:
            word = setting.choices[-1] if setting.choices else "::1"
            return word, word


BESIDE = {
    "heartbeat_interval": {"OJS_HEARTBEAT_TIMEOUT": "P9D"},
    "session_grace": {"OJS_HEARTBEAT_TIMEOUT": "P9D"},
    "worker_unreachable_threshold": {"WORKER_OFFLINE_DELETE_THRESHOLD_MS": "P9D"},
}


def read(settings: Settings, setting: Setting) -> object:
    return value_of(settings, setting)


def test_nothing_given_is_the_default() -> None:
    assert load() == Settings()
    assert Settings().keep == Retention()


@pytest.mark.parametrize("setting", TABLE, ids=lambda setting: setting.name)
def test_every_setting_is_read_from_every_source(setting: Setting, tmp_path: Path) -> None:
    text, value = example(setting)
    # Some settings must be shorter than another one, which is then set too.
    beside = BESIDE.get(setting.name, {})
    if setting.kind == "flag":
        assert read(load({setting.name: True}), setting) is True
    else:
        assert read(load({setting.name: text}, beside), setting) == value
    assert read(load(env={**beside, setting.env: text}), setting) == value
    written = text if setting.kind in ("flag", "number") else f'"{text}"'
    file = toml(tmp_path, f"{setting.name} = {written}\n")
    assert read(load(env=beside, file=file), setting) == value


def test_a_category_is_a_name() -> None:
    with pytest.raises(SettingError, match="without `:`"):
        load({"job_categories": "tools,a:b"})


@pytest.mark.parametrize("given", ["4s", "61s"])
def test_a_webhooks_time_limit_has_bounds(given: str) -> None:
    with pytest.raises(SettingError, match="webhook_timeout"):
        load({"webhook_timeout": given})


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, 'port = 1\nlog_level = "error"\nstrict = true\n')
    assert load(file=file).port == 1
    assert load(env={"OJS_PORT": "2"}, file=file).port == 2
    assert load({"port": "3"}, {"OJS_PORT": "2"}, file).port == 3
    assert load({"port": None}, {"OJS_PORT": ""}, file).port == 1
    assert load(file=file).strict
    assert not load(env={"OJS_STRICT": "no"}, file=file).strict
    assert load({"port": "3"}, file=file).log_level == "error"


def test_the_file_is_named_by_flag_or_environment(tmp_path: Path) -> None:
    file = toml(tmp_path, "port = 5\n")
    assert load(env={"OJS_CONFIG": str(file)}).port == 5


@pytest.mark.parametrize(
    ("flags", "env", "text"),
    [
        ({"no_migrate": True}, {}, ""),
        ({}, {"OJS_NO_MIGRATE": "1"}, ""),
        ({}, {}, "no_migrate = true"),
    ],
)
def test_migrations_can_be_forbidden(
    flags: dict[str, Any], env: dict[str, str], text: str, tmp_path: Path
) -> None:
    assert load().migrate
    assert not load(flags, env, toml(tmp_path, text)).migrate


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [("30", 30_000), ("1.5", 1500), ("12m", 720_000), ("PT2S", 2000), ("500ms", 500)],
)
def test_a_bare_number_is_seconds(given: str, milliseconds: int) -> None:
    assert load({"visibility_timeout": given}).profile.lease_ms == milliseconds
    assert load({"keep_events": given}).keep.events_ms == milliseconds


def test_what_the_operations_need_is_handed_on() -> None:
    rules = load(
        {
            "visibility_timeout": "1",
            "default_execution_timeout": "2",
            "heartbeat_interval": "3",
            "heartbeat_timeout": "9",
            "keep_completed": "5",
            "conformance": True,
        }
    ).rules()
    assert (rules.profile.lease_ms, rules.run_ms) == (1000, 2000)
    assert (rules.profile.heartbeat_interval_ms, rules.profile.dead_after_ms) == (3000, 9000)
    assert rules.keep.completed_ms == 5000
    assert rules.conformance


WRONG = [
    ("port", "eighty", "must be a whole number"),
    ("port", "-1", "must be a whole number"),
    ("port", "3.7", "must be a whole number"),
    ("port", "1_000", "must be a whole number"),
    ("port", "65536", "between 0 and 65535"),
    ("max_waiting", "0", "between 1 and"),
    ("max_body_bytes", "0", "between 1 and"),
    ("max_wait_ms", "9" * 30, "between 0 and"),
    ("strict", "perhaps", "must be true or false"),
    ("log_format", "jsn", 'did you mean "json"'),
    ("log_level", "warn", 'did you mean "warning"'),
    ("visibility_timeout", "0", "longer than zero"),
    ("visibility_timeout", "-5", "must be a duration"),
    ("heartbeat_timeout", "soon", "must be a duration"),
    ("heartbeat_timeout", "\u00b2", "must be a duration"),
    ("keep_events", "forever", "must be a duration"),
    ("allow_host", "jobs.example:8080", "without a port"),
    ("allow_host", "http://jobs.example", "must be names or addresses"),
    ("cors_origin", "*", "must be origins such as"),
    ("cors_origin", "null", "must be origins such as"),
    ("cors_origin", "https://a.example/path", "must be origins such as"),
    ("cors_origin", "a.example", "must be origins such as"),
]


@pytest.mark.parametrize(("name", "value", "words"), WRONG)
def test_a_wrong_setting_names_itself_where_it_was_given(
    name: str, value: str, words: str, tmp_path: Path
) -> None:
    (setting,) = [one for one in TABLE if one.name == name]
    file = toml(tmp_path, f'{name} = "{value}"\n')
    places: list[tuple[dict[str, Any], str]] = [
        ({"flags": {name: value}}, setting.flag),
        ({"env": {setting.env: value}}, setting.env),
        ({"file": file}, f"`{name}` in the configuration file"),
    ]
    for sources, where in places:
        with pytest.raises(SettingError) as refused:
            load(**sources)
        message = str(refused.value)
        assert message.startswith(f"{where}: ")
        assert message.count(where) == 1
        assert words in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 5", '`prot` is not a setting; did you mean "port"?'),
        ("[server]\nport = 5", "`server` is not a setting"),
        ("port = 3.7", "`port` in the configuration file: must be a whole number"),
        ("port = true", "`port` in the configuration file: must be a whole number"),
        ("host = 5", "`host` in the configuration file: must be a text"),
        ('database = ["a"]', "`database` in the configuration file: must be a text"),
        ("keep_events = true", "`keep_events` in the configuration file: must be a duration"),
        ("strict = 2", "`strict` in the configuration file: must be true or false"),
        ('[servers.a]\nurl = "u"', "is a file of servers"),
        ('keys = "x"', "`keys` in the configuration file: must be a table"),
        ("port = ", "is not valid TOML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError) as refused:
        load(file=toml(tmp_path, text))
    assert words in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(SettingError, match=f"cannot read {path}"):
            load(file=path)
    broken = tmp_path / "latin.toml"
    broken.write_bytes(b'host = "\xff"')
    with pytest.raises(SettingError, match="is not valid TOML"):
        load(file=broken)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_needs_no_key(host: str) -> None:
    assert load({"host": host}).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "127.0.0.1.nip.io"])
def test_any_other_host_needs_keys_or_insecure(host: str) -> None:
    with pytest.raises(SettingError, match=f"refusing to listen on {host} without keys") as refused:
        load({"host": host})
    for advice in ("OJS_KEYS", "127.0.0.1", "--insecure"):
        assert advice in str(refused.value)
    assert load({"host": host, "insecure": True}).host == host
    assert load({"host": host}, {"OJS_KEYS": f"admin:{KEY}"}).host == host


def test_a_heartbeat_timeout_must_leave_room_for_a_late_heartbeat() -> None:
    with pytest.raises(SettingError, match="3 times heartbeat_interval"):
        load({"heartbeat_interval": "10", "heartbeat_timeout": "29"})
    settings = load({"heartbeat_interval": "10", "heartbeat_timeout": "30"})
    assert settings.profile.dead_after_ms == 30_000


@pytest.mark.parametrize("profile", ["ojs", "jobmanager"])
def test_sessions_are_off_unless_a_grace_is_set(profile: str, tmp_path: Path) -> None:
    assert load({"profile": profile}).profile.session_grace_ms is None
    file = toml(tmp_path, 'session_grace = "5s"\n')
    for settings in (
        load({"session_grace": "5"}),
        load(env={"OJS_SESSION_GRACE": "5"}),
        load(file=file),
    ):
        assert settings.profile.session_grace_ms == 5000


def test_a_grace_that_would_never_count_is_refused() -> None:
    with pytest.raises(SettingError, match="session_grace must be shorter than heartbeat_timeout"):
        load({"session_grace": "30"})
    assert load({"session_grace": "30", "profile": "zeebe"}).profile.session_grace_ms == 30_000


def test_the_port_that_kubernetes_gives_every_container_is_not_ours() -> None:
    environ = {"OJS_PORT": "tcp://10.0.0.7:8080"}
    assert load_settings({}, environ).port == Settings().port


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_brings_its_defaults(name: str, tmp_path: Path) -> None:
    file = toml(tmp_path, f'profile = "{name}"\n')
    for settings in (load({"profile": name}), load(env={"OJS_PROFILE": name}), load(file=file)):
        assert settings.profile == PROFILES[name]


def test_a_setting_wins_over_the_profile() -> None:
    profile = load({"profile": "zeebe", "visibility_timeout": "7"}).profile
    assert (profile.lease_ms, profile.on_expiry) == (7000, "refund")


@pytest.mark.parametrize("given", ["240000", "4m", "PT4M"])
def test_the_five_variables_of_the_blackboard_count_milliseconds(given: str) -> None:
    profile = load(
        env={"OJS_PROFILE": "blackboard", "BLACKBOARD_JOB_CHECK_INTERVAL": given}
    ).profile
    assert profile.check_interval_ms == 240_000
    later = load(env={"WORKER_OFFLINE_THRESHOLD_MS": given}).profile
    assert later.thresholds.offline_ms == 240_000


def test_thresholds_out_of_order_refuse_the_start_and_name_both_values() -> None:
    with pytest.raises(SettingError) as refused:
        load(env={"OJS_PROFILE": "blackboard", "BLACKBOARD_STUCK_JOB_TIMEOUT": "5m"})
    assert str(refused.value) == (
        "worker_offline_threshold (PT360S) must be shorter than stuck_job_timeout (PT300S)"
    )
