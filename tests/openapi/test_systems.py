"""The OpenAPI documents of other systems are well formed, and have the calls of the server."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from ojs_server.http.route import SOCKETIO
from ojs_server.systems import jobmanager, zeebe
from tests.http.contract import METHODS

ROOT = Path(__file__).parents[2]
CALLS = {
    # With one for those that are refused with advice.
    "Camunda": {(route.method, route.path) for route in zeebe.ROUTES}
    | {("POST", "/v2/deployments")},
    "Joblib": {(route.method, route.path) for route in jobmanager.ROUTES}
    | {("GET", SOCKETIO), ("POST", SOCKETIO)},
}
each_system = pytest.mark.parametrize("system", CALLS)


def document(system: str) -> dict[str, Any]:
    """Return the document as it is written."""
    file = ROOT / f"openapi-{system.lower()}.yaml"
    read: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return read


@each_system
def test_the_document_is_valid(system: str) -> None:
    OpenAPIV31SpecValidator(document(system)).validate()


@each_system
def test_it_has_every_call_and_no_other(system: str) -> None:
    documented = {
        (method.upper(), path)
        for path, item in document(system)["paths"].items()
        for method in item
        if method in METHODS
    }
    assert documented == CALLS[system]


@each_system
def test_its_components_are_called_after_it(system: str) -> None:
    components = document(system)["components"]
    names = [name for kind in components.keys() - {"securitySchemes"} for name in components[kind]]
    assert [name for name in names if not name.startswith(system)] == []
