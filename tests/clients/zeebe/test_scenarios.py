"""Scenarios of the published clients, unchanged, against this server on both stores."""

import pytest

from tests.clients.runs import NO_KEY, compare
from tests.clients.zeebe.published import CAMUNDA_SDK, OJS_V1, PYZEEBE, ZEEBE_NODE, play

pytestmark = [pytest.mark.clients, pytest.mark.long]

# Least number of scenarios that are played with each client.
PLAYED = {
    "zeebe-node": (ZEEBE_NODE, 30, ("--profile", "zeebe")),
    "pyzeebe": (PYZEEBE, 12, ("--profile", "zeebe")),
    "@camunda8/sdk": (CAMUNDA_SDK, 12, ("--profile", "zeebe")),
    "ojs.v1": (OJS_V1, 31, ()),
}
KEY = "key-of-the-client-1"
# Queues are paused, and incidents resolved, by operators.
ROLES = "worker+operator"


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "key"])
@pytest.mark.parametrize("name", PLAYED)
async def test_every_scenario_of_a_client_is_played_to_its_end(
    store_url: str, name: str, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, least, options = PLAYED[name]
    program.require()
    if key is not None:
        monkeypatch.setenv("OJS_KEYS", f"client={ROLES}:{key}")
    found = await play(program, store_url, *options, key=key)
    failed = {scenario: error for scenario, error in found.items() if error is not None}
    assert failed == {}
    assert sorted(found) == sorted(program.scenarios)
    assert len(found) >= least
    compare(name, ROLES if key else NO_KEY, found)
