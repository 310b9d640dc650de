"""API keys: how they are read, whom they admit, and that none is ever shown."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ojs_server.domain.errors import Denied
from ojs_server.http.access.authorization import identify
from ojs_server.http.access.key_check import KeyCheck
from ojs_server.http.access.keys import LEAST_LENGTH, Keys, parse_keys
from ojs_server.http.access.roles import Role, written
from ojs_server.http.any_call import AnyCall
from ojs_server.observe.metrics import Metrics
from ojs_server.settings import SettingError, Settings, load_settings

ADMIN, WORKER, PRODUCER = "admin-secret-0001", "worker-secret-001", "producer-secret-1"
KEYS = parse_keys(f"admin:{ADMIN}, worker:{WORKER},", {"producer": PRODUCER, "operator": []})


def bearer(key: str) -> str:
    return f"Bearer {key}"


class Shown(AnyCall):
    """A call of which no more is known than the key that it shows."""

    server: Any
    address = "192.0.2.1"

    def __init__(self, header: str | None, keys: Keys) -> None:
        settings = Settings(keys=keys)
        check = KeyCheck(settings, lambda: 0, Metrics())
        self.server = SimpleNamespace(settings=settings, key_check=check)
        self._headers = {b"authorization": header}

    def header(self, name: bytes) -> str | None:
        return self._headers.get(name)


def admit(header: str | None, allowed: Role, keys: Keys = KEYS) -> str:
    call = Shown(header, keys)
    identify(call, frozenset({allowed}), None)
    return call.key_holder


def test_keys_come_from_the_environment_and_the_file(tmp_path: Path) -> None:
    file = tmp_path / "ojs.toml"
    file.write_text(f'[keys]\nworker = ["{WORKER}"]\nproducer = "{PRODUCER}"\n')
    settings = load_settings({"config": str(file)}, {"OJS_KEYS": f"admin:{ADMIN}"})
    assert sorted(map(written, settings.keys.roles.values())) == ["admin", "producer", "worker"]


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (f"shop=worker+producer@acme:{WORKER},shop=producer + worker@acme:{PRODUCER}", ""),
        ("", f'"worker+producer@acme" = [{{name = "shop", key = "{WORKER}"}}, "{PRODUCER}"]'),
        (
            "",
            f'[keys.shop]\nroles = ["producer", "worker"]\ntenant = "acme"\n'
            f'key = ["{WORKER}", "{PRODUCER}"]',
        ),
    ],
)
def test_a_key_may_have_several_roles(tmp_path: Path, text: str, file: str) -> None:
    path = tmp_path / "ojs.toml"
    path.write_text(f"[keys]\n{file}\n")
    keys = load_settings({"config": str(path)}, {"OJS_KEYS": text}).keys
    assert list(keys.roles.values()) == [{Role.WORKER, Role.PRODUCER}] * 2
    assert list(keys.tenants.values()) == ["acme", "acme"]
    assert set(keys.names.values()) == {"shop"}
    for role in (Role.WORKER, Role.PRODUCER):
        assert admit(bearer(WORKER), role, keys) == keys.principal_of(WORKER)
    with pytest.raises(
        Denied, match=r"role worker\+producer may not do this, which takes one of admin, operator"
    ):
        admit(bearer(WORKER), Role.OPERATOR, keys)


@pytest.mark.parametrize(
    ("key", "allowed", "admitted"),
    [
        (ADMIN, Role.WORKER, True),
        (ADMIN, Role.ADMIN, True),
        (WORKER, Role.WORKER, True),
        (WORKER, Role.PRODUCER, False),
        (PRODUCER, Role.PRODUCER, True),
        (PRODUCER, Role.ADMIN, False),
    ],
)
def test_a_role_does_what_is_its_own_and_an_admin_everything(
    key: str, allowed: Role, admitted: bool
) -> None:
    if admitted:
        assert len(admit(bearer(key), allowed)) == 32
        return
    with pytest.raises(Denied) as refused:
        admit(bearer(key), allowed)
    assert refused.value.answer_code.status == 403


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        ADMIN,
        f"Basic {ADMIN}",
        bearer(ADMIN + "x"),
        bearer(ADMIN[:-1]),
        bearer("\udcff" * 20),
        bearer("ä" * 20),
    ],
)
async def test_without_a_known_key_nobody_is_admitted(header: str | None) -> None:
    with pytest.raises(Denied) as refused:
        admit(header, Role.WORKER)
    assert refused.value.answer_code.status == 401
    assert "WWW-Authenticate" in refused.value.headers
    assert ADMIN not in refused.value.message


def test_what_anyone_may_do_needs_no_key_and_without_keys_nothing_does() -> None:
    assert admit(None, Role.ANYONE) == ""
    assert admit(None, Role.ADMIN, Keys()) == ""
    assert KEYS.needed
    assert not Keys().needed


def test_the_scheme_is_read_in_any_case_and_principals_differ() -> None:
    principal = admit(f"bEaReR  {WORKER} ", Role.WORKER)
    assert principal == admit(bearer(WORKER), Role.WORKER)
    assert principal != admit(bearer(ADMIN), Role.WORKER)


@pytest.mark.parametrize(
    "text",
    [
        "my-secret-0123456789",
        "my-secret-0123456789:admin",
        f"admin:{ADMIN},my-secret-0123456789",
        "admin:my-secret",
        "worker:my-secret-0123456789,producer:my-secret-0123456789",
        "my-secret-0123456789=",
        "my secret=admin:another-secret-000",
        "ada=admin:my-secret-0123456789,bob=admin:my-secret-0123456789",
    ],
)
def test_a_wrong_list_of_keys_is_refused_without_repeating_any(text: str) -> None:
    with pytest.raises(SettingError, match=r"^keys: ") as refused:
        load_settings({}, {"OJS_KEYS": text})
    assert "my-secret" not in str(refused.value)
    assert ADMIN not in str(refused.value)


ALLOWED = "allowed: worker, producer, viewer, operator, admin"


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ("wroker", f'number 1 does not begin with a role; {ALLOWED}, .*; did you mean "worker"'),
        ("worker+produser", f'number 1 does not .*{ALLOWED}, .*; did you mean "producer"'),
        ("worker+", f"number 1 does not begin with a role; {ALLOWED}"),
        ("worker+producer+worker", "number 1 has the role worker twice; allowed is each role once"),
        ("viewer+admin", "roles admin and viewer, but admin may do all .* allowed are admin alone"),
        ("operator+producer", "operator may do all that producer may; allowed are operator alone"),
    ],
)
def test_wrong_roles_are_told_what_is_allowed(roles: str, sentence: str) -> None:
    for table in ({}, {"shop": {"roles": roles.split("+"), "key": WORKER}}):
        text = "" if table else f"shop={roles}:{WORKER}"
        with pytest.raises(ValueError, match=sentence) as refused:
            parse_keys(text, table)
        assert WORKER not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (f"worker:{WORKER},producer:{WORKER}", r"write it once, as worker\+producer"),
        (f"viewer+worker:{WORKER},operator:{WORKER}", r"write it once, as worker\+operator,"),
        (f"worker:{WORKER},admin:{WORKER}", "write it once, as admin,"),
    ],
)
def test_one_key_with_the_roles_of_two_is_told_how_to_write_it(text: str, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        parse_keys(text, {})


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"key": WORKER}, r"needs roles, a list such as \[.worker., .producer.\]; " + ALLOWED),
        ({"roles": "worker", "key": WORKER}, "needs roles, a list such as"),
        ({"roles": ["worker"], "kee": WORKER}, 'allowed: roles, key, tenant; did you mean "key"'),
        ({"roles": ["worker"]}, "shorter than"),
        ({"roles": ["worker"], "key": WORKER, "tenant": 5}, "does not name a tenant"),
    ],
)
def test_a_wrong_table_of_a_key_is_told_what_is_allowed(
    table: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=f"^keys: .*{sentence}"):
        parse_keys("", {"shop": table})


@pytest.mark.parametrize("key", ["", "x" * (LEAST_LENGTH - 1), 5, None, {"a": 1}])
def test_a_short_key_is_refused(key: object) -> None:
    with pytest.raises(ValueError, match=f"shorter than {LEAST_LENGTH} characters"):
        parse_keys("", {"admin": key})


def test_no_key_shows_in_the_settings() -> None:
    settings = load_settings({}, {"OJS_KEYS": f"admin:{ADMIN}"})
    assert settings.keys.needed
    for shown in (repr(settings), str(settings), repr(settings.keys)):
        assert ADMIN not in shown
