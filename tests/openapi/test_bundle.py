"""openapi.yaml is the bundle of its parts, with what all calls have in common added."""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from ojs_server.http.dialects import ALIASES
from tests.http.contract import FILE
from tests.openapi.bundle import Aliases, PartsError, bundle
from tests.openapi.layout import WIDTH, text

HEAD = "openapi: 3.1.0\ntags: [{name: Queues}, {name: Jobs}]"
JOBS = """
paths:
  /jobs:
    post:
      operationId: enqueue
      tags: [Jobs]
      summary: Enqueue
      description: Stores a job.
      parameters: [{name: wait, in: query}]
      requestBody: {$ref: '#/components/requestBodies/Job'}
      responses:
        {'201': {description: made}, '200': {description: there}, '400': {description: bad}}
    get:
      {operationId: list, tags: [Jobs], summary: List, responses: {'200': {description: all}}}
components:
  requestBodies:
    Job:
      content:
        application/openjobspec+json: {schema: {type: object}, examples: {one: {value: {}}}}
  responses:
    Made:
      description: made
      headers: {Location: {schema: {type: string}}, Cache-Control: {description: kept}}
      content: {application/openjobspec+json: {schema: true}, text/plain: {schema: true}}
    Gone: {description: gone}
  schemas: {}
"""
QUEUES = """
paths:
  /queues:
    get:
      operationId: queues
      tags: [Queues]
      summary: List queues
      security: []
      responses: {'200': {description: all}}
"""
NONE: Aliases = MappingProxyType({})
ADD = ("POST", "/add")
ENQUEUE = ("POST", "/jobs")


def bundled(folder: Path, aliases: Aliases = NONE, **parts: str) -> dict[str, Any]:
    """Return the bundle of parts, by their names."""
    for name, part in {"document": HEAD, "jobs": JOBS, "queues": QUEUES, **parts}.items():
        (folder / f"{name}.yaml").write_text(part, encoding="utf-8")
    return bundle(aliases, folder)


def test_the_committed_bundle_is_up_to_date() -> None:
    current = FILE.read_text(encoding="utf-8") == text(bundle(ALIASES))
    assert current, "run `make openapi`, and commit openapi.yaml with its parts"


def test_every_path_has_the_common_parameters_and_stands_by_its_tag(tmp_path: Path) -> None:
    paths = bundled(tmp_path)["paths"]
    assert list(paths) == ["/queues", "/jobs"]
    named = [{"$ref": f"#/components/parameters/{name}"} for name in ("OjsVersion", "RequestId")]
    assert all(item["parameters"] == named for item in paths.values())


def test_every_operation_has_its_errors(tmp_path: Path) -> None:
    paths = bundled(tmp_path)["paths"]
    post = paths["/jobs"]["post"]["responses"]
    assert list(post) == ["201", "200", "400", "401", "403", "413", "422", "429", "500", "503"]
    assert post["400"] == {"description": "bad"}
    assert post["422"] == {"$ref": "#/components/responses/Unprocessable"}
    read = paths["/jobs"]["get"]["responses"]
    assert list(read) == ["200", "401", "403", "422", "429", "500", "503"]
    assert read["422"] == {"$ref": "#/components/responses/UnsupportedVersion"}
    free = paths["/queues"]["get"]["responses"]
    assert list(free) == ["200", "422", "500"]


def test_every_answer_has_the_common_headers(tmp_path: Path) -> None:
    responses = bundled(tmp_path)["components"]["responses"]
    common = ["OJS-Version", "X-Request-Id", "X-Content-Type-Options", "Cache-Control"]
    assert list(responses["Gone"]["headers"]) == common
    assert list(responses["Made"]["headers"]) == [*common, "Location"]
    assert responses["Made"]["headers"]["Cache-Control"] == {"description": "kept"}


