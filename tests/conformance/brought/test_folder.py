"""An author's cases: what is played of a folder, and what is said about files that are wrong."""

import json
from pathlib import Path

import pytest

from conformance.brought.folder import brought_cases
from conformance.brought.problems import BadCases
from conformance.commands.cli import main
from conformance.report.document import read_report
from conformance.verdicts.result import Verdict
from tests.conformance.fake_server import FakeServer, Reply

SERVERS = '''from conformance.author import Stage, case


@case("SHOP-1", "OJS-QUE-001")
async def healthy(stage: Stage) -> None:
    """The shop's server is healthy."""
    (await stage.get("health")).expect(200, {"status": "fine"})


@case("OJS-QUE-001")
async def known(stage: Stage) -> None:
    """A case of a published clause alone."""
'''
WORKERS = '''from conformance.author import WorkerStage, worker_case


@worker_case("SHOP-9", scaled_s=4)
async def starts(stage: WorkerStage) -> None:
    """The shop's worker starts."""
    await stage.started()
'''
YAML = """test_id: SHOP-2
name: The shop's jobs are found
clauses: [SHOP-2, SHOP-3]
steps:
  - id: read
    action: GET
    path: /jobs
    headers: {X-Time: 12:30, X-Yes: yes}
    assertions: {status: 200, body: {$.answer: 1}}
"""


