"""Settings: their precedence, and the messages for wrong ones."""

import re
from typing import Any

import pytest

from ojs_worker import Worker
from ojs_worker.config import Config, SettingError
from ojs_worker.settings import NO_FLAG, TABLE, load
from tests.spec.clauses import ROOT

PAGE = ROOT / "docs" / "worker.md"


def test_flags_win_over_code_over_environment_over_defaults() -> None:
    env = {"OJS_CONCURRENCY": "3", "OJS_QUEUES": "a, b", "OJS_GRACE_PERIOD": "80s"}
    assert load({}, {}, {}) == Config()
    assert load({}, {}, env).concurrency == 3
    assert load({}, {"concurrency": 4}, env).concurrency == 4
    assert load({"concurrency": "5"}, {"concurrency": 4}, env).concurrency == 5
    assert load({}, {}, env).queues == ("a", "b")
    assert load({}, {}, env).grace_s == 80


@pytest.mark.parametrize(
    ("profile", "beat", "lease", "poll", "capacity", "grace"),
    [
        ("ojs", 5, (None, True), (25, 1), 10, 25),
        ("blackboard", 20, (720, False), (0, 10), 1, 25),
        ("jobmanager", 30, (None, True), (25, 2), 1, 10),
        ("zeebe", 5, (60, False), (30, 1), 32, 25),
    ],
)
def test_a_profile_sets_the_defaults_and_nothing_else(
    profile: str, beat: float, lease: object, poll: object, capacity: int, grace: float
) -> None:
    config = load({"profile": profile}, {}, {})
    assert config == load({}, {}, {"OJS_PROFILE": profile})
    assert config.profile == profile
    assert (config.visibility_s, config.auto_extend) == lease
    assert (config.long_poll_s, config.poll_s) == poll
    assert (config.heartbeat_s, config.concurrency, config.grace_s) == (beat, capacity, grace)
    assert load({"profile": profile}, {}, {"OJS_CONCURRENCY": "3"}).concurrency == 3


def test_flags_choose_the_profile_before_code_before_environment() -> None:
    env = {"OJS_PROFILE": "zeebe"}
    assert load({}, {"profile": "jobmanager"}, env).wake == "stream"
    assert load({"profile": "ojs"}, {"profile": "jobmanager"}, env) == Config()
    with pytest.raises(SettingError, match="OJS_PROFILE: must be one of ojs, blackboard"):
        load({}, {}, {"OJS_PROFILE": "zebe"})


@pytest.mark.parametrize(
    ("name", "value", "field", "read"),
    [
        ("OJS_URL", "http://a", "url", "http://a"),
        ("OJS_BACKEND_URL", "http://b", "url", "http://b"),
        ("OJS_QUEUE", "mail", "queues", ("mail",)),
        ("OJS_SHUTDOWN_GRACE_PERIOD", "80s", "grace_s", 80),
        ("OJS_SHUTDOWN_TIMEOUT", "30", "grace_s", 30),
        ("OJS_GRACE_PERIOD", "PT1M", "grace_s", 60),
        ("OJS_HEARTBEAT_INTERVAL", "500ms", "heartbeat_s", 0.5),
        ("OJS_LABELS", "region:eu,canary", "labels", ("region:eu", "canary")),
        ("OJS_ONLY_KNOWN_TYPES", "false", "only_known_types", False),
        ("OJS_AUTH_TOKEN", "secret", "auth_token", "secret"),
    ],
)
def test_every_name_in_the_environment(name: str, value: str, field: str, read: object) -> None:
    assert getattr(load({}, {}, {name: value}), field) == read


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("concurrency", "0", "between 1 and 1000"),
        ("concurrency", "many", "whole number"),
        ("concurrency", True, "whole number"),
        ("concurrency", 2.5, "whole number"),
        ("grace", "soon", "must be a duration"),
        ("grace", -1, "between zero"),
        ("grace", "nan", "between zero"),
        ("heartbeat_interval", 0, "at least 0.05 s"),
        ("queues", "", "at least one queue"),
        ("queues", ["Mail"], "'Mail' is not a queue's name"),
        ("unknown_type", "drop", "one of fail, requeue, discard"),
        ("only_known_types", "perhaps", "true or false"),
        ("url", 5, "must be a text"),
        ("health_port", "70000", "between 0 and 65535"),
    ],
)
def test_a_wrong_setting_names_itself(name: str, value: Any, words: str) -> None:
    with pytest.raises(SettingError, match=re.escape(words)) as refused:
        load({name: value}, {}, {})
    assert str(refused.value).startswith("--" + name.replace("_", "-"))
    with pytest.raises(SettingError, match=re.escape(words)):
        load({}, {name: value}, {})


def test_a_misspelt_setting_of_a_worker_is_refused_where_it_is_written() -> None:
    with pytest.raises(SettingError, match='did you mean "concurrency"'):
        Worker(concurency=3)  # type: ignore[call-arg]


def test_the_page_lists_every_setting_with_its_default() -> None:
    row = re.compile(r"^\| (?:`(--[a-z-]+)`)? ?\| `(OJS_\w+)` \| (\S+) \|", re.MULTILINE)
    listed = set(row.findall(PAGE.read_text(encoding="utf-8")))
    known = set()
    for setting in TABLE:
        default = getattr(Config(), setting.field)
        if isinstance(default, tuple):
            default = ",".join(default)
        if isinstance(default, bool):
            default = "on" if default else "off"
        if isinstance(default, float):
            default = f"{default:g}"
        flag = "" if setting.name in NO_FLAG else setting.flag
        known.add((flag, setting.env[0], str(default or "none")))
    assert listed == known
