"""A program with an outbox on SQLite that uses the standard library only, to be judged.

It does what `spec/47-framework-adapters.md` asks, or with ``--fault NAME`` all but one thing. The
judge starts it as a process, so nothing of this project is imported.
"""

import http.client
import json
import os
import random
import sqlite3
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

FAULTS = (
    "sends_before_the_commit",
    "sends_after_the_commit",
    "gives_no_id",
    "keeps_jobs_of_a_savepoint",
    "marks_before_it_sends",
    "sends_in_any_order",
    "forgets_when_refused",
    "gives_other_arguments",
    "loses_jobs_of_a_savepoint",
    "enqueues_nothing_at_once",
    "marks_more_than_it_sends",
    "says_enqueued_too_late",  # a lie, which is no fault of an adapter
    "says_what_it_did_not_commit",  # another one
    "sends_one_at_a_time",  # not a fault: each time its relay runs
)
FAULT = sys.argv[sys.argv.index("--fault") + 1] if "--fault" in sys.argv else ""
PLACE = os.path.join(os.environ["OJS_CONFORMANCE_DIR"], "shop.db")
TABLES = """
CREATE TABLE IF NOT EXISTS orders (name TEXT PRIMARY KEY) STRICT;
CREATE TABLE IF NOT EXISTS outbox (
    number INTEGER PRIMARY KEY, job TEXT NOT NULL, sent INTEGER NOT NULL DEFAULT 0
) STRICT;
"""
DIRECT = FAULT in (
    "sends_before_the_commit",
    "sends_after_the_commit",
    "says_enqueued_too_late",
)
Reach = Callable[[str], None]


class Failed(Exception):
    """The request has failed."""


class Undone(Exception):
    """The program rolls a transaction back."""


def tell(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def send(job: dict[str, Any]) -> None:
    """Enqueue over HTTP."""
    url = urlsplit(os.environ["OJS_URL"])
    connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=30)
    with closing(connection):
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/ojs/v1/jobs", json.dumps(job), headers)
            status = connection.getresponse().status
        except OSError as error:
            raise Failed(f"the server does not answer: {error}") from error
    if status not in (200, 201):
        raise Failed(f"the server answered {status}")


def new_id() -> str:
    """A UUIDv7."""
    value = (int(time.time() * 1000) << 80) | (random.getrandbits(80) & ~(0xF000C << 60))
    return str(uuid.UUID(int=value | (0x70008 << 60)))


