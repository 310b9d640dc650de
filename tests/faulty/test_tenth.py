"""A tenth of the planted faults is judged with every run of the tests; another one each day."""

import pytest

from conformance.contract import own_contract
from tests.faulty.fault import Fault, Kind, all_faults
from tests.faulty.judging import Found, judged, not_passed, shared_cases
from tests.faulty.table import row, told_of_unbroken
from tests.faulty.tenth import TENTHS, tenth_of, tenth_on, today

# The number of tests is that of the largest tenth, so that it is the same every day.
PLACES = range(-(-len(all_faults()) // TENTHS))


def chosen() -> list[Fault]:
    """The faults of this run."""
    return tenth_of(all_faults(), tenth_on(today()))


@pytest.mark.parametrize("place", PLACES)
async def test_a_fault_of_today_is_caught(place: int) -> None:
    for fault in chosen()[place : place + 1]:
        finding = await judged(fault, own_contract())
        assert finding.found is Found.CAUGHT, row(finding)


@pytest.mark.parametrize("kind", ["servers", "workers"])
async def test_what_is_unbroken_passes_the_cases_of_today(kind: Kind) -> None:
    used = shared_cases(chosen()).get(kind, set())
    wrong = await not_passed(kind, used, own_contract())
    assert wrong == [], told_of_unbroken(wrong, len(used))
