"""The progress of a transfer, kept in a small file beside the data; after a kill, one step is
repeated."""

import os
from pathlib import Path

import msgspec

from ojs_cli.failures import Failure


class Place(msgspec.Struct):
    """The progress of a transfer: the bytes, the jobs and the cursor so far."""

    # Description of the transfer; with another filter or file it is another transfer.
    what: str
    # The id of the run; it makes a chunk that is sent twice count once.
    run: str
    bytes: int = 0
    jobs: int = 0
    cursor: str | None = None


def path_of(file: Path, suffix: str) -> Path:
    """Return the path of the file that keeps the progress of a transfer."""
    return file.with_name(f"{file.name}.{suffix}")


def read(path: Path) -> Place | None:
    """Read the progress from a file; None if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Place)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: {error}", "remove it to begin anew") from None


def write(path: Path, place: Place) -> None:
    """Write the progress to the file atomically."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as opened:
        opened.write(msgspec.json.encode(place))
        opened.flush()
        os.fsync(opened.fileno())
    fresh.replace(path)