def test_json_is_of_both_media_types(tmp_path: Path) -> None:
    components = bundled(tmp_path)["components"]
    body = components["requestBodies"]["Job"]["content"]
    assert body["application/json"] == {"schema": {"type": "object"}}
    assert body["application/openjobspec+json"]["examples"] == {"one": {"value": {}}}
    made = components["responses"]["Made"]["content"]
    assert list(made) == ["application/openjobspec+json", "application/json", "text/plain"]
    assert "content" not in components["responses"]["Gone"]


def test_an_alias_is_its_operation_with_what_it_has_of_its_own(tmp_path: Path) -> None:
    part = "aliases: {POST /add: {operationId: add, parameters: null, requestBody: {x: 1}}}"
    paths = bundled(tmp_path, {ADD: ENQUEUE}, more=part)["paths"]
    assert list(paths) == ["/queues", "/jobs", "/add"]
    assert paths["/add"]["parameters"] == paths["/jobs"]["parameters"]
    operation, alias = paths["/jobs"]["post"], paths["/add"]["post"]
    assert alias == {
        "operationId": "add",
        "x-alias-of": "POST /jobs",
        "tags": ["Jobs"],
        "summary": "Enqueue (alias)",
        "requestBody": {**operation["requestBody"], "x": 1},
        "responses": operation["responses"],
    }
    assert operation["operationId"] == "enqueue"


def test_an_alias_may_share_a_path(tmp_path: Path) -> None:
    aliases = {("PUT", "/jobs"): ENQUEUE}
    paths = bundled(tmp_path, aliases, more="aliases: {PUT /jobs: {operationId: put}}")["paths"]
    assert list(paths["/jobs"]) == ["parameters", "post", "get", "put"]


@pytest.mark.parametrize(
    ("aliases", "part", "complaint"),
    [
        ({ADD: ENQUEUE}, "{}", "POST /add stands for POST /jobs, and no part says 'POST /add'"),
        ({ADD: ENQUEUE}, "aliases: {POST /add: {}}", "no part says 'operationId'"),
        ({ADD: ("PUT", "/jobs")}, "aliases: {POST /add: {operationId: x}}", "no part says 'put'"),
        ({ADD: ("PUT", "/x")}, "aliases: {POST /add: {operationId: x}}", "no part says '/x'"),
        ({}, "aliases: {POST /add: {operationId: x}}", "not served as an alias: POST /add"),
        ({}, "paths: {/jobs: {}}", "other.yaml: paths: /jobs is in another part as well"),
        (
            {},
            "components: {responses: {Made: {}}}",
            "other.yaml: components.responses: Made is in another part as well",
        ),
        ({}, "tags: []", "other.yaml: tags: tags is in another part as well"),
        ({}, "paths: {/x: {get: {tags: [Jobz], responses: {}}}}", "/x: there is no tag Jobz"),
    ],
)
def test_parts_that_cannot_be_bundled(
    tmp_path: Path, aliases: Aliases, part: str, complaint: str
) -> None:
    with pytest.raises(PartsError) as found:
        bundled(tmp_path, aliases, other=part)
    assert complaint in str(found.value)


def test_the_text_says_what_the_bundle_is(tmp_path: Path) -> None:
    document = bundled(tmp_path)
    assert yaml.safe_load(text(document)) == document


def test_what_fits_into_a_line_is_a_line(tmp_path: Path) -> None:
    names = [f"name{number}" for number in range(9)]
    lines = text({"short": {"enum": names}, "long": {"enum": names * 3}, "told": "a\nb\n"})
    assert f"\nshort: {{enum: [{', '.join(names)}]}}\n" in lines
    assert "\nlong:\n  enum:\n    - name0\n" in lines
    assert "\ntold: |\n  a\n  b\n" in lines
    assert max(map(len, lines.splitlines())) <= WIDTH


def test_what_stands_twice_is_written_twice() -> None:
    shared = {"type": "object"}
    assert text({"a": shared, "b": shared}).endswith("{a: {type: object}, b: {type: object}}\n")
