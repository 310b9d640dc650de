"""The file of named servers, and that clients and workers find their server in the same way."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ojs_worker import BlockingClient, Client, Worker
from ojs_worker.config import SettingError
from ojs_worker.settings import load, variables_of
from ojs_worker.transport.tls import connection
from ojs_worker.zeebe import ZeebeClient
from tests.worker.scripted import ScriptedServer, job, listening

Write = Callable[[str], dict[str, str]]
TWO = """
server = "near"
[servers.near]
url = "http://near"
auth_token = "near-key"
[servers.far]
url = "https://far"
auth_token_file = "far.key"
read_only = true
confirm_over = 10
colour = "red"
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the file for its owner alone; answers an environment that names it."""

    def made(text: str) -> dict[str, str]:
        file = tmp_path / "servers.toml"
        file.touch(mode=0o600)
        file.write_text(text)
        return {"OJS_SERVERS": str(file)}

    return made


def test_flags_code_and_environment_name_a_server(write: Write, tmp_path: Path) -> None:
    env = write(TWO)
    (tmp_path / "far.key").write_text("far-key\n")
    usual = load({}, {}, env)
    assert (usual.server, usual.url, usual.auth_token) == ("near", "http://near", "near-key")
    for flags, code, more in (
        ({"server": "far"}, {"server": "near"}, {}),
        ({"server": "far"}, {"url": "http://code"}, {"OJS_URL": "http://env"}),
        ({}, {"server": "far"}, {"OJS_SERVER": "near"}),
        ({}, {}, {"OJS_SERVER": "far"}),
    ):
        config = load(flags, code, {**env, **more})
        assert (config.url, config.auth_token) == ("https://far", "far-key")


def test_a_url_leaves_the_file_and_its_keys_alone(write: Write) -> None:
    env = write(TWO)
    for config in (
        load({"url": "http://other"}, {"server": "near"}, env),
        load({}, {"url": "http://other"}, {**env, "OJS_SERVER": "near"}),
        load({}, {}, {**env, "OJS_URL": "http://other"}),
    ):
        assert (config.url, config.auth_token) == ("http://other", None)
    # A setting from the same source as the name takes precedence over the file; one from a weaker
    # source does not.
    assert load({"auth_token": "k", "server": "near"}, {}, env).auth_token == "k"
    near = load({"server": "near"}, {}, {**env, "OJS_AUTH_TOKEN": "k"})
    assert near.auth_token == "near-key"


def test_processes_of_a_worker_find_its_server(write: Write, tmp_path: Path) -> None:
    env = {**write(TWO), "OJS_SERVER": "far"}
    (tmp_path / "far.key").write_text("far-key")
    there = {**env, **variables_of(load({}, {}, env))}
    assert (load({}, {}, there).url, load({}, {}, there).auth_token) == ("https://far", "far-key")


def test_the_file_is_found_at_home_or_there_is_none(write: Write, tmp_path: Path) -> None:
    write("")
    folder = tmp_path / ".config" / "ojs"
    folder.mkdir(parents=True)
    (folder / "servers.toml").write_text('server = "a"\n[servers.a]\nurl = "http://a"\n')
    assert load({}, {}, {"HOME": str(tmp_path)}).url == "http://a"
    assert load({}, {}, {"XDG_CONFIG_HOME": str(folder.parent)}).url == "http://a"
    assert load({}, {}, {"HOME": str(folder)}).url == "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[servers.near]\n", "servers.toml: Object missing required field `url`"),
        ("servers = 1\n", "servers.toml: Expected `object`"),
        ("[servers.near]\nurl = 'u'\nkey = 'k'\n", "unknown field `key`"),
        ("port = 8080\n", "'port' does not belong in a file of servers.*OJS_CONFIG"),
        ("server =", "servers.toml: Invalid value"),
        ("\xff" * 600_000, "is too long"),
        ("[servers.naer]\nurl = 'u'\n", 'no server "near" in .*; did you mean "naer"'),
        ("[servers.near]\nurl = 'u'\nauth_token_file = 'none'\n", "auth_token_file: .*none: No"),
    ],
)
def test_a_file_that_is_no_good_is_told(write: Write, text: str, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        load({"server": "near"}, {}, write(text))


def test_a_missing_file_and_two_places_at_once_are_told(write: Write) -> None:
    with pytest.raises(SettingError, match="OJS_SERVERS: there is no file /none"):
        load({}, {}, {"OJS_SERVERS": "/none"})
    with pytest.raises(SettingError, match="`server`: goes without a URL beside it"):
        load({}, {"url": "http://a", "server": "near"}, write(TWO))
    with pytest.raises(SettingError, match='no server "far" in a file, for there is no home'):
        load({"server": "far"}, {}, {})


def test_keys_that_others_may_read_are_refused(write: Write) -> None:
    env = write(TWO)
    file = Path(env["OJS_SERVERS"])
    file.chmod(0o644)
    with pytest.raises(SettingError, match=re.escape(f"chmod 600 {file}")):
        load({}, {}, env)
    file.write_text('server = "a"\n[servers.a]\nurl = "http://a"\n')
    assert load({}, {}, env).url == "http://a"


async def test_clients_and_workers_find_the_server_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    server = ScriptedServer()
    server.answers["/ojs/v1/jobs"] = lambda body: (201, {"job": job(1)})
    async with listening(server) as url:
        for variable, value in write(f'[servers.here]\nurl = "{url}"\n').items():
            monkeypatch.setenv(variable, value)
        monkeypatch.setenv("OJS_SERVER", "here")
        async with Client() as client:
            await client.enqueue("a.b")
        async with ZeebeClient() as zeebe:
            await zeebe.create_job("a.b")
        await Worker().client.enqueue("a.b")
        assert len(server.of("/ojs/v1/jobs")) == 3
    assert Worker().config().url == url
    # Settings of workers do not affect clients.
    monkeypatch.setenv("OJS_CONCURRENCY", "many")
    assert connection(None).url == url
    with BlockingClient(), pytest.raises(SettingError, match="OJS_CONCURRENCY"):
        Worker().config()
