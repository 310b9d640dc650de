"""The tables of `docs/clients.md`, made from the recordings."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.http.exchanges.recording import Recording

PAGE: Final = Path(__file__).parents[3] / "docs" / "clients.md"
COMMAND: Final = "python -m tests.http.exchanges"
# A table stands between these two; the name is a client's, or `clients` for the list of all.
TABLE: Final = re.compile(
    rf"(?<=<!-- {re.escape(COMMAND)}: )([a-z-]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL
)


def written(text: str, recordings: Iterable[Recording]) -> str:
    """The page with its tables as the recordings say."""
    tables = {one.client: _calls(one) for one in recordings}
    tables["clients"] = _clients(recordings)
    return TABLE.sub(lambda found: f"{found[1]}{found[2]}\n{tables[found[1]]}\n", text)


def _clients(recordings: Iterable[Recording]) -> str:
    head = ("Client", "Version", "Commit", "Calls", "Run", "Read", "Fail")
    return _table(head, (_counts(one) for one in recordings))


def _counts(one: Recording) -> tuple[str, ...]:
    failing = sum(bool(call.fails) for call in one.calls.values())
    counts = (len(one.calls), len(one.run), len(one.calls) - len(one.run), failing)
    return (f"`{one.client}`", one.version, f"`{one.commit}`", *(str(count) for count in counts))


def _calls(one: Recording) -> str:
    return _table(("Call", "Request", "Proof", "Outcome"), _rows(one))


def _rows(one: Recording) -> Iterator[tuple[str, ...]]:
    for name, call in one.calls.items():
        proof = "run" if name in one.run else "read"
        outcome = f"fails: {call.fails}" if call.fails else "works"
        yield f"`{name}`", f"`{call.send}`" if call.send else "none", proof, outcome


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
