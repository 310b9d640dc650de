"""Scenarios of the published clients, unchanged, against this server on both stores."""

import pytest

from tests.clients.zeebe.published import CAMUNDA_SDK, OJS_V1, PYZEEBE, ZEEBE_NODE, play

pytestmark = [pytest.mark.clients, pytest.mark.long]

# Least number of scenarios that are played with each client.
PLAYED = {
    "zeebe-node": (ZEEBE_NODE, 30, ("--profile", "zeebe")),
    "pyzeebe": (PYZEEBE, 12, ("--profile", "zeebe")),
    "@camunda8/sdk": (CAMUNDA_SDK, 8, ("--profile", "zeebe")),
    "ojs.v1": (OJS_V1, 20, ()),
}


@pytest.mark.parametrize("name", PLAYED)
async def test_every_scenario_of_a_client_is_played_to_its_end(store_url: str, name: str) -> None:
    program, least, options = PLAYED[name]
    program.require()
    found = await play(program, store_url, *options)
    failed = {scenario: error for scenario, error in found.items() if error is not None}
    assert failed == {}
    assert sorted(found) == sorted(program.scenarios)
    assert len(found) >= least
