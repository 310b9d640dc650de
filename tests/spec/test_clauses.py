"""The protocol text is well formed, and speaks of nothing that the server does not have."""

import re
from collections import Counter

import pytest

from conformance.sources import tag_of
from ojs_server.domain.jobs.job import STATES
from ojs_server.domain.jobs.retry import DEFAULT
from ojs_server.domain.jobs.retry import MEMBERS as RETRY_MEMBERS
from ojs_server.http.dialects import ALIASES
from ojs_server.http.routes import CANONICAL, ROUTES
from ojs_server.systems import blackboard, jobmanager, zeebe
from ojs_wire import codes
from tests.spec.clauses import (
    FILE,
    ROOT,
    SPEC,
    Clause,
    all_clauses,
    decisions,
    files,
    letters_of,
    parse,
    sources,
)

OF_SYSTEMS = (*blackboard.ROUTES, *jobmanager.ROUTES, *zeebe.ROUTES)
STRENGTHS = {"must", "should", "may"}
SIDES = {"server", "worker", "client", "adapter"}
LEAST = 150
CLAUSES = all_clauses()
IDS = {clause.id for clause in CLAUSES}
DECISION = re.compile(r"decision (\d+)")
CALL = re.compile(r"`(GET|POST|PUT|PATCH|DELETE)\s+(/[^`?]+)`")


def texts() -> dict[str, str]:
    """Every page of the protocol text by its name."""
    return {path.name: path.read_text(encoding="utf-8") for path in SPEC.glob("*.md")}


def test_there_are_enough_clauses() -> None:
    assert len(CLAUSES) >= LEAST


def test_no_id_is_used_twice() -> None:
    assert [found for found, times in Counter(c.id for c in CLAUSES).items() if times > 1] == []


def test_each_file_has_a_number_of_its_own() -> None:
    names = [path.name for path in files()]
    assert all(FILE.fullmatch(name) for name in names)
    assert len({name[:2] for name in names}) == len(names)


def test_each_file_has_letters_of_its_own_and_keeps_to_them() -> None:
    letters = {path.name: letters_of(path) for path in files()}
    assert len(set(letters.values())) == len(letters)
    assert [c.id for c in CLAUSES if c.id[4:7] != letters[c.file]] == []
    assert {c.file for c in CLAUSES} == set(letters)


def test_ids_rise_within_a_file() -> None:
    for path in files():
        numbers = [clause.id for clause in CLAUSES if clause.file == path.name]
        assert numbers == sorted(numbers)


def test_each_clause_has_its_parts() -> None:
    known, rows = sources(), decisions()
    for clause in CLAUSES:
        assert clause.strength in STRENGTHS, clause.id
        assert clause.side in SIDES, clause.id
        assert len(clause.sources) == len(set(clause.sources)), clause.id
        for source in clause.sources:
            if match := DECISION.fullmatch(source):
                assert int(match[1]) in rows, clause.id
            else:
                assert tag_of(source) in known, clause.id
        assert clause.text[0].isupper() or clause.text[0] == "`", clause.id
        assert clause.text[-1] in ".:", clause.id


def test_every_reference_leads_somewhere() -> None:
    for name, text in texts().items():
        assert set(re.findall(r"OJS-[A-Z]{3}-\d+", text)) <= IDS, name
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (SPEC / target).exists(), f"{name} links to {target}"


def test_every_source_and_decision_is_cited() -> None:
    every = {source for clause in CLAUSES for source in clause.sources}
    cited = every | set(map(tag_of, every))
    # The SDK's tools for tests are not part of the protocol: their page cites the decisions.
    cited |= set(
        re.findall(r"decision \d+", (ROOT / "docs" / "testing.md").read_text(encoding="utf-8"))
    )
    assert sources() <= cited
    assert {f"decision {number}" for number in decisions()} <= cited


def test_decisions_are_complete_and_in_order() -> None:
    rows = decisions()
    assert list(rows) == sorted(rows)
    assert [number for number, cells in rows.items() if len(cells) != 4] == []


def test_the_introduction_lists_every_file() -> None:
    introduction = texts()["README.md"]
    for path in files():
        assert f"| [{path.name}]({path.name}) | {letters_of(path)} |" in introduction


def test_every_path_is_one_of_the_servers() -> None:
    known = {(route.method, route.path) for route in (*ROUTES, *OF_SYSTEMS)}
    for name, text in texts().items():
        assert set(CALL.findall(text)) <= known, name


def test_every_path_of_the_server_is_in_a_clause() -> None:
    named = {call for path in files() for call in CALL.findall(path.read_text(encoding="utf-8"))}
    assert {(route.method, route.path) for route in (*CANONICAL, *OF_SYSTEMS)} <= named


def test_the_other_spellings_are_those_of_the_server() -> None:
    rows = re.findall(
        r"^\| `(\S+) (\S+)` \| `(\S+) (\S+)` \|$", texts()["03-http.md"], re.MULTILINE
    )
    assert {(a, b): (c, d) for a, b, c, d in rows} == dict(ALIASES)


def test_the_error_codes_are_those_of_the_server() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (yes|no) \|", texts()["13-errors.md"], re.MULTILINE)
    listed = {(name, int(status), retryable == "yes") for name, status, retryable in rows}
    assert listed == {(code.name, code.status, code.retryable) for code in codes.ALL}


def test_the_states_are_those_of_the_server() -> None:
    (clause,) = [clause for clause in CLAUSES if clause.id == "OJS-LIF-001"]
    assert set(re.findall(r"`(\w+)`", clause.text)) == set(STATES)


def test_the_retry_defaults_are_those_of_the_server() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ?(\S*) \|(.*)\|$", texts()["08-retry.md"], re.MULTILINE)
    members = {name: default.strip("`") for name, default, _ in rows if default}
    table = {name: default for name, default in members.items() if name in RETRY_MEMBERS}
    assert table == {
        "max_attempts": str(DEFAULT.max_attempts),
        "initial_interval": f"PT{DEFAULT.initial_ms // 1000}S",
        "backoff_coefficient": str(DEFAULT.coefficient),
        "max_interval": f"PT{DEFAULT.max_ms // 60_000}M",
        "jitter": str(DEFAULT.jitter).lower(),
        "non_retryable_errors": "none" if not DEFAULT.non_retryable_errors else "",
        "on_exhaustion": DEFAULT.on_exhaustion,
        "backoff_strategy": DEFAULT.strategy,
    }
    aliases = set(re.findall(r"`(\w+)`", "".join(rest for _, _, rest in rows)))
    assert RETRY_MEMBERS - set(table) <= aliases


@pytest.mark.parametrize(
    "text",
    [
        "**OJS-ENV-1** (must, server; core) Too short a number.",
        "**OJS-ENV-001** (must; core) No side.",
        "**OJS-ENV-001** (must, server) No source.",
        "**OJS-ENV-001** No brackets.",
        "**OJS-ENV-001** (must, server; core)",
    ],
)
def test_a_clause_that_is_not_well_formed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no well-formed clause"):
        list(parse("a.md", text))


def test_a_clause_ends_at_the_empty_line() -> None:
    text = "**OJS-ENV-001** (must, server; core, decision 2) One\ntwo.\n\nThree."
    assert list(parse("a.md", text)) == [
        Clause("a.md", "OJS-ENV-001", "must", "server", ("core", "decision 2"), "One two.")
    ]
