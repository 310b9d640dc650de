"""openapi-camunda.yaml is well formed, and has the calls that the server has."""

from pathlib import Path
from typing import Any

import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from ojs_server.http.routes import CAMUNDA
from tests.http.contract import METHODS

FILE = Path(__file__).parents[2] / "openapi-camunda.yaml"


def document() -> dict[str, Any]:
    """The document as it is written."""
    read: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return read


def test_the_document_is_valid() -> None:
    OpenAPIV31SpecValidator(document()).validate()


def test_it_has_every_call_and_no_other() -> None:
    documented = {
        (method.upper(), path)
        for path, item in document()["paths"].items()
        for method in item
        if method in METHODS
    }
    assert documented == {(route.method, route.path) for route in CAMUNDA}


def test_its_components_are_called_after_it() -> None:
    components = document()["components"]
    names = [name for kind in components.keys() - {"securitySchemes"} for name in components[kind]]
    assert [name for name in names if not name.startswith("Camunda")] == []
