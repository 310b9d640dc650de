"""Requirements of jobs and abilities of workers: versions and runtime tags."""

from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.domain.version import Version
from ojs_server.domain.workers.requirements import (
    MAX_TAGS,
    RUNTIME,
    Ability,
    ability_of,
    demand_of,
    parse_runtime,
    read_demand,
)
from ojs_wire.calls import HandlerTerms
from ojs_wire.codec import encode


def demand(version: Version | None = None, *tags: str) -> str | None:
    return demand_of("mail.send", version, {RUNTIME: {"tags": list(tags)}})


def may_run(ability: Ability, text: str | None) -> bool:
    assert text is not None
    return ability.meets(read_demand(text))


def test_a_job_without_version_and_tags_asks_for_nothing() -> None:
    assert demand_of("mail.send", None, {}) is None
    assert demand_of("mail.send", None, {RUNTIME: {"name": "wasi:ojs", "min": "0.1.0"}}) is None
    assert demand_of("mail.send", None, {RUNTIME: None}) is None


def test_equal_demands_are_one_text() -> None:
    assert demand(Version(2), "b", "a", "b") == demand(Version(2), "a", "b")


def test_a_version_is_given_to_a_handler_whose_range_holds_it() -> None:
    ability = Ability(handlers=(HandlerTerms("mail.send", ">=1.0 <3.0"), HandlerTerms("other")))
    assert may_run(ability, demand(Version(2, 9)))
    assert not may_run(ability, demand(Version(3)))
    assert not may_run(ability, demand_of("third", Version(1), {}))
    assert may_run(ability, demand(None, "gpu"))


def test_every_tag_is_needed() -> None:
    ability = Ability(tags=("gpu", "simd"))
    assert may_run(ability, demand(None, "gpu"))
    assert not may_run(ability, demand(None, "gpu", "net"))
    assert not may_run(Ability(tags=()), demand(None, "gpu"))
    assert may_run(ability, demand(Version(7)))


def test_who_says_nothing_is_not_asked() -> None:
    assert ability_of(None, None) is None
    assert ability_of(encode({"metadata": {"handlers": []}}), None) is None
    assert ability_of(encode({"handlers": []}), None) == Ability(handlers=())
    assert ability_of(b"{}", ()) == Ability(tags=())


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ("gpu", "`runtime`"),
        ({"tags": "gpu"}, "`runtime.tags`"),
        ({"tags": ["g" * 65]}, "`runtime.tags`"),
        ({"tags": ["g pu"]}, "`runtime.tags`"),
        ({"tags": [1]}, "`runtime.tags`"),
        ({"tags": ["t"] * (MAX_TAGS + 1)}, "`runtime.tags`"),
    ],
)
def test_a_runtime_that_cannot_be_read_is_refused(given: object, where: str) -> None:
    with pytest.raises(InvalidRequest, match=where):
        parse_runtime("runtime", given)


@pytest.mark.parametrize(
    ("body", "version", "shown"),
    [
        ({"type": "mail.send"}, None, None),
        ({"type": "mail.send", "version": 2}, Version(2), 2),
        ({"type": "mail.send@2.1"}, Version(2, 1), "2.1"),
        ({"type": "mail.send@2.1", "version": 3}, Version(3), 3),
    ],
)
def test_the_version_of_a_job_is_kept_as_it_is_written(
    body: dict[str, Any], version: Version | None, shown: object
) -> None:
    draft = parse_draft({"args": [], **body})
    assert (draft.type, draft.shape.version) == ("mail.send", version)
    assert (b'"version":' in draft.shape.spec) == (shown is not None)
    assert shown is None or b'"version":' + encode(shown) in draft.shape.spec


@pytest.mark.parametrize("body", [{"version": "new"}, {"version": 1.5}, {"type": "mail.send@new"}])
def test_a_version_that_cannot_be_read_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="must be an integer or a text"):
        parse_draft({"type": "mail.send", "args": [], **body})


def test_jobs_of_two_versions_are_not_the_same() -> None:
    def key(**more: Any) -> bytes | None:
        draft = parse_draft({"type": "mail.send", "args": [], "unique": {}, **more})
        return draft.unique.key if draft.unique else None

    assert key(version=2) == key(version="2.0")
    assert len({key(), key(version=1), key(version=2)}) == 3
