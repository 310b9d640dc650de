"""Finding, reading and selecting case files."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.language.load import SelectionError, load_suites, read_case
from conformance.language.model import CaseFile
from tests.conformance.cases import step

CHECK = {"status": 200}


def plant(place: Path, **keys: Any) -> Path:
    """Write a case file; its steps check one status unless given."""
    content = {"test_id": "T-1", "steps": [step(assertions=CHECK)], **keys}
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(msgspec.json.encode(content))
    return place


def named(files: list[CaseFile]) -> list[tuple[str, str]]:
    """Id and file name of each."""
    return [(file.test_id, Path(file.path).name) for file in files]


def test_cases_are_sorted_by_id_then_path(tmp_path: Path) -> None:
    plant(tmp_path / "z" / "one.json", test_id="B-1", name="first")
    plant(tmp_path / "a" / "two.json", test_id="B-1", name="second")
    plant(tmp_path / "three.json", test_id="A-9")
    (tmp_path / "README.md").write_text("no case")
    files = load_suites([tmp_path])
    assert named(files) == [("A-9", "three.json"), ("B-1", "two.json"), ("B-1", "one.json")]
    assert not any(file.problems for file in files)


def test_overlapping_suites_load_a_file_once(tmp_path: Path) -> None:
    file = plant(tmp_path / "sub" / "one.json")
    assert len(load_suites([tmp_path, file.parent, file])) == 1


def test_a_copy_of_a_case_is_refused(tmp_path: Path) -> None:
    plant(tmp_path / "a.json")
    plant(tmp_path / "b.json")
    first, second = load_suites([tmp_path])
    assert first.problems == ()
    assert second.problems == (f"file is a copy of {tmp_path / 'a.json'}",)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match=r"no such file or folder: .*nowhere"):
        load_suites([tmp_path / "nowhere"])


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SelectionError) as caught:
        load_suites([tmp_path])
    assert str(caught.value) == "no *.json file in the given suites"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "file is not JSON: Input data was truncated"),
        (b'{"a": }', "file is not JSON: JSON is malformed: invalid character (byte 6)"),
        (b'"\xff"', "file is not JSON: 'utf-8' codec can't decode byte 0xff in position 0"),
        (b"[" * 100_000, "file is not JSON: maximum recursion depth exceeded"),
        (b"[]", "file is no case: a JSON object is expected"),
        (b"{}", "Object missing required field `test_id`"),
        (b'{"test_id": 5, "steps": []}', "Expected `str`, got `int` - at `$.test_id`"),
        (
            b'{"test_id": "T", "steps": [{"action": "GET", "delay_ms": -1}]}',
            "Expected `float` >= 0.0 - at `$.steps[0].delay_ms`",
        ),
        (
            b'{"test_id": "T", "steps": [{"action": "GET", "repeat": 0}]}',
            "Expected `int` >= 1 - at `$.steps[0].repeat`",
        ),
        (b'{"test_id": "T", "steps": []}', "the case checks nothing: no step has an assertion"),
    ],
)
def test_a_broken_file_tells_its_problem(tmp_path: Path, content: bytes, problem: str) -> None:
    place = tmp_path / "broken.json"
    place.write_bytes(content)
    (file,) = load_suites([tmp_path])
    assert file.path == str(place)
    assert len(file.problems) == 1
    assert file.problems[0].startswith(problem)


def test_an_unreadable_file_tells_its_problem(tmp_path: Path) -> None:
    file = read_case(tmp_path / "vanished.json")
    assert file.problems == ("file cannot be read: No such file or directory",)
    assert file.test_id == "vanished"


def test_a_broken_case_keeps_its_id_and_level(tmp_path: Path) -> None:
    file = read_case(plant(tmp_path / "a.json", test_id="T-7", level="ext", tags=5))
    assert (file.test_id, file.level, file.case) == ("T-7", 99, None)
    assert file.problems == ("Expected `array`, got `int` - at `$.tags`",)


def test_unknown_keys_are_named_with_the_nearest_known_one(tmp_path: Path) -> None:
    place = plant(
        tmp_path / "a.json",
        tag=[],
        setup={"step": []},
        steps=[step(asertions={}, assertions={"statuss": 200, **CHECK})],
        teardown={"steps": [{"action": "GET", "id": "t", "path": "/x", "delay": 5}]},
    )
    assert read_case(place).problems == (
        "unknown key 'tag' in the case (nearest: 'tags')",
        "unknown key 'step' in setup (nearest: 'steps')",
        "unknown key 'delay' in teardown step 't' (nearest: 'delay_ms')",
        "unknown key 'asertions' in step 's1' (nearest: 'assertions')",
        "unknown key 'statuss' in assertions of step 's1' (nearest: 'status')",
    )


def test_informational_keys_and_comments_are_known(tmp_path: Path) -> None:
    place = plant(
        tmp_path / "a.json",
        category="c",
        name="n",
        description="d",
        spec_ref="ojs-core#1",
        tags=["t"],
        preconditions=["a server"],
        deprecated=False,
        deprecated_reason="",
        steps_comment="note",
        steps=[
            step(
                intent="i",
                description="d",
                assertions={**CHECK, "body_comment": "note", "headers_comment": ["note"]},
            )
        ],
    )
    assert read_case(place).problems == ()


def suite(folder: Path) -> list[CaseFile]:
    """Three cases of two levels, and a file that is no JSON."""
    plant(folder / "a.json", test_id="L0-A-001", level=0)
    plant(folder / "b.json", test_id="L0-A-001", level="0", name="other")
    plant(folder / "c.json", test_id="L1-B-001", level=1)
    (folder / "d.json").write_text("{")
    return load_suites([folder])
