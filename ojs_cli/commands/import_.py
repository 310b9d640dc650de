"""`ojs import`: enqueue jobs from lines of JSON."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
import msgspec

from ojs_cli.failures import OK, PART_DONE, REFUSED, Failure
from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.progress import Progress
from ojs_cli.server import Server
from ojs_cli.session import Session
from ojs_cli.text import count
from ojs_cli.transfer import place as places
from ojs_cli.transfer.line import MOST_BYTES, amiss
from ojs_cli.transfer.place import Place
from ojs_worker.errors import OjsError, Refused, Unreachable

CHUNK: Final = 1000
CHUNK_BYTES: Final = 4 * 1024 * 1024
TRIES: Final = 6
# Most refusals that are printed.
MAX_PRINTED: Final = 20
ENTRY = Entry(Section.SERVERS, 4, "enqueue jobs from such lines")


class Chunk(msgspec.Struct):
    """Lines that are sent in one call, and the position in the file after them."""

    lines: list[bytes] = []
    numbers: list[int] = []
    wrong: list[tuple[int, str]] = []
    size: int = 0
    end: int = 0


class Tally(msgspec.Struct):
    """Counts of the lines: stored, known already, refused."""

    stored: int = 0
    known: int = 0
    refused: int = 0


@click.command("import", cls=Verb)
@click.argument("source", metavar="FILE|-")
@click.pass_obj
def command(session: Session, source: str) -> int:
    """Enqueue jobs from a file, or from standard input: a line of JSON each.

    A job whose id is there already is left as it is. Killed at any time, the same command goes
    on where it was.
    """
    if source == "-":
        place = Place(source, session.environment.new_id())
        return _imported(session, sys.stdin.buffer, place, None, None)
    file = Path(source)
    place_file = places.path_of(file, "importing")
    place = places.read(place_file) or Place(session.server.url, session.environment.new_id())
    if place.what != session.server.url:
        raise Failure(
            f"{file} was begun to be imported into {place.what}",
            f"go on there, or remove {place_file}",
        )
    if place.bytes:
        session.output.note(f"ojs: goes on behind {count(place.jobs, 'line')}")
    try:
        opened = file.open("rb")
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None
    with opened:
        opened.seek(place.bytes)
        places.write(place_file, place)
        code = _imported(session, opened, place, place_file, file.stat().st_size)
    place_file.unlink()
    return code


def _imported(
    session: Session, file: BinaryIO, place: Place, place_file: Path | None, size: int | None
) -> int:
    tally = Tally()
    with Progress(session, "bytes", size, start=place.bytes) as progress:
        for chunk in _chunks(file, place):
            if chunk.lines:
                answer = _sent(session.server, place, chunk)
                _count(session, tally, chunk, answer)
            for number, reason in chunk.wrong:
                _refused(session, tally, number, reason)
            place = msgspec.structs.replace(
                place, bytes=chunk.end, jobs=place.jobs + len(chunk.lines) + len(chunk.wrong)
            )
            if place_file is not None:
                places.write(place_file, place)
            progress.at(place.bytes, count(tally.stored, "job"))
    known = f", {tally.known:,} were there already" if tally.known else ""
    refused = f", {tally.refused:,} refused" if tally.refused else ""
    session.output.note(f"ojs: stored {count(tally.stored, 'job')}{known}{refused}")
    if not tally.refused:
        return OK
    return PART_DONE if tally.stored or tally.known else REFUSED


def _chunks(file: BinaryIO, place: Place) -> Iterator[Chunk]:
    """Yield the rest of a file in chunks; no more than one is held."""
    chunk = Chunk(end=place.bytes)
    number = place.jobs
    while line := file.readline(MOST_BYTES + 2):
        number += 1
        chunk.end += len(line)
        while not line.endswith(b"\n") and (more := file.readline(MOST_BYTES)):
            # Too long: skip the rest of the line.
            chunk.end += len(more)
            line = line[: MOST_BYTES + 1] + more[-1:]
        if reason := amiss(line.strip()) if line.strip() else None:
            chunk.wrong.append((number, reason))
        elif line.strip():
            chunk.lines.append(line.strip())
            chunk.numbers.append(number)
            chunk.size += len(line)
        if len(chunk.lines) + len(chunk.wrong) >= CHUNK or chunk.size >= CHUNK_BYTES:
            yield chunk
            chunk = Chunk(end=chunk.end)
    if chunk.lines or chunk.wrong:
        yield chunk


def _sent(server: Server, place: Place, chunk: Chunk) -> list[dict[str, Any]]:
    """Send a chunk until there is an answer; sent twice it is taken once."""
    key = f"{place.run}-{place.bytes}"
    body = b'{"idempotency_key":"%b","jobs":[%b]}' % (key.encode(), b",".join(chunk.lines))
    for attempt in range(1, TRIES + 1):
        try:
            answer = server.send("POST", "/jobs/bulk", body, timeout_s=120)
            found = msgspec.json.decode(answer, type=dict[str, Any]).get("items")
            return found if isinstance(found, list) else []
        except (Unreachable, Refused) as error:
            if attempt == TRIES or (isinstance(error, Refused) and error.is_final):
                raise _stopped(error, place) from error
            after = error.retry_after_s if isinstance(error, Refused) else None
            time.sleep(min(after or 0.2 * 2**attempt, 30))
    raise AssertionError("the last attempt raises")


def _stopped(error: OjsError, place: Place) -> OjsError:
    error.args = (f"{error}; stopped behind {count(place.jobs, 'line')}", *error.args[1:])
    return error


def _count(session: Session, tally: Tally, chunk: Chunk, items: list[dict[str, Any]]) -> None:
    for place, item in enumerate(items):
        status = item.get("status")
        error = item.get("error") or {}
        # A job that an earlier request made, with the same id.
        known = status == "duplicate" or error.get("code") == "duplicate"
        tally.stored += status == "created"
        tally.known += known
        if status == "failed" and not known:
            index = item.get("index", place)
            _refused(session, tally, chunk.numbers[index], str(error.get("message")))


def _refused(session: Session, tally: Tally, number: int, reason: str) -> None:
    tally.refused += 1
    if tally.refused <= MAX_PRINTED:
        session.output.note(f"ojs: line {number}: {reason}")
