"""The parts of `docs/clients.md` that are made from the recordings: a table of all clients, and
the calls of each client, with the raw exchange of each that fails."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.clients.runs import Client, recorded
from tests.http.exchanges.answers import raw_exchanges
from tests.http.exchanges.recording import Recording

PAGE: Final = Path(__file__).parents[3] / "docs" / "clients.md"
COMMAND: Final = "python -m tests.http.exchanges"
# A part stands between these two; the name is a client's, or that of one of the two tables.
PART: Final = re.compile(
    rf"(?<=<!-- {re.escape(COMMAND)}: )([a-z-]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL
)
COUNTS: Final = ("Scenarios", "Passed", "In part", "Ours", "Theirs")
HEAD: Final = ("Client", "Version", "Commit", "Recorded", *COUNTS)
# Of clients of other systems, all of whose failures are theirs.
OTHER_HEAD: Final = ("Client", "Version", "Key", "Scenarios", "Passed", "Theirs")


async def written(text: str, recordings: Iterable[Recording]) -> str:
    """The page with its parts as the recordings say."""
    parts = {one.client: _calls(one, await raw_exchanges(one)) for one in recordings}
    parts["clients"] = _table(HEAD, map(_row, recordings))
    parts["other-systems"] = _table(OTHER_HEAD, _runs(recorded()))
    return PART.sub(lambda found: f"{found[1]}{found[2]}\n{parts[found[1]]}\n", text)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _runs(clients: Mapping[str, Client]) -> Iterator[tuple[str, ...]]:
    for name, client in clients.items():
        for key, run in client.runs.items():
            counts = (run.passed + len(run.failed), run.passed, len(run.failed))
            yield (f"`{name}`", client.version, key, *map(str, counts))


def _row(one: Recording) -> tuple[str, ...]:
    calls = one.calls.values()
    failed = [call for call in calls if call.fails]
    ours, partly = sum(call.ours for call in failed), sum(bool(call.partly) for call in calls)
    passed = len(calls) - len(failed) - partly
    counts = (len(calls), passed, partly, ours, len(failed) - ours)
    recorded = f"{one.date:%Y-%m-%d}"
    return (f"`{one.client}`", one.version, f"`{one.commit}`", recorded, *map(str, counts))


def _calls(one: Recording, exchanges: Mapping[str, str]) -> str:
    passed = [
        f"`{name}`"
        for name, call in one.calls.items()
        if not (call.fails or call.partly or call.unused)
    ]
    lists = {
        "Passed, but no user of the client makes them:": _with_reasons(one, "unused"),
        "Work in part:": _with_reasons(one, "partly"),
        "Fail:": _failures(one, exchanges),
    }
    text = f"Passed: {', '.join(passed)}.\n"
    for title, items in lists.items():
        if found := "".join(items):
            text += f"\n{title}\n\n{found}"
    return text


def _with_reasons(one: Recording, kind: str) -> Iterator[str]:
    for name, call in one.calls.items():
        if reason := getattr(call, kind):
            yield f"- `{name}`: {reason}\n"


def _failures(one: Recording, exchanges: Mapping[str, str]) -> Iterator[str]:
    for name, call in one.calls.items():
        if call.fails:
            yield f"- `{name}` ({'ours' if call.ours else 'theirs'}): {call.fails}\n"
            if exchange := exchanges.get(name):
                yield f"  <br>{exchange}\n"
