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


@pytest.mark.parametrize("odd", [7, [], {"extensions": 7, "capabilities": []}, None, msgspec.UNSET])
def test_odd_manifests_claim_nothing_special(odd: Any) -> None:
    assert read_features(odd).known is False
