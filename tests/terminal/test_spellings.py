"""Other spellings of commands."""

import pytest

from ojs_cli.spellings import understood


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("job list", "jobs list"),
        ("dead-letter", "dead"),
        ("node list", "nodes list"),
        ("jobs --state active --queue=mail -n 5", "jobs state:active queue:mail -n 5"),
        ("worker run app:worker", "worker run app:worker"),
        ("worker list", "workers list"),
        ("--url x queues", "--url x queues"),
        ("", ""),
    ],
)
def test_they_are_understood(line: str, ours: str) -> None:
    assert understood(line.split()) == (ours.split(), "")


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("queues --pause mail", "queues pause mail"),
        ("queue --pause=mail", "queues pause mail"),
        ("workers --quiet w1", "workers quiet w1"),
        ("dead-letter --retry 1 -o json", "dead retry 1 -o json"),
        ("status 01a2", "jobs show 01a2"),
        ("cancel 01a2", "jobs cancel 01a2"),
        ("get jobs state:active", "jobs list state:active"),
        ("describe worker w1", "workers show w1"),
    ],
)
def test_verbs_as_flags_are_answered_with_the_new_form(line: str, ours: str) -> None:
    given, note = understood(line.split())
    assert given == ours.split()
    assert note.endswith(f"ojs {ours}")
