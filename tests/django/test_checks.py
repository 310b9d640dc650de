"""The setting `OJS`, and the system checks that find mistakes in it."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from ojs_django import enqueue, get_worker


def found(**settings: Any) -> list[tuple[str | None, str]]:
    """Return what the checks say of a project with these settings."""
    with override_settings(**settings):
        return [(message.id, message.msg) for message in run_checks()]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("http://127.0.0.1:8080", "OJS must be a dictionary"),
        ({"URI": "http://127.0.0.1:8080"}, """OJS['URI'] is not a setting; did you mean "URL"?"""),
        ({"KEY": 7}, 'OJS["KEY"]: must be a text'),
        ({"AFTER_COMMIT": "later"}, """OJS["AFTER_COMMIT"]: must be 'on_commit' or"""),
        ({"QUEUES": ["Mail!"]}, """OJS["QUEUES"]: 'Mail!' is not a queue's name"""),
        ({"CONCURRENCY": 0}, 'OJS["CONCURRENCY"]: must be a whole number between 1 and 1000'),
        ({"CODEC": "shop.codec"}, 'OJS["CODEC"]: No module named'),
    ],
)
def test_a_mistake_in_the_setting_is_named(setting: Any, sentence: str) -> None:
    ((code, text),) = found(OJS=setting)
    assert code == "ojs.E001"
    assert text.startswith(sentence)
    with override_settings(OJS=setting), pytest.raises(ImproperlyConfigured, match="OJS"):
        enqueue("order.note")


def test_a_wrong_key_is_not_shown() -> None:
    ((_, text),) = found(OJS={"KEY": ["of-the-server"]})
    assert "of-the-server" not in text


@pytest.mark.parametrize(
    ("setting", "code"),
    [({"DATABASE": "orders"}, "ojs.E002"), ({"AFTER_COMMIT": "transactional"}, "ojs.E003")],
)
def test_the_database_has_to_fit(setting: dict[str, str], code: str) -> None:
    assert [each for each, _ in found(OJS=setting)] == [code]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"retries": 3}, "'retries' is none of retry, timeout"),
        ({"retry": {"attempts": 3}}, "attempts"),
        ({"retry": {"non_retryable_errors": ["ValueError"]}}, "raise ojs_worker.Discard"),
        ({"timeout": "soon"}, "timeout"),
    ],
)
def test_wrong_options_of_a_backend_of_tasks_are_named(
    options: dict[str, Any], sentence: str
) -> None:
    backend = {"BACKEND": "ojs_django.tasks.OJSBackend", "OPTIONS": options}
    ((code, text),) = found(TASKS={"default": backend})
    assert code == "ojs.E004"
    assert text.startswith("TASKS['default']['OPTIONS']: ")
    assert sentence in text


def test_a_handler_in_a_process_is_warned_of() -> None:
    with override_settings(OJS={}):
        get_worker().job("in.a.process", run_in="process")(print)
        assert [message.id for message in run_checks()] == ["ojs.W001"]


def test_the_worker_has_the_settings_and_the_queues_of_handlers_and_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OJS_CONCURRENCY", "7")
    with override_settings(OJS={"URL": "http://jobs.example", "QUEUES": ["first"], "GRACE": "5s"}):
        config = get_worker().config()
        assert (config.url, config.concurrency, config.grace_s) == ("http://jobs.example", 7, 5.0)
        assert config.queues == ("first", "mail", "default", "quick")
        assert get_worker().config({"only_queues": True}).queues == ("first",)
