"""The operations of the contract, with their parameters, bodies and examples at hand."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.http.contract import METHODS, document

OPENJOBSPEC: Final = "application/openjobspec+json"


@dataclass(frozen=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    definition: dict[str, Any]

    @property
    def id(self) -> str:
        """Its operationId."""
        return str(self.definition["operationId"])

    @property
    def success(self) -> int:
        """The status that is documented first."""
        return int(next(iter(self.definition["responses"])))

    def example(self) -> tuple[str, dict[str, str], dict[str, str]]:
        """The path, query and headers that the examples of its parameters make."""
        path = self.path
        places: dict[str, dict[str, str]] = {"query": {}, "header": {}}
        shared = document()["paths"][self.path]["parameters"]
        for parameter in map(resolve, [*shared, *self.definition.get("parameters", ())]):
            name, example = parameter["name"], str(parameter["example"])
            if parameter["in"] == "path":
                path = path.replace(f"{{{name}}}", example)
            else:
                places[parameter["in"]][name] = example
        return path, places["query"], places["header"]

    def bodies(self) -> Iterator[tuple[str, Any]]:
        """The examples of its body, by name; one without a body where none is needed."""
        body = resolve(self.definition.get("requestBody", {}))
        if not body.get("required"):
            yield "no body", None
        for name, example in (
            body.get("content", {}).get(OPENJOBSPEC, {}).get("examples", {}).items()
        ):
            yield name, example["value"]


def resolve(node: dict[str, Any]) -> dict[str, Any]:
    """A component, where a reference to it stands."""
    found: Any = node
    if "$ref" in node:
        found = document()
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
    resolved: dict[str, Any] = found
    return resolved


OPERATIONS: Final = tuple(
    Operation(method.upper(), path, definition)
    for path, item in document()["paths"].items()
    for method, definition in item.items()
    if method in METHODS
)
