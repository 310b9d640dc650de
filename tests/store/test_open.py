"""Opening a store from a database URL."""

from contextlib import closing
from pathlib import Path

import pytest

from ojs_server.store.open import open_store
from ojs_server.store.sqlite.store import SqliteStore


def test_a_path_is_a_sqlite_file(sqlite_path: Path) -> None:
    with closing(open_store(str(sqlite_path))) as store:
        assert (store.kind, store.location) == ("sqlite", str(sqlite_path))
    assert sqlite_path.exists()


def test_a_sqlite_url_may_be_absolute(sqlite_path: Path) -> None:
    with closing(open_store(f"sqlite:///{sqlite_path}")) as store:
        assert store.location == str(sqlite_path)


def test_a_sqlite_url_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_store("sqlite:///my%20jobs.db")) as store:
        assert store.location == str(tmp_path / "my jobs.db")


def test_memory_is_a_private_database() -> None:
    with closing(open_store(":memory:")) as one, closing(open_store(":memory:")) as other:
        assert isinstance(one, SqliteStore)
        assert one.location != other.location


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_postgres_url_has_two_spellings(postgres_url: str, scheme: str) -> None:
    with closing(open_store(postgres_url.replace("postgresql", scheme, 1))) as store:
        assert store.kind == "postgres"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://localhost/jobs",
        "redis://localhost",
        "file:///jobs.db",
        "://jobs.db",
        "sqlite://jobs.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///jobs.db?mode=ro",
    ],
)
def test_any_other_setting_is_refused_with_the_allowed_forms(url: str) -> None:
    with pytest.raises(ValueError, match=r"use `:memory:`, a file path, sqlite:///PATH .*postgres"):
        open_store(url)
