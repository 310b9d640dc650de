"""Contradictions in a folder of texts that are not written as clauses are found."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.commands.cli import main

BINDING = """# Binding

## 1. Calls

See [the end](#2-values), [nothing](#9-nothing), [another](other.md) and [none](missing.md).
Section 2 is below, Section 7 is not.
RFC 9110 Section 15 is another text's.

### 1.1 A ticket

```http
POST /ojs/v1/tickets
```

#### Answer

```http
HTTP/1.1 201 Created
Content-Type: application/json

{"ticket": 7, "state": "open"}
```

```http
HTTP/1.1 204 No Content
```

### 1.2 Elsewhere

```http
HTTP/1.1 204 No Content
```

## 2. Values

| Code | HTTP Status | Retryable |
|------|-------------|-----------|
| `ticket_lost` | `404` | no |

| Field | Default | Values |
|-------|---------|--------|
| `keep_days` | `30` | |
| `state` | | `open`, `shut` or `lost` |
| `colour` | | such as `red`, `blue` and `green` |
"""
OTHER = """# Other

Tickets are in binding.md, Section 1.1, and in `binding.md` Section 4; in gone.md Section 1, too.

| Error Code | HTTP Status | Retryable |
|------------|-------------|-----------|
| `ticket_lost` | 410 | yes |

| Parameter | Default | Values |
|-----------|---------|--------|
| `keep_days` | `7` | |
| `state` | | `open`, `shut` or `torn` |
| `colour` | | such as `red`, `blue` and `black` |

## 1. One

## 1. One again
"""


def document() -> dict[str, Any]:
    """Return a contract in which a ticket is a text."""
    schema = {
        "type": "object",
        "properties": {"ticket": {"type": "string"}, "state": {"enum": ["open", "shut", "lost"]}},
    }
    answer = {"description": "It.", "content": {"application/json": {"schema": schema}}}
    paths = {"/ojs/v1/tickets": {"post": {"responses": {"201": answer}}}}
    return {"openapi": "3.1.0", "paths": paths}


def test_contradictions_of_texts_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "binding.md").write_text(BINDING)
    (tmp_path / "other.md").write_text(OTHER)
    (tmp_path / "openapi.yaml").write_text(yaml.safe_dump(document()))
    assert main(["spec", "check", "--of", str(tmp_path)]) == 1
    schema = "#/paths/~1ojs~1v1~1tickets/post/responses/201/content/application~1json/schema"
    assert capsys.readouterr().out.splitlines() == [
        "links and sections: 6",
        "    binding.md:5: #9-nothing: binding.md has no such heading",
        "    binding.md:5: missing.md: no such file in the folder",
        "    binding.md:6: it has no section 7",
        "    other.md:3: binding.md has no section 4",
        "    other.md:3: there is no gone.md",
        "    other.md: section 1 is there 2 times: 15, 17",
        "values in tables: 3",
        "    other.md:7: status of ticket_lost is 410; binding.md:38 has 404",
        "    other.md:7: retryable of ticket_lost is yes; binding.md:38 has no",
        "    other.md:11: default of keep_days is 7; binding.md:42 has 30",
        "lists of values: 2",
        "    other.md:12: state is open, shut, torn; binding.md:43 has lost, open, shut",
        "    other.md:12: state is open, shut, torn; the OpenAPI document has lost, open, shut",
        "exchanges: 2",
        f"    binding.md:17: answer 201 of POST /ojs/v1/tickets does not fit {schema} at /ticket: "
        "7 is not of type 'string'",
        "    binding.md:24: POST /ojs/v1/tickets answers 204; the OpenAPI document has 201",
        "examples of the OpenAPI document: 0",
    ]


def test_texts_that_agree_have_no_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.md").write_text("# One\n\n## 1. Here\n\nSee Section 1 and [it](#1-here).\n")
    assert main(["spec", "check", "--of", str(tmp_path)]) == 0
    assert main(["spec", "check", "--of", str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err
