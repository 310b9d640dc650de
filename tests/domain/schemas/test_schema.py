"""Schema registrations, and the schema that applies to a job."""

from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest, OjsError, TooLarge
from ojs_server.domain.schemas.schema import (
    MAX_SCHEMA,
    MAX_URI,
    SchemaMark,
    applying,
    compatible_with,
    is_sealed,
    neighbours,
    read_uri,
    registered,
)
from ojs_server.domain.version import Version

GIVEN: dict[str, Any] = {"type": "mail.send", "version": 2, "schema": {"type": "array"}}


def mark(*version: int) -> SchemaMark:
    return SchemaMark("mail.send", Version(*version), None, b"")


def test_a_registration_keeps_the_version_as_it_is_written() -> None:
    schema = registered(GIVEN, 7)
    assert (schema.mark.version, schema.written, schema.created_at) == (Version(2), b"2", 7)
    assert schema.uri == "urn:ojs:schema:mail.send:v2"
    later = registered({**GIVEN, "version": "2.1.0", "mode": "strict"}, 7)
    assert (later.uri, later.mark.mode) == ("urn:ojs:schema:mail.send:v2.1.0", "strict")
    assert read_uri(later.uri) == ("mail.send", "2.1.0")
    assert later.mark.digest == schema.mark.digest


@pytest.mark.parametrize(
    ("changes", "kind", "field"),
    [
        ({"type": None}, InvalidRequest, "type"),
        ({"type": "Mail"}, InvalidRequest, "type"),
        ({"version": None}, InvalidRequest, "version"),
        ({"version": "new"}, InvalidRequest, "version"),
        ({"schema": None}, InvalidRequest, "schema"),
        ({"schema": []}, InvalidRequest, "schema"),
        ({"schema": {"title": "x" * MAX_SCHEMA}}, TooLarge, "schema"),
        ({"mode": "Strict"}, InvalidRequest, "mode"),
        ({"uri": "a"}, InvalidRequest, "uri"),
        ({"uri": f"urn:{'x' * MAX_URI}"}, InvalidRequest, "uri"),
        ({"uri": "urn:ojs:schema:mail.send:v3"}, InvalidRequest, "uri"),
    ],
)
def test_a_wrong_registration_names_its_field(
    changes: dict[str, Any], kind: type[OjsError], field: str
) -> None:
    with pytest.raises(kind) as refused:
        registered({**GIVEN, **changes}, 0)
    assert refused.value.details is not None
    assert refused.value.details["field"] == field


def test_a_promise_names_one_version_or_some() -> None:
    assert compatible_with(GIVEN) == compatible_with({"compatible_with": None}) == ()
    assert compatible_with({"compatible_with": 1}) == (Version(1),)
    assert compatible_with({"compatible_with": ["1.2", 3]}) == (Version(1, 2), Version(3))


@pytest.mark.parametrize("said", ["new", [1, None], [1] * 11, {}])
def test_a_promise_of_anything_else_is_refused(said: object) -> None:
    with pytest.raises(InvalidRequest, match=r"^`compatible_with`"):
        compatible_with({"compatible_with": said})


def test_a_job_is_held_to_its_version_or_to_the_newest() -> None:
    marks = [mark(2, 1), mark(2), mark(1)]
    assert applying(marks, None) == mark(2, 1)
    assert applying(marks, Version(1)) == mark(1)
    assert applying(marks, Version(3)) is None
    assert applying([], None) is None


def test_versions_beside_one_have_its_major_number() -> None:
    marks = [mark(2), mark(1, 4), mark(1, 3), mark(1, 1), mark(1), mark(0, 9)]
    assert neighbours(marks, Version(1, 2)) == (Version(1, 1), Version(1, 3))
    assert neighbours(marks, Version(1, 0, 1)) == (Version(1), Version(1, 1))
    assert neighbours(marks, Version(1, 5)) == (Version(1, 4), None)
    assert neighbours(marks, Version(3)) == (None, None)


def test_what_a_codec_has_sealed_is_not_looked_into() -> None:
    assert is_sealed(["b64"], {"ojs_encoded": True})
    assert is_sealed([{"ojs_encoded": True, "data": "b64"}], {})
    assert not is_sealed([{"ojs_encoded": "yes"}, 1], {"ojs_encoded": 1})
