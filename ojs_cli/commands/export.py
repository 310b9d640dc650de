"""`ojs export`: jobs as they would be enqueued, a line each."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import click
import msgspec

from ojs_cli import filters, finding
from ojs_cli.commands.jobs import words
from ojs_cli.failures import MISUSED, Failure
from ojs_cli.filters import Filter
from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.progress import Progress
from ojs_cli.server import Server
from ojs_cli.session import Session
from ojs_cli.text import count
from ojs_cli.transfer import place as places
from ojs_cli.transfer.line import Page, line_of
from ojs_cli.transfer.place import Place

PAGE: Final = 1000
# States of jobs that are neither finished nor held by a worker.
WAITING: Final = "scheduled,available,pending,retryable"
ENTRY = Entry(Section.SERVERS, 3, "write jobs as they would be enqueued, a line each")


@click.command("export", cls=Verb)
@words
@click.option("--out", type=click.Path(path_type=Path), help="a file; without it, the output")
@click.pass_obj
def command(session: Session, words: Sequence[str], out: Path | None) -> None:
    """Write jobs as they would be enqueued, a line of JSON each, the newest first.

    Without states in the filter, those that wait. Killed at any time, the same command with the
    same --out goes on where it was.
    """
    job_filter = filters.parse(words, session.environment.wall_ms())
    if job_filter.is_local:
        raise Failure(
            "export takes what the server looks for",
            "that is state:, queue:, type:, priority:, since:, until: and older:",
            exit_code=MISUSED,
        )
    job_filter.parameters.setdefault("states", WAITING)
    if out is None:
        for _ in _written(session.server, job_filter, Place("", ""), sys.stdout.buffer):
            pass
        return
    _to_file(session, job_filter, out)


def _to_file(session: Session, job_filter: Filter, out: Path) -> None:
    place_file = places.path_of(out, "exporting")
    place = places.read(place_file)
    if place is None:
        if out.exists():
            raise Failure(f"{out} is there already", "remove it, or name another file")
        place = Place(job_filter.text, session.environment.new_id())
        out.touch(mode=0o600)
        places.write(place_file, place)
    elif place.what != job_filter.text:
        raise Failure(
            f"{out} was begun with {place.what or 'no filter'}",
            f"go on with that, or remove {place_file}",
            exit_code=MISUSED,
        )
    else:
        session.output.note(f"ojs: goes on behind {count(place.jobs, 'job')}")
    total, exact = finding.count(session.server, job_filter)
    with (
        out.open("r+b") as file,
        Progress(session, "exported", total if exact else None, start=place.jobs) as progress,
    ):
        # Bytes after this position are from an interrupted step.
        file.truncate(place.bytes)
        file.seek(place.bytes)
        for reached in _written(session.server, job_filter, place, file):
            os.fsync(file.fileno())
            places.write(place_file, reached)
            progress.at(reached.jobs)
            place = reached
    place_file.unlink()
    session.output.note(f"ojs: {count(place.jobs, 'job')} in {out}")


def _written(server: Server, job_filter: Filter, place: Place, file: BinaryIO) -> Iterator[Place]:
    """Write from a place on; yields each that is reached."""
    while True:
        page = server.read("/jobs", Page, **job_filter.parameters, limit=PAGE, cursor=place.cursor)
        text = b"".join(line_of(job) for job in page.found)
        file.write(text)
        file.flush()
        place = msgspec.structs.replace(
            place,
            bytes=place.bytes + len(text),
            jobs=place.jobs + len(page.found),
            cursor=page.following,
        )
        yield place
        if place.cursor is None:
            return
