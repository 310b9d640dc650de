"""Opening a store from a database URL."""

from contextlib import closing
from pathlib import Path

import pytest

from ojs_server.store.errors import SchemaError, StoreUnavailable
from ojs_server.store.open import check_schema, open_store
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


def test_a_schema_is_checked_beside_a_server(store_url: str) -> None:
    with closing(open_store(store_url)):
        check_schema(store_url)
    check_schema(store_url)


def test_an_empty_database_has_an_older_schema(sqlite_path: Path, postgres_url: str) -> None:
    sqlite_path.touch()
    for url in (str(sqlite_path), postgres_url):
        for _ in range(2):
            with pytest.raises(SchemaError, match=r"has schema 0, .* `ojs-server migrate`"):
                check_schema(url)
    assert sqlite_path.stat().st_size == 0


def test_a_schema_is_checked_without_making_files(sqlite_path: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot open"):
        check_schema(str(sqlite_path))
    assert list(tmp_path.iterdir()) == []
    open_store(str(sqlite_path)).close()
    before = sorted(tmp_path.iterdir())
    check_schema(str(sqlite_path))
    assert sorted(tmp_path.iterdir()) == before


def test_a_database_that_does_not_answer_has_no_schema() -> None:
    with pytest.raises(StoreUnavailable):
        check_schema("postgresql://u@127.0.0.1:9/n")
    with pytest.raises(ValueError, match="mysql"):
        check_schema("mysql://localhost/jobs")
