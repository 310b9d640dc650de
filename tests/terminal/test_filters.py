"""The filter of jobs."""

from typing import Any

import pytest

from ojs_cli.failures import MISUSED, Failure
from ojs_cli.filters import parse

NOW = 1_800_000_000_000
JOB: dict[str, Any] = {
    "id": "1",
    "tags": ["fast"],
    "worker_id": "w1",
    "meta": {"user": {"id": 7}, "name": "Ann"},
    "args": [{"to": "a@b", "list": ["x"]}],
    "error": {"type": "SmtpTimeout", "message": "no answer"},
}


def test_what_the_server_looks_for() -> None:
    words = ["state:active,retryable", "queue:mail", "type:mail.*", "priority:-3", "since:1h"]
    wanted = parse(words, NOW)
    assert wanted.parameters == {
        "states": "active,retryable",
        "queue": "mail",
        "type": "mail.*",
        "priority": "-3",
        "since": "2027-01-15T07:00:00Z",
    }
    assert not wanted.is_local
    assert wanted.body()["priority"] == -3
    assert parse(["older:2027-01-01T00:00:00Z"], NOW).parameters == {
        "until": "2027-01-01T00:00:00Z"
    }


@pytest.mark.parametrize(
    "word",
    [
        "tag:fast",
        "worker:w1",
        "meta.user.id:7",
        "meta.name:Ann",
        "args.to:a@b",
        "args.0.to:a@b",
        "args.list:x",
        "args.list.0:x",
        "error:smtptimeout",
        "error:answer",
    ],
)
def test_what_is_looked_for_here(word: str) -> None:
    wanted = parse([word], NOW)
    assert wanted.is_local
    assert wanted.matches(JOB)
    assert not wanted.matches({"id": "2"})
    assert not parse([f"{word}x"], NOW).matches(JOB)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("mail", "write NAME:VALUE"),
        ("state:", "write NAME:VALUE"),
        ("stat:active", '"state"'),
        ("state:activ", '"active"'),
        ("nothing:x", "there are state, queue"),
        ("priority:high", ""),
        ("since:yesterday", "such as 90s"),
    ],
)
def test_a_wrong_word_is_told_with_what_is_near(word: str, hint: str) -> None:
    with pytest.raises(Failure) as raised:
        parse([word], NOW)
    assert raised.value.exit_code == MISUSED
    assert hint in raised.value.hint
