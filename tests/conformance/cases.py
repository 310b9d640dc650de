"""Builds cases for the tests the way the loader does: from JSON text."""

from pathlib import Path
from typing import Any

import msgspec

from conformance.language.load import decode_case
from conformance.language.model import Case, CaseFile, Step


def step(action: str = "GET", **keys: Any) -> dict[str, Any]:
    """One step as JSON, a GET of /jobs named ``s1`` unless told otherwise."""
    return {"id": "s1", "action": action, "path": "/jobs", **keys}


def case(*steps: dict[str, Any], **keys: Any) -> Case:
    """A decoded case."""
    text = msgspec.json.encode({"test_id": "T-1", "name": "made-up", "steps": steps, **keys})
    return msgspec.json.decode(text, type=Case)


def one_step(action: str = "GET", **keys: Any) -> Step:
    """A decoded step."""
    return case(step(action, **keys)).steps[0]


def case_file(*steps: dict[str, Any], **keys: Any) -> CaseFile:
    """A case as the loader hands it to the executor, judged for soundness."""
    text = msgspec.json.encode({"test_id": "T-1", "name": "made-up", "steps": steps, **keys})
    return decode_case(text, Path("made-up.json"))
