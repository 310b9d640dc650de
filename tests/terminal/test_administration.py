"""Rate limits, pools, tenants, schemas, webhooks and the log of changes, on both stores."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ojs_cli.failures import CONFLICT, MISUSED, NOT_FOUND, NOT_SO, OK, REFUSED
from tests.terminal.conftest import Call, Ojs
from tests.terminal.foreign import answering


def test_rate_limits_are_overridden_for_a_while(ojs: Ojs, call: Call) -> None:
    for key, concurrency in (("mail-api", 2), ("pay-api", 1)):
        limit = {"key": key, "concurrency": concurrency}
        call("POST", "/jobs", type="t", args=[], options={"rate_limit": limit})
    assert [row[:3] for row in ojs("limits").rows] == [
        ["mail-api", "open", "0/2"],
        ["pay-api", "open", "0/1"],
    ]
    assert ojs("limits", "-o", "id").out.split() == ["mail-api", "pay-api"]
    words = ("--concurrency", "0", "--rate", "20/minute", "--for", "1h")
    (made,) = ojs("limits", "set", "mail-api", *words).rows
    assert made[:4] == ["mail-api", "closed", "0/0", "20/1m"]
    assert call("GET", "/rate-limits/mail-api")["override"]["limit"] in (0, 20)
    assert [row[0] for row in ojs("limits", "--waiting").rows] == ["mail-api", "pay-api"]
    assert '"limit":0' in ojs("limits", "show", "mail-api").out
    assert ojs("limits", "unset", "mail-api").rows[0][:3] == ["mail-api", "open", "0/2"]
    near = ojs("limits", "show", "mial-api")
    assert (near.code, "did you mean mail-api?" in near.err) == (NOT_FOUND, True)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("limits set k", "which limit?"),
        ("limits set k --rate 5", "write LIMIT/PERIOD"),
        ("limits set k --rate 5/fortnight", "write LIMIT/PERIOD"),
        ("limits set k --concurrency 1 --for never", "--for: 'never'"),
        ("pools add p mail=much", "write QUEUE=WEIGHT"),
        ("webhooks redeliver", "--dead-of"),
        ("webhooks redeliver dlv_1 --dead-of sub_1", "--dead-of"),
        ("schemas register t 1 {", "is no JSON"),
        ("schemas register t 1 @none.json", "No such file"),
        ("actions --since soon", "write a duration before now"),
    ],
)
def test_words_that_mean_nothing_are_told(ojs: Ojs, words: str, hint: str) -> None:
    said = ojs(*words.split())
    assert (said.code, hint in said.err) == (MISUSED, True)


def test_pools_are_made_and_deleted(ojs: Ojs, call: Call) -> None:
    made = ojs("pools", "add", "critical", "email=3", "sms", "--concurrency", "20")
    assert made.rows == [["critical", "weighted", "0", "0", "20", "email=3,sms"]]
    assert ojs("pools", "list").rows == made.rows
    assert "email" in ojs("pools", "show", "critical").out
    assert ojs("pools", "delete", "critical").code == MISUSED
    assert ojs("pools", "delete", "critical", "--yes").rows == [["critical", "deleted"]]
    assert ojs("pools").rows == []
    assert ojs("pools", "show", "critical").code == NOT_FOUND


def test_limits_of_tenants_are_shown_and_changed(ojs: Ojs, call: Call) -> None:
    unknown = ojs("tenants", "config", "acme", "--set", "max_concurrency=4")
    assert (unknown.code, "no tenant acme" in unknown.err) == (NOT_FOUND, True)
    words = ("tenants", "config", "acme", "--new", "--set", "max_enqueue_rate=100/minute")
    assert ojs(*words).code == OK
    dry = ojs("tenants", "config", "acme", "--set", "max_concurrency=4", "--dry-run")
    assert dry.rows == [["max_concurrency", "", "4"]]
    assert ojs("tenants", "config", "acme", "--set", "max_concurrency=4").code == OK
    (row,) = (row for row in ojs("tenants").rows if row[0] == "acme")
    assert row[1:3] == ["4", "100/1m"]
    assert ojs("tenants", "config", "acme", "--unset", "max_enqueue_rate").code == OK
    assert ["max_enqueue_rate", ""] in ojs("tenants", "config", "acme").rows
    assert "fairness.weight" in ojs("tenants", "show", "acme").out
    wrong = ojs("tenants", "config", "acme", "--set", "max_concurency=4")
    assert (wrong.code, "max_concurrency" in wrong.err) == (REFUSED, True)
    assert ojs("tenants", "delete", "acme").code == MISUSED
    assert ojs("tenants", "delete", "acme", "--yes").code == OK
    assert ojs("tenants", "show", "acme").code == NOT_FOUND


def test_schemas_are_registered_and_tried(ojs: Ojs, call: Call, tmp_path: Path) -> None:
    one = {"type": "array", "prefixItems": [{"type": "string"}], "minItems": 1}
    file = tmp_path / "mail.json"
    file.write_text(json.dumps(one))
    made = ojs("schemas", "register", "mail.send", "1.0.0", f"@{file}", "--mode", "strict")
    assert made.rows[0][:3] == ["mail.send", "1.0.0", "strict"]
    assert json.loads(ojs("schemas", "show", "mail.send").out) == one
    assert json.loads(ojs("schemas", "show", "mail.send", "1.0.0").out) == one
    assert ojs("schemas", "validate", "mail.send", "a@example.org").code == OK
    wrong = ojs("schemas", "validate", "mail.send", "5")
    assert (wrong.code, wrong.rows[0][1]) == (NOT_SO, "type")
    assert json.loads(ojs("schemas", "validate", "mail.send", "5", "-o", "json").out)["items"]
    narrower = json.dumps(one | {"minItems": 2})
    for words in (("compare", "mail.send"), ("register", "mail.send", "1.1.0")):
        said = ojs("schemas", *words, narrower)
        assert said.code == (NOT_SO if words[0] == "compare" else REFUSED)
        assert said.rows[0][1] == "constraint_narrowed"
    assert ojs("schemas", "compare", "mail.send", json.dumps(one)).code == OK
    assert ojs("schemas", "register", "mail.send", "2.0.0", narrower).code == OK
    assert [row[1] for row in ojs("schemas", "list", "mail.send").rows] == ["2.0.0", "1.0.0"]
    assert len(ojs("schemas").rows) == 2
    assert ojs("schemas", "delete", "mail.send", "1.0.0").code == MISUSED
    assert ojs("schemas", "delete", "mail.send", "1.0.0", "--yes").code == OK
    near = ojs("schemas", "show", "mail.sned")
    assert (near.code, "did you mean mail.send?" in near.err) == (NOT_FOUND, True)
    again = ojs("schemas", "register", "mail.send", "2.0.0", narrower)
    assert again.code == CONFLICT


def test_webhooks_live(ojs: Ojs, call: Call) -> None:
    made = ojs("webhooks", "add", "https://example.org/hook", "job.*", "-q", "mail", "-o", "json")
    hook = json.loads(made.out)
    assert hook["secret"]
    assert "not shown again" in made.err
    id = hook["id"]
    (row,) = ojs("webhooks").rows
    assert (row[0], row[1], row[3:]) == (id, "active", ["https://example.org/hook", "job.*"])
    assert "secret" not in ojs("webhooks", "show", id).out.replace("old_secret", "")
    assert json.loads(ojs("webhooks", "rotate", id, "-o", "json").out)["secret"] != hook["secret"]
    assert ojs("webhooks", "pause", id).rows[0][1] == "paused"
    assert ojs("webhooks", "resume", id).rows[0][1] == "active"
    # A server with test hooks sends nothing.
    tested = ojs("webhooks", "test", id)
    assert (tested.code, "success" in tested.out) == (NOT_SO, True)
    assert ojs("webhooks", "deliveries", id, "--status", "dead").rows == []
    assert ojs("webhooks", "redeliver", "--dead-of", id).code == OK
    assert ojs("webhooks", "redeliver", "dlv_none").code == NOT_FOUND
    assert ojs("webhooks", "delete", id).code == MISUSED
    assert ojs("webhooks", "delete", id, "--yes").rows == [[id, "deleted"]]
    assert ojs("webhooks", "show", id).code == NOT_FOUND


@pytest.fixture
def dead() -> Iterator[str]:
    """A server with a webhook of which one delivery was given up."""
    delivery = {"id": "dlv_1", "status": "dead", "event_type": "job.failed", "attempts": 8}
    answers = {
        "/ojs/v1/webhooks/subscriptions/sub_1": {"subscription": {"id": "sub_1"}},
        "/ojs/v1/webhooks/deliveries": {"deliveries": [delivery]},
        "/ojs/v1/webhooks/deliveries/dlv_1/retry": {"delivery": delivery | {"status": "pending"}},
    }
    with answering(answers) as url:
        yield url


def test_what_a_webhook_missed_is_sent_again_after_a_question(run: Ojs, dead: str) -> None:
    words = ("webhooks", "redeliver", "--dead-of", "sub_1", "--url", dead)
    asked = run(*words)
    assert (asked.code, "send 1 delivery again" in asked.err) == (MISUSED, True)
    said = run(*words, "--yes")
    assert [row[:2] for row in said.rows] == [["dlv_1", "pending"]]


def test_changes_are_listed_by_who_made_them(ojs: Ojs, call: Call) -> None:
    call("POST", "/jobs", type="t", args=[], options={"queue": "mail"})
    ojs("queues", "pause", "mail")
    (row,) = ojs("actions", "--target", "mail", "--since", "1h").rows
    assert row[3:6] == ["POST /ojs/v1/queues/{name}/pause", "mail", "done"]
    assert ojs("actions", "--by", "nobody").rows == []
    assert ojs("actions", "--until", "1h", "-n", "5").code == OK
