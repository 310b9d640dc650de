"""The checker of answers: it takes what a client's parser needs, and refuses all that is less."""

import pytest

from tests.http.exchanges.kinds import Kind, arrays, faults
from tests.http.exchanges.recording import Recording, recordings
from tests.http.exchanges.spoiling import example, spoilt

NEEDED = [
    pytest.param(one, kind, id=f"{one.client}: {name}")
    for one in recordings()
    for name, kind in [("an error", one.error)]
    + [(name, call.reads) for name, call in one.calls.items()]
]


@pytest.mark.parametrize(("recording", "kind"), NEEDED)
def test_an_answer_with_all_that_a_client_needs_is_taken(recording: Recording, kind: Kind) -> None:
    assert list(faults(example(kind, recording.shapes), kind, recording.shapes)) == []


@pytest.mark.parametrize(("recording", "kind"), NEEDED)
def test_an_answer_without_something_that_a_client_needs_is_refused(
    recording: Recording, kind: Kind
) -> None:
    for fault, value in spoilt(kind, recording.shapes):
        assert list(faults(value, kind, recording.shapes)), fault


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text or null", None),
        ("[integer]", []),
        ("{text}", {}),
        ({"a?": "text"}, {}),
        ({"a?": "text or null"}, {"a": None, "b": 1}),
        ("number", 1),
        ("any", None),
    ],
)
def test_what_a_kind_leaves_open_is_taken(kind: Kind, value: object) -> None:
    assert list(faults(value, kind, {})) == []


def test_a_fault_says_where_it_is() -> None:
    shapes = {"job": {"id": "text", "tags?": "[text]"}}
    answer = {"jobs": [{"id": "a"}, {"tags": ["b", 1]}]}
    assert list(faults(answer, {"jobs": "[job]"}, shapes)) == [
        "the answer.jobs.1.id is missing",
        "the answer.jobs.1.tags.1 is not of kind text: 1",
    ]


def test_the_arrays_of_a_kind_are_those_that_it_needs() -> None:
    shapes = {
        "job": {"id": "text", "errors": "[error]", "tags": "[text]"},
        "error": {"code": "text"},
    }
    kind = {"jobs": "[job]", "items?": "[job]", "page": {"jobs": "[error] or null"}}
    assert list(arrays(kind, shapes)) == ["jobs", "jobs.0.errors"]
