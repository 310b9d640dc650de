"""The public clients' exchanges, replayed; and the page that tells of them."""

import re

import pytest

from tests.http.conftest import Serve
from tests.http.exchanges.kinds import arrays
from tests.http.exchanges.page import COMMAND, PAGE, written
from tests.http.exchanges.recording import Recording, recordings
from tests.http.exchanges.replay import replay

ALL = recordings()
ITEM = re.compile(r"\.\d+(?=\.|$)")
# The server runs nothing around the execution of jobs.
ALWAYS_EMPTY = {"middleware: execution"}
CLIENTS = pytest.mark.parametrize("recording", ALL, ids=[one.client for one in ALL])


@pytest.mark.parametrize(
    ("recording", "name"),
    [pytest.param(one, name, id=f"{one.client}: {name}") for one in ALL for name in one.exchanges],
)
async def test_a_client_finds_what_it_needs(recording: Recording, name: str, serve: Serve) -> None:
    await replay(recording, name, serve)


@CLIENTS
def test_every_step_is_one_that_its_call_makes(recording: Recording) -> None:
    strange = [
        f"{step.call}: {step.send}"
        for exchange in recording.exchanges.values()
        for step in exchange.steps
        if step.call and not recording.calls[step.call].makes(step)
    ]
    assert strange == []


@CLIENTS
def test_every_call_was_run(recording: Recording) -> None:
    """The requests of a call are recorded, or it sends none over HTTP."""
    assert {name for name, call in recording.calls.items() if not call.ran} == recording.recorded


@CLIENTS
def test_a_call_that_is_ours_to_mend_fails(recording: Recording) -> None:
    assert [name for name, call in recording.calls.items() if call.ours and not call.fails] == []


@CLIENTS
def test_every_array_that_a_client_needs_is_found_with_an_item(recording: Recording) -> None:
    found = {
        f"{step.call}: {ITEM.sub('.0', place)}"
        for exchange in recording.exchanges.values()
        for step in exchange.steps
        for place in (*step.finds, *step.keep.values())
    }
    empty = [
        f"{name}: {place}"
        for name, call in recording.calls.items()
        for place in arrays(call.reads, recording.shapes)
        if not (call.fails or call.ran)
        and not any(one.startswith(f"{name}: {place}.0") for one in found)
    ]
    assert set(empty) <= ALWAYS_EMPTY


@CLIENTS
def test_a_call_has_one_outcome(recording: Recording) -> None:
    for name, call in recording.calls.items():
        reasons = [reason for reason in (call.fails, call.partly, call.unused) if reason]
        assert len(reasons) <= 1, name


@CLIENTS
def test_a_call_that_sends_http_requests_is_proven_by_them(recording: Recording) -> None:
    assert [name for name, call in recording.calls.items() if call.ran and " /" in call.send] == []


@CLIENTS
def test_the_page_says_how_to_point_each_at_the_server(recording: Recording) -> None:
    assert f"\n## {recording.client}\n" in PAGE.read_text(encoding="utf-8")
    assert f"<!-- {COMMAND}: {recording.client} -->" in PAGE.read_text(encoding="utf-8")


async def test_the_page_is_that_of_the_recordings() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == await written(page, ALL), f"write it with `{COMMAND}`"
