"""Published cases and the claims of a manifest."""

from typing import Any

import msgspec
import pytest

from conformance.verdicts.features import read_features
from tests.conformance.cases import case_file, step


def lacks(manifest: dict[str, Any], **keys: Any) -> str | None:
    file = case_file(step(assertions={"status": 200}), **keys)
    return read_features({"specversion": "1.0", **manifest}).lacks(file)


@pytest.mark.parametrize(
    ("manifest", "keys", "missing"),
    [
        ({"conformance_level": 1}, {"level": 1}, None),
        ({"conformance_level": 1}, {"level": 2}, "level 2 not claimed; the manifest says 1"),
        ({}, {"level": 4}, None),
        (
            {"conformance_level": 1, "capabilities": {"cron": True}},
            {"level": 2, "category": "cron"},
            None,
        ),
        (
            {"conformance_level": 4, "capabilities": {"unique_jobs": False}},
            {"level": 4, "category": "unique"},
            "capability unique_jobs not claimed",
        ),
        (
            {"conformance_level": 4},
            {"test_id": "EXT-PRG-1", "level": 0, "category": "ext-progress"},
            "extension progress not claimed",
        ),
        (
            {"extensions": ["urn:ojs:ext:progress"]},
            {"test_id": "EXT-PRG-1", "category": "ext-progress"},
            None,
        ),
        (
            {"extensions": {"official": [{"name": "rate-limiting", "version": "1"}]}},
            {"test_id": "EXT-RL-1", "category": "x", "spec_ref": "ojs-rate-limiting#section-6"},
            None,
        ),
        (
            {"extensions": {"experimental": [{"uri": "urn:ojs:ext:experimental:job-versioning"}]}},
            {"test_id": "EXT-VER-1", "category": "ext-job-versioning"},
            None,
        ),
        ({"conformance_level": 4}, {"level": 1, "category": "wasi"}, "extension wasi not claimed"),
        (
            {"extensions": ["urn:ojs:ext:experimental:runtime"]},
            {"level": 1, "category": "wasi", "spec_ref": "ojs-ext-runtime#section-4"},
            None,
        ),
    ],
)
def test_what_is_missing(
    manifest: dict[str, Any], keys: dict[str, Any], missing: str | None
) -> None:
    assert lacks(manifest, **keys) == missing


@pytest.mark.parametrize("odd", [7, [], {"extensions": 7}, None, msgspec.UNSET])
def test_odd_manifests_claim_nothing_special(odd: Any) -> None:
    assert read_features(odd).known is False


@pytest.mark.parametrize(
    ("manifest", "level", "has"),
    [
        # The forms of the conformance text, the HTTP binding, and backends that list names.
        (
            {"specversion": "1.0", "conformance_level": 2},
            2,
            {"cron_jobs": True, "workflows": False},
        ),
        (
            {"ojs_version": "1.0", "conformance_level": 4, "capabilities": {"cron_jobs": False}},
            4,
            {"cron_jobs": False, "unique_jobs": True, "rate_limiting": False},
        ),
        (
            {"levels": [0, 1, 2, 3], "capabilities": ["rate-limiting"]},
            3,
            {"rate_limiting": True, "workflows": True, "unique_jobs": False, "progress": False},
        ),
        (
            {"conformance_level": "1", "extensions": ["urn:ojs:ext:bulk-operations", "realtime"]},
            1,
            {"batch_enqueue": True, "websocket": True, "event_streams": True, "webhooks": False},
        ),
        # Claims that cannot be read are judged.
        ({"capabilities": "all of them"}, None, {"progress": True, "unique_jobs": True}),
        ({"capabilities": [7], "conformance_level": True}, None, {"progress": True}),
        ({"levels": []}, None, {"workflows": True, "progress": False}),
    ],
)
def test_claims_are_read_in_every_form(
    manifest: dict[str, Any], level: int | None, has: dict[str, bool]
) -> None:
    features = read_features(manifest)
    assert features.level == level
    assert {name: features.has((name,)) for name in has} == has


def test_the_claims_are_said_in_one_line() -> None:
    manifest = {"levels": [0, 1], "capabilities": ["a", "b"], "extensions": ["c"]}
    assert str(read_features(manifest)) == (
        "the manifest claims level 1, 2 capabilities and 1 extensions"
    )
    assert "cannot be read" in str(read_features([]))
    assert "capabilities that cannot be read" in str(read_features({"capabilities": 7}))
