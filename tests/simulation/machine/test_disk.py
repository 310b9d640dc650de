"""The disk under SQLite: what survives a crash, what does not, and faults that are answered."""

import gc
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec
import pytest

from ojs_server.environment import Inbox, machine
from ojs_server.store.base import OutcomeUnknown, StoreUnavailable
from ojs_server.store.sqlite.store import SqliteStore
from tests.simulation.machine.disk import Disk, Operation
from tests.simulation.machine.unsynced import CHUNK, Unsynced
from tests.store.records import HandClock, a_job, put

FAILURES = (StoreUnavailable, OutcomeUnknown)
SEEDS = 200

Item = TypeVar("Item")


@contextmanager
def mounted(seed: int) -> Iterator[Disk]:
    """A disk under all connections that are opened meanwhile."""
    disk = Disk(random.Random(seed))
    try:
        yield disk
    finally:
        disk.unregister()


class NoThreads:
    """Threads of a store that begins no checkpoint beside its commits."""

    def executor(self, most: int, name: str) -> Executor:
        raise AssertionError("a store has no executor")

    def inbox(self, name: str, do: Callable[[Item], None]) -> Inbox[Item]:
        return AtOnce(do)


class AtOnce:
    """Does what a thread would do, before it answers."""

    def __init__(self, do: Callable[[Any], None]) -> None:
        self._do = do

    def put(self, item: Any) -> None:
        self._do(item)

    def close(self) -> None:
        """There is nothing to end."""


def opened(path: Path) -> SqliteStore:
    environment = msgspec.structs.replace(machine(), threads=NoThreads())
    return SqliteStore(str(path), clock=HandClock(), environment=environment)


