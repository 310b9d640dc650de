"""schemathesis plays the contract against a real server, and finds nothing."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.http.contract import FILE, METHODS, PLAIN_JSON, document
from tests.openapi.operations import resolve
from tests.openapi.served import ROOT, serving
from tests.openapi.unsayable import is_absent, is_unsayable
from tests.users_stores import on_users_stores

LIMIT_S = 1500  # for a hang; a loaded machine may take many minutes
# Each of them brings it about by itself, as a rule; the first one brings about the most else, too.
SEEDS = (38, 16, 1, 12, 14, 6, 31, 24)
WITHOUT_THE_BOARD = ("--exclude-path-regex", "^/ojs/v1/blackboard/")
# Events that the stories must have caused, among others.
HAPPENED = {"job.started", "job.completed", "job.failed", "job.discarded", "job.cancelled"}


def played(url: str, contract: Path, *more: str) -> None:
    """Run schemathesis as schemathesis.toml says, and fail with its report."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(contract), "--url", url]
    report = subprocess.run(
        [*command, "--no-color", *more],
        cwd=ROOT,
        # The library below looks through all of it at each request, for proxies.
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert report.returncode == 0, report.stdout + report.stderr


def without_repeats(folder: Path) -> Path:
    """The contract without what would be tried hundreds of times: the second media type of bodies,
    the headers and query parameters that many calls share, but for the first of these, and the
    members of a job once more among its `options`.

    One piece of code reads each, for all calls. Random calls and stories have all of it.
    """
    less = copy.deepcopy(document())
    for body in less["components"]["requestBodies"].values():
        body["content"] = {PLAIN_JSON: body["content"][PLAIN_JSON]}
    schemas = less["components"]["schemas"]
    del schemas["EnqueueRequest"]["allOf"][1]["properties"]["options"]
    # A URL of one character would be drawn for seconds, in vain.
    del schemas["WebhookRequest"]["properties"]["url"]["minLength"]
    seen: set[str] = set()
    for item in less["paths"].values():
        for place in (item, *(item[key] for key in item if key in METHODS)):
            given = place.get("parameters", [])
            place["parameters"] = [
                one for one in given if one.get("$ref") not in seen or resolve(one)["in"] == "path"
            ]
            seen.update(one["$ref"] for one in given if "$ref" in one)
    written = folder / "openapi.json"
    written.write_bytes(msgspec.json.encode(less))
    return written


def stock(url: str) -> None:
    """Fill the queues that schemathesis.toml names."""
    for queue in ("default", "email"):
        jobs = [{"type": "test.job", "args": [number], "queue": queue} for number in range(300)]
        assert httpx.post(f"{url}/ojs/v1/jobs/batch", json={"jobs": jobs}).status_code == 201


def happened(url: str) -> set[str]:
    """The types of all events."""
    types: set[str] = set()
    after, has_more = "", True
    while has_more:
        query = {"after": after, "limit": "1000", "types": "job.*"}
        page = httpx.get(f"{url}/ojs/v1/events", params=query).json()
        types |= {event["type"] for event in page["events"]}
        after, has_more = page["cursor"], page["has_more"]
    return types


@pytest.mark.schemathesis
@pytest.mark.timeout(LIMIT_S)
@on_users_stores
def test_stories_keep_the_contract(store_url: str) -> None:
    with serving(store_url) as url:
        stock(url)
        # A round ends early when a replay meets other jobs than its story had; the next goes on.
        for seed in SEEDS:
            played(url, FILE, "--phases", "stateful", "--seed", str(seed), *WITHOUT_THE_BOARD)
            if happened(url) >= HAPPENED:
                break
        assert happened(url) >= HAPPENED


@pytest.mark.schemathesis
@pytest.mark.timeout(LIMIT_S)
@on_users_stores
def test_single_calls_keep_the_contract(store_url: str, tmp_path: Path) -> None:
    # Requests of the coverage phase are checked before a store is used, so one store is enough for
    # them; the random ones go to the other. Other tests send each example of the contract to both.
    # All calls of the contract are served under this profile.
    with serving(store_url, "--profile", "blackboard") as url:
        if store_url.startswith("postgres"):
            played(url, FILE, "--phases", "fuzzing", "--seed", "1")
        else:
            played(url, without_repeats(tmp_path), "--phases", "coverage", "--seed", "0")


@pytest.mark.parametrize(
    ("body", "absent"),
    [
        ({"outer": None}, True),
        ({}, True),
        ({"outer": {"inner": ["x"]}}, False),
        ({"outer": {"inner": None}}, True),
        ({"outer": "no object"}, False),
        ([], False),
    ],
)
def test_what_is_not_there_cannot_be_wrong(body: object, absent: bool) -> None:
    told = "in body - violates `format` at /properties/outer/properties/inner/items"
    assert is_absent(f"Invalid data\nInvalid component: {told}", body) is absent
    assert not is_absent("in body - violates `type` at /properties/outer", body)


@pytest.mark.parametrize(
    ("message", "unsayable"),
    [
        ("`retry.max_interval` must be at least initial_interval", True),
        ("the body is not valid JSON: an integer is beyond 64 bits; send it as a string", True),
        ("`priority` must be an integer from -100 to 100", False),
        ("the server failed; its log has the reason", False),
    ],
)
def test_only_the_named_rules_are_excused(message: str, unsayable: bool) -> None:
    assert is_unsayable({"error": {"message": message}}) is unsayable
