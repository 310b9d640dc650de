"""Mutants of the domain's rules: how they are made, planted, chosen and judged."""

import ast
import os
from collections import Counter

import pytest

from conformance.case import server_cases
from conformance.verdicts.contract import own_contract
from tests.mutants.__main__ import judge, main
from tests.mutants.known import EQUIVALENT, UNCAUGHT
from tests.mutants.mutant import all_mutants, sample
from tests.mutants.operators import changed, sites
from tests.mutants.suites import SUITES, cases_of


def others(code: str) -> set[str]:
    """Return every change of a function."""
    tree = ast.parse(code)
    return {ast.unparse(changed(tree, site)) for site in sites(tree)}


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("a < b", {"a <= b"}),
        ("a is not None", {"a is None"}),
        ("a and b", {"a or b"}),
        ("not a", {"a"}),
        ("a + 1", {"a - 1", "a + 2"}),
        ("a if b else c", {"c if b else a"}),
        ("f(True)", {"f(False)"}),
        ("def f(a: int=1) -> int:\n    return a", set()),
        ("raise E(1)", set()),
        ("f'{a + 1}'", set()),
    ],
)
def test_the_changes_of_code(code: str, wanted: set[str]) -> None:
    assert others(code) == wanted


def test_there_are_many_each_with_a_name_of_its_own() -> None:
    known = all_mutants()
    assert len(known) > 1000
    assert [name for name, times in Counter(each.name for each in known).items() if times > 1] == []


def test_every_module_has_suites_that_exist() -> None:
    suites = {case.suite for case in server_cases()}
    assert {suite for named in SUITES.values() for suite in named} <= suites
    for subject in {each.subject for each in all_mutants()}:
        assert cases_of(subject), subject


def test_what_is_known_is_there_and_has_a_reason() -> None:
    keys = {each.key for each in all_mutants()}
    for key, why in {**EQUIVALENT, **UNCAUGHT}.items():
        assert key in keys, key
        assert why.endswith("."), key


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    assert sample(9, 4) == sample(9, 4) != sample(9, 5)
    assert len(sample(10**6, 1)) == len(all_mutants())


def test_each_function_can_be_changed() -> None:
    one_each = {(each.subject, each.function): each for each in all_mutants()}
    read, write = os.pipe()
    # In a process of its own: nothing is as it was afterwards.
    child = os.fork()
    if child == 0:
        for mutant in one_each.values():
            try:
                mutant.plant()
            except BaseException as error:
                os.write(write, f"{mutant.name}: {error!r}; ".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    assert told == ""


async def test_a_mutant_is_caught_by_a_case_of_its_clauses() -> None:
    (mutant, *_) = (
        each
        for each in all_mutants()
        if each.subject == "jobs.retry" and each.function == "_choice"
    )
    told: list[str] = []
    assert await judge([mutant], own_contract(), 1, told.append) == 0
    assert told[0].startswith(f"caught     {mutant.name}  _choice  retry.")
    assert told[-1] == "1 caught"


def test_the_list_and_an_unknown_name() -> None:
    told: list[str] = []
    assert main(["--count", "20", "--tenth", "3", "--list"], told.append) == 0
    assert told[0] == "tenth 3 of 10: 2 mutants"
    assert len(told[1].splitlines()) == 2
    assert main(["no-such-mutant"], told.append) == 2
    assert told[-1] == "no mutant is called no-such-mutant; --list names them"
