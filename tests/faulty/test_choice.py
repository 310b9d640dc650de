"""Tests of the registered faults, and of the choice of a tenth for each day."""

from datetime import date, timedelta
from itertools import chain

import pytest

from conformance.clauses import own_spec
from tests.faulty import planting
from tests.faulty.__main__ import main
from tests.faulty.fault import all_faults, fault, faults
from tests.faulty.judging import cases_of
from tests.faulty.tenth import TENTHS, VARIABLE, tenth_of, tenth_on


def test_every_fault_breaks_a_clause_of_its_side_that_has_a_case() -> None:
    assert len(faults("servers")) >= 60
    assert len(faults("workers")) >= 20
    clauses = own_spec().by_id()
    for each in all_faults():
        assert each.clause in clauses, each.name
        assert cases_of(each), each.name
        assert each.how.endswith("."), each.name


def test_a_fault_needs_a_docstring_and_its_folder() -> None:
    def nameless() -> None:
        pass

    with pytest.raises(ValueError, match="fault nameless: needs a name of its own, a docstring"):
        fault("OJS-ENV-001")(nameless)


def test_what_is_to_be_wrapped_must_be_there() -> None:
    with pytest.raises(AttributeError, match="no_such_function"):
        planting.put(planting, "no_such_function", None)


def test_the_tenths_are_all_faults_once() -> None:
    items = range(83)
    parts = [tenth_of(items, number) for number in range(TENTHS)]
    assert sorted(chain(*parts)) == list(items)
    assert {len(part) for part in parts} == {8, 9}


def test_the_environment_goes_before_the_day() -> None:
    day = date(2026, 1, 13)
    assert tenth_on(day, {}) == 3
    assert tenth_on(day + timedelta(days=1), {}) == 4
    assert tenth_on(day, {VARIABLE: "7"}) == 7
    assert tenth_on(day, {VARIABLE: "25"}) == 5
    with pytest.raises(SystemExit, match="must be a number, not 'third'"):
        tenth_on(day, {VARIABLE: "third"})


def test_the_list_is_a_table_of_names_clauses_and_what_is_wrong() -> None:
    told: list[str] = []
    assert main(["--list", "leases-never-end"], told.append) == 0
    (line,) = told
    words = "leases-never-end OJS-VIS-005 Leases that have run out are not ended."
    assert line.split() == words.split()


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    told: list[str] = []
    assert main(["leases-never-ended"], told.append) == 2
    assert told == ["no fault is called 'leases-never-ended' (nearest: 'leases-never-end')"]
