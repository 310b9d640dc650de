"""The check of names sees each kind of name, and leaves alone what is not given a name here."""

from pathlib import Path

import pytest

from tests.words.private_names import is_checked, private_names

FILE = Path("ojs_server/file.py")


@pytest.mark.parametrize(
    "text",
    [
        "def told() -> None: ...",
        "async def _tell_all() -> None: ...",
        "class HeardWorkers: ...",
        "def send(wanted: int) -> None: ...",
        "call = lambda *asked: None",
        "whose = 1",
        "TOLD_AT_ONCE = 1",
        "self._unheard = 1",
        "found = [said for said in ()]",
        "if beside := None: ...",
        "from package import name as meant",
        "try: ...\nexcept ValueError as told: ...",
        "match 1:\n    case told: ...",
        "@property\ndef met(self) -> bool: ...",
    ],
)
def test_a_private_name_of_python_is_found(text: str) -> None:
    assert len(private_names(FILE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def response() -> None: ...",
        "from package import told",
        "package.told(whose=1)",
        "retold = metric = dicetower = 1",
        '"""It was told."""\nname = "told"  # told',
        "told_at = 1",
        '@case("OJS-1")\nasync def jobs_are_told(stage: Stage) -> None: ...',
    ],
)
def test_other_names_of_python_pass(text: str) -> None:
    assert private_names(FILE, text) == []


def test_a_private_name_is_found_in_javascript() -> None:
    text = "const told = 1;\nfunction tell(event) {}\nlet { data } = answer.told;\n"
    assert private_names(Path("ojs_ui/page.js"), text) == [(1, "told"), (2, "tell")]


def test_the_name_of_a_module_is_a_name() -> None:
    assert private_names(Path("ojs_server/told.py"), "") == [(1, "told")]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ojs_server/app.py", True),
        ("conformance/report/page.js", True),
        ("ojs_server/grpc/ojs_pb2.py", False),
        ("tests/conformance/commands/test_cli.py", False),
        ("Makefile", False),
    ],
)
def test_names_of_packages_are_checked(path: str, expected: bool) -> None:
    assert is_checked(Path(path)) is expected