def stored(path: Path) -> set[str]:
    """The jobs of a database that no server has open, which is whole."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        assert connection.pragma("integrity_check") == "ok"
        return {job_id for (job_id,) in connection.execute("SELECT id FROM jobs")}


def after_restart(path: Path) -> set[str]:
    """The jobs after the next start of a server."""
    opened(path).close()
    return stored(path)


def write_until_halted(store: SqliteStore, chance: random.Random, most: int = 20_000) -> set[str]:
    """Store jobs of many sizes, one in each transaction; return those that were committed."""
    done: set[str] = set()
    with suppress(*FAILURES):
        while len(done) < 100:
            job_id = f"j{len(done)}"
            put(store, a_job(job_id, args=b"[%s]" % (b"1" * chance.randrange(most))))
            done.add(job_id)
    return done


def crashed_in_the_middle(
    folder: Path, seed: int, *, power: bool, writes: int = 400, most: int = 20_000
) -> tuple[set[str], set[str]]:
    """The jobs that were committed before a crash in the middle of a write, and those after it."""
    path, chance = folder / f"{seed}.db", random.Random(-seed)
    with mounted(seed) as disk:
        store = opened(path)
        disk.halt(str(path), chance.randrange(writes))
        done = write_until_halted(store, chance, most)
        disk.crash(str(path), power=power)
        store.close()
        return done, after_restart(path)


def test_what_was_committed_survives_a_power_loss(tmp_path: Path) -> None:
    """Of the transaction that was in the middle of its COMMIT all or nothing is there."""
    for seed in range(SEEDS):
        done, left = crashed_in_the_middle(tmp_path, seed, power=True)
        assert left - {f"j{len(done)}"} == done


def test_what_was_committed_survives_a_power_loss_in_a_checkpoint(tmp_path: Path) -> None:
    for seed in range(SEEDS // 4):
        # A log of 1000 pages, which take two writes each, is carried over to the database.
        limits = {"writes": 8000, "most": 400_000}
        done, left = crashed_in_the_middle(tmp_path, seed, power=True, **limits)
        assert left - {f"j{len(done)}"} == done


def test_what_was_committed_survives_a_kill(tmp_path: Path) -> None:
    for seed in range(SEEDS // 4):
        done, left = crashed_in_the_middle(tmp_path, seed, power=False)
        assert left - {f"j{len(done)}"} == done


def test_a_store_without_syncs_loses_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class WithoutSyncs(apsw.Connection):
        """A connection with `synchronous=OFF`, whatever it is told."""

        def pragma(self, name: str, *value: Any, **options: Any) -> Any:
            return super().pragma(name, *(["OFF"] if name == "synchronous" else value), **options)

    monkeypatch.setattr(apsw, "Connection", WithoutSyncs)
    lost = 0
    for seed in range(20):
        path = tmp_path / f"{seed}.db"
        with mounted(seed) as disk:
            store = opened(path)
            put(store, a_job("j1"))
            disk.crash(str(path), power=True)
            store.close()
            try:
                lost += after_restart(path) != {"j1"}
            except (apsw.Error, *FAILURES):
                lost += 1
    assert 0 < lost < 20


# The dead store lets go of nothing.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_database_that_is_made_anew_survives_too(tmp_path: Path) -> None:
    for seed in range(SEEDS // 4):
        path = tmp_path / f"{seed}.db"
        with mounted(seed) as disk:
            disk.halt(str(path), random.Random(seed).randrange(200))
            with suppress(*FAILURES, apsw.Error):
                opened(path).close()
            disk.crash(str(path), power=True)
            assert after_restart(path) == set()
    gc.collect()


def test_a_log_that_comes_back_after_a_clean_end_does_no_harm(tmp_path: Path) -> None:
    """SQLite removes the log at the end, and does not wait for that."""
    undone = 0
    for seed in range(20):
        path = tmp_path / f"{seed}.db"
        with mounted(seed) as disk:
            with closing(opened(path)) as store:
                put(store, a_job("j1"))
            disk.crash(str(path), power=True)
            assert after_restart(path) == {"j1"}
            undone += disk.fired["removal undone"]
    assert 0 < undone < 20


@pytest.mark.parametrize("power", [True, False])
def test_a_transaction_without_its_commit_is_gone(tmp_path: Path, power: bool) -> None:
    path = tmp_path / "ojs.db"
    with mounted(1) as disk:
        store = opened(path)
        put(store, a_job("j1"))
        transaction = store.transaction()
        transaction.__enter__().insert_jobs([a_job("j2")])
        disk.crash(str(path), power=power)
        with pytest.raises(FAILURES):
            transaction.__exit__(None, None, None)
        store.close()
        assert after_restart(path) == {"j1"}
        assert disk.fired == {"power loss" if power else "kill": 1}


def test_the_dead_change_nothing_any_more(tmp_path: Path) -> None:
    """A store that is opened after the crash neither waits for their locks, nor loses its log."""
    path = tmp_path / "ojs.db"
    with mounted(1) as disk:
        dead = opened(path)
        put(dead, a_job("j1"))
        held = dead.transaction()
        held.__enter__().insert_jobs([a_job("of the dead")])
        disk.crash(str(path), power=False)
        with closing(opened(path)) as store:
            put(store, a_job("j2"))
            with pytest.raises(FAILURES):
                held.__exit__(None, None, None)
            with pytest.raises(FAILURES):
                put(dead, a_job("of the dead"))
            dead.close()
            assert store.displaced() is None
            put(store, a_job("j3"))
        assert stored(path) == {"j1", "j2", "j3"}


def test_a_second_crash_is_one_of_the_second_process(tmp_path: Path) -> None:
    path = tmp_path / "ojs.db"
    with mounted(3) as disk:
        for number in range(5):
            store = opened(path)
            put(store, a_job(f"j{number}"))
            disk.crash(str(path), power=number % 2 == 0)
            store.close()
        assert after_restart(path) == {f"j{number}" for number in range(5)}


def test_a_sync_that_fails_makes_the_commit_fail(tmp_path: Path) -> None:
    path = tmp_path / "ojs.db"
    with mounted(1) as disk, closing(opened(path)) as store:
        disk.fail("-wal", "sync", times=1)
        with pytest.raises(StoreUnavailable, match=r"ojs\.db-wal: simulated"):
            put(store, a_job("j1"))
        put(store, a_job("j2"))
        assert disk.fired == {"sync": 1}
    assert stored(path) == {"j2"}


def test_what_follows_a_failed_sync_is_durable(tmp_path: Path) -> None:
    for seed in range(SEEDS // 4):
        path = tmp_path / f"{seed}.db"
        with mounted(seed) as disk:
            store = opened(path)
            put(store, a_job("j1"))
            disk.fail("-wal", "sync", times=1)
            with pytest.raises(StoreUnavailable):
                put(store, a_job("j2"))
            put(store, a_job("j3"))
            disk.crash(str(path), power=True)
            store.close()
            assert after_restart(path) == {"j1", "j3"}


@pytest.mark.parametrize("times", [1, 2])
def test_a_commit_that_failed_does_not_come_back_after_a_kill_or_is_in_doubt(
    tmp_path: Path, times: int
) -> None:
    path = tmp_path / "ojs.db"
    with mounted(1) as disk:
        store = opened(path)
        put(store, a_job("j1"))
        # The second sync is that of the transaction that overwrites the first one.
        disk.fail("-wal", "sync", times=times)
        with pytest.raises(OutcomeUnknown if times == 2 else StoreUnavailable):
            put(store, a_job("j2"))
        disk.crash(str(path), power=False)
        store.close()
        assert after_restart(path) == {"j1"}


@pytest.mark.parametrize("operation", ["write", "full"])
def test_a_write_that_fails_makes_the_commit_fail(tmp_path: Path, operation: Operation) -> None:
    path = tmp_path / "ojs.db"
    with mounted(1) as disk, closing(opened(path)) as store:
        fault = disk.fail("-wal", operation)
        for _ in range(3):
            with pytest.raises(FAILURES):
                put(store, a_job("j1"))
        fault.lift()
        put(store, a_job("j2"))
        assert disk.fired[operation] >= 3
    assert stored(path) == {"j2"}


def test_a_full_disk_lets_what_is_there_be_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "ojs.db"
    with mounted(1) as disk, closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        disk.fail("ojs.db", "full")
        connection.execute("UPDATE t SET a = 2")
        assert connection.execute("SELECT a FROM t").get == 2
        assert not disk.fired


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ojs.db"
    with mounted(1) as disk:
        disk.fail("ojs.db", "open", times=1)
        with pytest.raises(StoreUnavailable, match="cannot open"):
            opened(path)
        assert disk.fired == {"open": 1}
        opened(path).close()


def test_a_seed_leaves_the_same_bytes(tmp_path: Path) -> None:
    def left(folder: Path) -> list[bytes]:
        folder.mkdir()
        path, chance = folder / "ojs.db", random.Random(5)
        with mounted(5) as disk:
            store = opened(path)
            disk.halt(str(path), 300)
            write_until_halted(store, chance)
            disk.crash(str(path), power=True)
            store.close()
        return [each.read_bytes() for each in sorted(folder.iterdir())]

    one, other = left(tmp_path / "one"), left(tmp_path / "other")
    assert one == other


def test_a_sector_survives_whole_or_not_at_all() -> None:
    before, after = b"b" * 3 * CHUNK, b"a" * 4 * CHUNK
    seen: set[str] = set()
    for seed in range(SEEDS):
        file = Unsynced(len(before), new=False)
        file.keep(lambda size, start: before[start : start + size], 0, len(after))
        left = file.survivors(after, random.Random(seed))
        for start in range(0, len(left), 512):
            sector = left[start : start + 512]
            assert len(set(sector)) == 1
            assert sector[:1] in (b"a", b"b" if start < len(before) else b"\0")
        assert len(before) <= len(left) <= len(after)
        seen.add(f"{b'a' in left} {b'b' in left} {len(left) == len(after)}")
    assert len(seen) == 6


def test_what_was_written_before_a_failed_sync_may_be_lost_after_the_next_one() -> None:
    def left(seed: int, again: bool) -> bytes:
        before = b"b" * CHUNK
        file = Unsynced(len(before), new=False)

        def read(size: int, start: int) -> bytes:
            return before[start : start + size]

        file.keep(read, 0, CHUNK)
        file.lose()
        if again:
            file.keep(read, 10, 20)
        file.synced(CHUNK)
        return file.survivors(b"a" * CHUNK, random.Random(seed))

    assert {left(seed, again=True) for seed in range(20)} == {b"a" * CHUNK}
    assert b"b" * CHUNK in {left(seed, again=False) for seed in range(20)}
