"""The command: its help, and how it ends when it cannot start."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ojs_server import __version__
from ojs_server.cli import main
from ojs_server.options import COMMON, SECTIONS
from ojs_server.settings import CONFIG_ENV, KEYS_ENV, NO_MIGRATE_ENV, TABLE

SECRET = "a-secret-of-16-or-more"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting of this machine, and no log handler left behind."""
    for name in (CONFIG_ENV, KEYS_ENV, NO_MIGRATE_ENV, *(setting.env for setting in TABLE)):
        monkeypatch.delenv(name, raising=False)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("uvicorn").setLevel(logging.NOTSET)


def run(*arguments: str) -> int:
    """The exit code; argparse ends by SystemExit."""
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


def words_of(text: str) -> list[str]:
    return text.replace("[", " ").replace("]", " ").replace("\n", " ").split()


def test_help_is_short_and_leads_to_the_rest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("--help") == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) < 60
    words = words_of(text)
    for setting in TABLE:
        assert (setting.flag in words) == (setting.name in COMMON)
    assert {*COMMON} <= {setting.name for setting in TABLE}
    for name in ("--config", "--no-migrate", KEYS_ENV, "migrate", "ojs-server --help-all"):
        assert name in text
    assert "\nwebhooks:" not in text


def test_the_whole_help_mentions_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help-all") == 0
    text = capsys.readouterr().out
    words = words_of(text)
    for setting in TABLE:
        assert setting.flag in words
        assert setting.env in words
        assert setting.help.split()[0] in text
    for name in ("--config", CONFIG_ENV, "--no-migrate", NO_MIGRATE_ENV, KEYS_ENV, "migrate"):
        assert name in text


def test_the_whole_help_is_in_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help-all") == 0
    text = capsys.readouterr().out
    names = [setting.name for setting in TABLE]
    # In the order of the table, from its first line on: none is left over.
    places = [names.index(name) for name in SECTIONS]
    assert places == sorted(places)
    assert places[0] == 0
    heads = [text.index(f"\n{title}:\n") for title in SECTIONS.values()]
    assert heads == sorted(heads)
    assert text.index("--webhook-ca ") > text.index("\nwebhooks:\n")


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"ojs-server {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "eighty"], "--port: must be a whole number"),
        (["--host", "0.0.0.0"], "refusing to listen on 0.0.0.0"),
        (["--log-format", "jsn"], 'did you mean "json"'),
        (["--config", "nowhere.toml"], "cannot read nowhere.toml"),
        (["--prot", "5"], '--prot is not an option; did you mean "--port"?'),
        (["--po=5"], '--po is not an option; did you mean "--port"?'),
        (["srve"], "srve"),
    ],
)
def test_a_wrong_setting_ends_with_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("database", ["mysql://x/y", "{folder}/none/ojs.db", "{folder}"])
def test_a_database_that_cannot_be_opened_ends_with_1(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("migrate", "--database", database.format(folder=tmp_path)) == 1
    error = capsys.readouterr().err
    assert error.startswith("ojs-server: ")
    assert "Traceback" not in error


def test_migrating_brings_a_database_up_to_date_and_may_be_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ojs.db"
    for _ in range(2):
        assert run("migrate", "--database", str(path)) == 0
        assert f"the schema of {path.resolve()} is up to date" in capsys.readouterr().out
    assert path.exists()


def test_no_migrate_refuses_an_older_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--no-migrate", "--database", str(tmp_path / "ojs.db")) == 1
    assert "ojs-server migrate" in capsys.readouterr().err


def test_a_key_is_never_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for given in (f"admin:{SECRET}", SECRET, f"{SECRET}:admin", f"worker:{SECRET},admin:{SECRET}"):
        monkeypatch.setenv(KEYS_ENV, given)
        run("migrate", "--log-level", "debug", "--database", str(tmp_path / "ojs.db"))
        captured = capsys.readouterr()
        assert SECRET not in captured.out + captured.err


def test_traces_without_their_packages_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ojs_server.http.tracing", None)
    monkeypatch.delattr("ojs_server.http.tracing", raising=False)
    assert run("--traces", "--database", str(tmp_path / "ojs.db")) == 2
    assert "tracing" in capsys.readouterr().err


def test_a_port_for_grpc_without_its_packages_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ojs_server.grpc.serving", None)
    assert run("--grpc-port", "0", "--database", str(tmp_path / "ojs.db")) == 2
    assert "grpc" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["no certificate", None])
def test_authorities_that_cannot_be_read_are_refused(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    assert run("--webhook-ca", str(file), "--database", str(tmp_path / "ojs.db")) == 2
    assert f"webhook_ca: {file}" in capsys.readouterr().err