def plant(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def shop() -> FakeServer:
    return FakeServer(
        {
            "GET /ojs/manifest": Reply(json={"specversion": "1.0"}),
            "GET /ojs/v1/health": Reply(json={"status": "fine"}),
            "GET /jobs": Reply(json={"answer": 2}),
        }
    )


def test_a_folder_is_played_and_reported_with_the_authors_clauses(tmp_path: Path) -> None:
    folder, report = tmp_path / "shop", tmp_path / "report.json"
    plant(folder, "orders/health.py", SERVERS)
    plant(folder, "found.yaml", YAML)
    plant(folder, "_shared.py", "raise AssertionError")
    command = ["run", "--url", "http://server", "--cases", str(folder), "--json", str(report)]
    server = shop()
    assert main(command, transport=server.transport()) == 1
    cases = {case.test_id: case for case in read_report(report).cases}
    assert {name: (case.verdict, case.suite, case.level) for name, case in cases.items()} == {
        "health.healthy": (Verdict.PASS, "shop/orders/health", 99),
        "health.known": (Verdict.PASS, "shop/orders/health", 0),
        "SHOP-2": (Verdict.FAIL, "shop", 99),
    }
    assert [case.profile for case in cases.values()] == ["full", "full", "published"]
    assert cases["SHOP-2"].clauses == ("SHOP-2", "SHOP-3")
    assert cases["SHOP-2"].path == str(folder / "found.yaml")
    clauses = read_report(report).clauses
    assert (clauses["SHOP-1"], clauses["SHOP-3"]) == (Verdict.PASS, Verdict.FAIL)
    (read,) = [call for call in server.requests if call.path == "/jobs"]
    assert (read.headers["x-time"], read.headers["x-yes"]) == ("12:30", "yes")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([], {"SHOP-2", "health.healthy", "health.known"}),
        (["--case", "SHOP-3"], {"SHOP-2"}),
        (["--case", "SHOP-1"], {"health.healthy"}),
        (["--suite", "health"], {"health.healthy", "health.known"}),
        (["--level", "0"], {"health.known"}),
        (["--profile", "published"], {"health.known"}),
    ],
)
def test_they_are_selected_like_all_others(
    tmp_path: Path, more: list[str], expected: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    files = [plant(tmp_path, "health.py", SERVERS), plant(tmp_path, "found.yaml", YAML)]
    assert main(["run", "--list", "--cases", *map(str, files), *more]) == 0
    assert set(capsys.readouterr().out.split()) == expected


def test_own_cases_are_played_beside_them_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(tmp_path, "health.py", SERVERS)
    plant(tmp_path, "starting.py", WORKERS)
    for command, mine, own in (
        ("run", "health.healthy", "fetch.first_in_first_out"),
        ("worker", "starting.starts", "doing.an_empty_result"),
    ):
        assert main([command, "--list", "--own", "--cases", str(tmp_path)]) == 0
        assert {mine, own} <= set(capsys.readouterr().out.split())
    assert main(["worker", "--list", "--cases", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == ["starting.starts"]
    assert main(["worker", "--list", "--cases", str(tmp_path / "health.py")]) == 2
    assert "no case of workers" in capsys.readouterr().err
    assert main(["run", "--list", "--cases", str(tmp_path / "starting.py")]) == 2
    assert "no case of servers" in capsys.readouterr().err


def test_a_file_without_clauses_is_about_itself(tmp_path: Path) -> None:
    published = json.dumps(
        {
            "test_id": "T-1",
            "steps": [{"id": "a", "action": "GET", "path": "/", "expect": {"status": 200}}],
        }
    )
    (file,) = brought_cases([plant(tmp_path, "t.json", published)]).files
    assert file.case is not None
    assert file.case.clauses == ("T-1",)


def test_numbers_keep_their_spelling(tmp_path: Path) -> None:
    text = YAML.replace("headers:", "body: [1.50, 1e3, 010, .5, 0x10]\n    headers:")
    (file,) = brought_cases([plant(tmp_path, "t.yaml", text)]).files
    assert file.case is not None
    assert file.case.steps[0].body_json == '[1.50,1e3,"010",".5","0x10"]'


STEP = "  - {id: a, action: GET, path: /jobs, assertions: {status: 200}}\n"
HEAD = "test_id: T\nsteps:\n"
CASE = "from conformance.author import case\n\n@case({})\n"
PLAY = 'async def f(stage):\n    """It is so."""\n'


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yaml", "", "1: is empty: a mapping"),
        ("a.yaml", "- a\n", "1: file is no case: a JSON object is expected"),
        ("a.yaml", "test_id: [\n  - a\n", "2: is not YAML: while parsing a flow node expected"),
        ("a.yaml", "test_id: T\ntest_id: U\n", "2: has the member 'test_id' again, as on line 1"),
        ("a.yaml", "a: \x07\n", "1: is not YAML: special characters are not allowed"),
        ("a.yaml", "a: &a\n  - *a\n", "1: is nested more than 100 deep, or contains itself"),
        ("a.yaml", "a:\n  b: !!set {c}\n? [a]\n: 1\n", "3: has a member whose name is no text"),
        ("a.yaml", "a:\n  b: !thing 7\n", "2: has the tag !thing: JSON has no tags"),
        ("a.yaml", "steps:\n" + STEP, "1: Object missing required field `test_id`"),
        ("a.yaml", HEAD + STEP + "tag: []\n", "4: unknown key 'tag' in the case (nearest: 'tags')"),
        ("a.yaml", HEAD + STEP.replace("GET", "TEG"), "3: step 'a': unknown action 'TEG'"),
        ("a.yaml", HEAD + STEP + STEP, "4: step id 'a' is used 2 times"),
        ("a.yaml", HEAD + "  - id: a\n    action: 7\n", "4: Expected `str`, got `int`"),
        (
            "a.yaml",
            HEAD + "  - id: a\n    action: GET\n    expect:\n      code: 7\n",
            "3: step 'a': unknown key 'code' in expect (nearest: 'body')",
        ),
        ("a.json", '{"test_id": "T",\n"steps":, }', "2: is not JSON: JSON is malformed"),
        ("a.json", '{"test_id": "T",\n\t"steps": [\n\t{"action": 7}]}', "3: Expected `str`, got"),
        ("a.json", '{"test_id": "T",\n "level": "x", "steps": []}', "2: level 'x' is neither"),
        ("a.py", "import json\ndef f(:\n", "2: is not Python: invalid syntax: def f(:"),
        ("a.py", "x = 1\n", "1: has no case: a function with `@case`"),
        ("a.py", "\nimport a_module_of_nobody\n", "2: ModuleNotFoundError: No module named"),
        ("a.py", "import sys\nsys.exit(4)\n", "2: SystemExit: 4"),
        ("a.py", CASE.format("'A', levl=1") + PLAY, "3: TypeError: case() got an unexpected"),
        (
            "a.py",
            CASE.format("'A', level='1'") + PLAY,
            "3: ValueError: case a.f: `level` takes int",
        ),
        ("a.py", CASE.format("'A', 7") + PLAY, "3: ValueError: case a.f: clauses are texts"),
        ("a.py", CASE.format("") + PLAY, "3: ValueError: case a.f: needs a name of its own"),
        ("a.py", CASE.format("'A'") + PLAY[6:], "3: ValueError: case a.f: `async def` is expected"),
        ("a.txt", "x", "1: has another name than *.py"),
    ],
)
def test_a_file_that_is_wrong_is_misuse_with_its_line(
    tmp_path: Path, name: str, text: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = plant(tmp_path, name, text)
    assert main(["run", "--list", "--cases", str(file)]) == 2
    said = capsys.readouterr()
    assert f"\n{file}:{expected}" in said.err
    assert (said.out, "Traceback" in said.err) == ("", False)


def test_all_problems_are_shown_at_once(tmp_path: Path) -> None:
    plant(tmp_path, "a.yaml", HEAD + STEP)
    plant(tmp_path, "b.yaml", HEAD + STEP)
    plant(tmp_path, "c.py", "x = 1\n")
    plant(tmp_path, "fetch.py", CASE.format("'A'") + PLAY.replace(" f(", " first_in_first_out("))
    plant(tmp_path, "x/d.py", CASE.format("'A'") + PLAY)
    plant(tmp_path, "y/d.py", CASE.format("'A'") + PLAY)
    with pytest.raises(BadCases) as caught:
        brought_cases([tmp_path, tmp_path / "nothing"])
    names = [problem.path.relative_to(tmp_path).as_posix() for problem in caught.value.problems]
    assert names == ["c.py", "fetch.py", "nothing", "b.yaml", "y/d.py"]
    # A module that was refused before can be loaded again.
    assert len(brought_cases([tmp_path / "x"]).servers) == 1


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: 1\nb: \xff\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadCases) as caught:
        brought_cases([tmp_path / "a.yaml", tmp_path / "empty"])
    assert [(each.line, each.text) for each in caught.value.problems] == [
        (2, "is not UTF-8: invalid start byte"),
        (1, "has no file of cases: *.py, *.yaml, *.yml or *.json"),
    ]


def test_the_hash_of_the_cases_is_that_of_their_text(tmp_path: Path) -> None:
    report = tmp_path / "report.json"

    def hashed(folder: str) -> str:
        plant(tmp_path / folder, "health.py", python)
        plant(tmp_path / folder, "other.py", SERVERS + "# the other\n")
        plant(tmp_path / folder, "found.yaml", yaml)
        cases = str(tmp_path / folder)
        command = ["run", "--url", "http://server", "--cases", cases, "--json", str(report)]
        main(command, transport=shop().transport())
        provenance = read_report(report).provenance
        assert provenance is not None
        return provenance.cases

    python, yaml = SERVERS, YAML
    first = hashed("a")
    assert {hashed(folder) for folder in "abcdefgh"} == {first}
    python += "# another\n"
    second = hashed("a")
    python, yaml = SERVERS, YAML.replace("200", "201")
    assert len({first, second, hashed("a")}) == 3
