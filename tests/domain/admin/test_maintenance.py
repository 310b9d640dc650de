"""Maintenance mode: an operator's requests, and their effect."""

from typing import Any

import pytest

from ojs_server.domain.admin.maintenance import Maintenance, MaintenanceOrder, parse_order
from ojs_server.domain.errors import InvalidRequest

NOW = 1_750_000_000_000


def test_maintenance_begins_changes_and_ends() -> None:
    begun = MaintenanceOrder(True, "disk", 60_000).applied(None, NOW)
    assert begun == Maintenance(NOW, "disk", NOW + 60_000)
    again = MaintenanceOrder(True, "network").applied(begun, NOW + 5)
    assert again == Maintenance(NOW, "network", None)
    assert MaintenanceOrder(False).applied(again, NOW + 9) is None


def test_an_order_is_read() -> None:
    given = {"enabled": True, "reason": "disk", "estimated_duration": "PT30M"}
    assert parse_order(given) == MaintenanceOrder(True, "disk", 1_800_000)
    assert parse_order({"enabled": True, "duration": "30m"}) == MaintenanceOrder(
        True, None, 1_800_000
    )
    both = {"enabled": True, "estimated_duration": "PT1M", "duration": "30m"}
    assert parse_order(both) == MaintenanceOrder(True, None, 60_000)
    assert parse_order({"enabled": False, "reason": None}) == MaintenanceOrder(False)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "enabled"),
        ({"enabled": "yes"}, "enabled"),
        ({"enabled": True, "reason": 5}, "reason"),
        ({"enabled": True, "reason": "x" * 1001}, "reason"),
        ({"enabled": True, "reason": "\0"}, "reason"),
        ({"enabled": True, "estimated_duration": "soon"}, "estimated_duration"),
        ({"enabled": True, "duration": "soon"}, "duration"),
    ],
)
def test_what_is_no_order_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_order(given)
    assert (caught.value.details or {})["field"] == field