class Shop:
    """The program's database."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(PLACE, isolation_level=None, timeout=30)
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.executescript(TABLES)
        self.after: list[dict[str, Any]] = []

    @contextmanager
    def block(self, begin: str, commit: str, rollback: str) -> Iterator[None]:
        """A transaction or savepoint; an exception rolls it back."""
        self.database.execute(begin)
        try:
            yield
        except BaseException:
            for statement in rollback.split(";"):
                self.database.execute(statement)
            raise
        self.database.execute(commit)

    def enqueue(self, job: dict[str, Any]) -> None:
        """Enqueue in the open transaction, or at once where there is none."""
        if FAULT == "gives_other_arguments":
            job["args"] = [{"row": job["args"][0]}]
        if FAULT == "enqueues_nothing_at_once" and not self.database.in_transaction:
            return
        if DIRECT and (FAULT == "sends_before_the_commit" or not self.database.in_transaction):
            send(job)
        elif DIRECT:
            self.after.append(job)
        else:
            if FAULT != "gives_no_id":
                job["id"] = new_id()
            self.database.execute("INSERT INTO outbox (job) VALUES (?)", (json.dumps(job),))

    def write(self, asked: dict[str, Any], rows: list[str], reach: Reach) -> None:
        for row in rows:
            self.database.execute("INSERT INTO orders VALUES (?)", (row,))
            reach("row-written")
            self.enqueue({"type": asked["type"], "args": [row], "queue": asked["queue"]})
            if FAULT != "says_enqueued_too_late":
                reach("enqueued")

    def transaction(self, asked: dict[str, Any], reach: Reach) -> None:
        self.after.clear()
        try:
            lies = FAULT == "says_what_it_did_not_commit"
            with self.block("BEGIN", "ROLLBACK" if lies else "COMMIT", "ROLLBACK"):
                reach("began")
                self.write(asked, asked["rows"], reach)
                if asked.get("nested"):
                    self.savepoint(asked, reach)
                if asked["ends"] != "commit":
                    raise Undone
        except Undone:
            self.after.clear()
        else:
            reach("committed")
        for job in self.after:
            send(job)
            if FAULT == "says_enqueued_too_late":
                reach("enqueued")

    def savepoint(self, asked: dict[str, Any], reach: Reach) -> None:
        known = self.database.execute("SELECT count(*) FROM outbox").fetchone()[0]
        kept: list[tuple[str]] = []
        try:
            with self.block("SAVEPOINT s", "RELEASE s", "ROLLBACK TO s;RELEASE s"):
                self.write(asked, asked["nested"], reach)
                jobs = self.database.execute("SELECT job FROM outbox LIMIT -1 OFFSET ?", (known,))
                kept = jobs.fetchall()
                if asked["nested_ends"] != "commit":
                    raise Undone
        except Undone:
            if FAULT == "keeps_jobs_of_a_savepoint":
                self.database.executemany("INSERT INTO outbox (job) VALUES (?)", kept)
        else:
            if FAULT == "loses_jobs_of_a_savepoint":
                self.database.execute("DELETE FROM outbox WHERE number > ?", (known,))

    def relay(self, reach: Reach) -> None:
        found = self.database.execute("SELECT number, job FROM outbox WHERE sent = 0 ORDER BY 1")
        waiting = found.fetchall()
        if FAULT == "sends_in_any_order":
            waiting.reverse()
        if not waiting:
            return
        reach("relay-read")
        for place, (number, job) in enumerate(waiting):
            if FAULT == "marks_more_than_it_sends" and place >= 10:
                self.mark(number, reach)
                continue
            if FAULT == "marks_before_it_sends":
                self.mark(number, reach)
            try:
                send(json.loads(job))
            except Failed:
                if FAULT == "forgets_when_refused":
                    self.mark(number, reach)
                raise
            reach("relay-sent")
            self.mark(number, reach)
            if FAULT == "sends_one_at_a_time":
                return

    def mark(self, number: int, reach: Reach) -> None:
        self.database.execute("UPDATE outbox SET sent = 1 WHERE number = ?", (number,))
        reach("relay-marked")

    def there(self, rows: list[str]) -> list[str]:
        asked = "SELECT name FROM orders, json_each(?) WHERE name = value"
        return [name for (name,) in self.database.execute(asked, (json.dumps(rows),))]


def hello() -> dict[str, Any]:
    points = ["began", "row-written", "enqueued", "committed"]
    points += [] if DIRECT else ["relay-read", "relay-sent", "relay-marked"]
    named = {"name": "plain_adapter", "version": "1"}
    return {"points": points, "relay": not DIRECT, "ordered": not DIRECT, **named}


def carry_out(shop: Shop, asked: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for; return the members of its answer."""
    waiting = asked.get("pause_at")

    def reach(point: str) -> None:
        nonlocal waiting
        if waiting == point:
            waiting = None
            tell({"id": asked["id"], "at": point})
            assert json.loads(sys.stdin.readline()) == {"id": asked["id"], "go": True}

    try:
        if asked["do"] == "hello":
            return {"hello": hello()}
        if asked["do"] == "transaction":
            shop.transaction(asked, reach)
        elif asked["do"] == "enqueue":
            shop.enqueue({"type": asked["type"], "args": [asked["row"]], "queue": asked["queue"]})
        elif asked["do"] == "relay":
            shop.relay(reach)
        elif asked["do"] == "rows":
            return {"rows": shop.there(asked["of"])}
        else:
            return {"unsupported": f"it does not know {asked['do']}"}
    except Failed as error:
        return {"failed": str(error)}
    return {"done": True}


def main() -> None:
    shop = Shop()
    for line in sys.stdin:
        asked = json.loads(line)
        tell({"id": asked["id"], **carry_out(shop, asked)})


if __name__ == "__main__":
    main()
