"""A tenth of the planted faults is judged with every run of the tests; another one each day."""

import pytest

from conformance.contract import own_contract
from tests.faulty.fault import Fault, faults
from tests.faulty.judging import Found, judged, not_passed, shared_cases
from tests.faulty.table import row, told_of_unbroken
from tests.faulty.tenth import TENTHS, tenth_of, tenth_on, today

# The number of tests is that of the largest tenth, so that it is the same every day.
PLACES = range(-(-len(faults("servers")) // TENTHS))


def chosen() -> list[Fault]:
    """The faults of this run."""
    return tenth_of(faults("servers"), tenth_on(today()))


@pytest.mark.parametrize("place", PLACES)
async def test_a_fault_of_today_is_caught(place: int) -> None:
    for fault in chosen()[place : place + 1]:
        finding = await judged(fault, own_contract())
        assert finding.found is Found.CAUGHT, row(finding)


async def test_the_unbroken_server_passes_the_cases_of_today() -> None:
    used = shared_cases(chosen())
    wrong = await not_passed(used, own_contract())
    assert wrong == [], told_of_unbroken(wrong, len(used))
