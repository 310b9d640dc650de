"""Holds every answer of the server to openapi.yaml.

The contract lets answers grow, so that a client must not refuse what it does not know. A test
must: `closed` shuts every object of an answer that is not declared open, and an undocumented
member fails like a missing one.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx
import jsonschema_rs
import yaml
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

FILE: Final = Path(__file__).parents[2] / "openapi.yaml"
BASE: Final = "urn:ojs:contract"
OPENJOBSPEC: Final = "application/openjobspec+json"
PLAIN_JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
# Media types that are not JSON.
FREE_TEXT: Final = frozenset({"text/plain", "text/event-stream"})
METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


class Deviation(AssertionError):
    """An answer of the server does not conform to the contract."""


@cache
def document() -> dict[str, Any]:
    """Return the contract as it is written."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C takes a tenth of the time
    loaded: dict[str, Any] = yaml.load(FILE.read_text(encoding="utf-8"), loader)
    return loaded


def escape(part: str) -> str:
    """A key as a JSON pointer spells it."""
    return part.replace("~", "~0").replace("/", "~1")


def closed(node: Any) -> Any:
    """Return the schemas with every object closed that does not allow or forbid further members.

    Parts of an `allOf` are left alone: each of them knows only its own members.
    """
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    shut = {
        key: value
        if key in ("allOf", "example", "examples", "if", "then", "else")
        else closed(value)
        for key, value in node.items()
    }
    if isinstance(node.get("properties"), dict) and node.get("type") == "object":
        shut.setdefault("additionalProperties", False)
    return shut


class Contract:
    """The paths of a contract, and whether an answer keeps it.

    `shut` closes objects that do not say whether they are open, which is for answers only.
    """

    def __init__(self, contract: dict[str, Any], *, shut: bool = True) -> None:
        self._document = contract
        components = contract["components"]
        answers = {**contract, "components": closed(components) if shut else components}
        resource = Resource.from_contents(answers, default_specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource(BASE, resource)
        self._quick_registry = jsonschema_rs.Registry([(BASE, answers)])
        self._paths = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in contract["paths"]
        ]
        self._validators: dict[str, Draft202012Validator] = {}
        self._quick: dict[str, jsonschema_rs.Draft202012Validator] = {}

    def path_of(self, path: str) -> str | None:
        """Return the documented path of a request; a fixed path comes before a pattern."""
        if path in self._document["paths"]:
            return path
        return next((name for regex, name in self._paths if regex.fullmatch(path)), None)

    def check(self, response: httpx.Response) -> None:
        """Fail on the first thing in an answer that is not as documented."""
        request = response.request
        method = request.method.lower()
        # As it was sent: an encoded slash is part of a parameter.
        path = request.url.raw_path.partition(b"?")[0].decode()
        where = f"{request.method} {path} -> {response.status_code}"
        pointer = self._response(method, path, response.status_code, where)
        documented = self._at(pointer)
        self._check_headers(documented.get("headers", {}), response, where)
        if "content" not in documented:
            _demand(response.content == b"", f"{where}: this answer has no body")
            _demand("content-type" not in response.headers, f"{where}: it has a type, but no body")
            return
        media_type = self._check_media_type(documented, response, where)
        if method == "head":
            _demand(response.content == b"", f"{where}: an answer to HEAD has no body")
            return
        if media_type in FREE_TEXT:
            return
        schema = f"{pointer}/content/{escape(media_type)}/schema"
        bodies = response.content.split(b"\n") if media_type == NDJSON else [response.content]
        if media_type == NDJSON:
            _demand(bodies.pop() == b"", f"{where}: the last line has no end")
        for body in bodies:
            self._check_body(schema, body, where)

    def validate(self, pointer: str, value: Any) -> None:
        """Fail unless a value fits the schema at a JSON pointer."""
        # Ten times as fast as the validator that explains errors, and enough for nearly all values.
        if self._quick_validator(pointer).is_valid(value):
            return
        error = best_match(self._validator(pointer).iter_errors(value))
        if error is not None:
            place = "/" + "/".join(escape(str(part)) for part in error.absolute_path)
            raise Deviation(f"at {place}: {error.message} (by {pointer})")

    def _response(self, method: str, path: str, status: int, where: str) -> str:
        name = self.path_of(path)
        if name is None:
            return _anywhere(status, 404, "NotFound", f"{where}: the path is not documented")
        item = self._document["paths"][name]
        operation = item.get("get" if method == "head" else method)
        if operation is None:
            if "%2f" in path.lower() and status == 404:
                # Most parameters hold no slash, and what is left is then no path.
                return "#/components/responses/NotFound"
            otherwise = f"{where}: the method is not documented"
            return _anywhere(status, 405, "MethodNotAllowed", otherwise)
        documented = operation["responses"].get(str(status))
        _demand(documented is not None, f"{where}: the status is not documented")
        pointer: str = documented["$ref"]
        return pointer

    def _check_headers(
        self, documented: Mapping[str, Any], response: httpx.Response, where: str
    ) -> None:
        for name, reference in documented.items():
            header = self._at(reference["$ref"])
            given = response.headers.get(name)
            if given is None:
                _demand(not header.get("required"), f"{where}: the header {name} is missing")
                continue
            numeric = self._at(reference["$ref"])["schema"].get("type") == "integer"
            value = (
                int(given) if numeric or isinstance(header["schema"].get("const"), int) else given
            )
            try:
                self.validate(f"{reference['$ref']}/schema", value)
            except Deviation as error:
                raise Deviation(f"{where}: the header {name} {error}") from None

    def _check_media_type(
        self, documented: Mapping[str, Any], response: httpx.Response, where: str
    ) -> str:
        given: str = response.headers["content-type"]
        media_type = given.partition(";")[0]
        _demand(media_type in documented["content"], f"{where}: {given} is not documented")
        if media_type not in FREE_TEXT | {NDJSON}:
            headers = response.request.headers
            accept = headers.get("accept", "")
            wanted = OPENJOBSPEC
            if PLAIN_JSON in accept and OPENJOBSPEC not in accept:
                wanted = PLAIN_JSON
            elif "ojs-version" in headers:
                wanted = f'{OPENJOBSPEC}; alt="{PLAIN_JSON}"'
            _demand(given == wanted, f"{where}: Content-Type is {given}, not {wanted}")
        return media_type

    def _check_body(self, schema: str, body: bytes, where: str) -> None:
        try:
            self.validate(schema, json.loads(body))
        except Deviation as error:
            raise Deviation(f"{where}: {error}\n{body.decode()[:2000]}") from None

    def _validator(self, pointer: str) -> Draft202012Validator:
        if pointer not in self._validators:
            self._validators[pointer] = Draft202012Validator(
                {"$ref": BASE + pointer},
                registry=self._registry,
                format_checker=FormatChecker(),
            )
        return self._validators[pointer]

    def _quick_validator(self, pointer: str) -> jsonschema_rs.Draft202012Validator:
        if pointer not in self._quick:
            self._quick[pointer] = jsonschema_rs.Draft202012Validator(
                {"$ref": BASE + pointer}, registry=self._quick_registry, validate_formats=True
            )
        return self._quick[pointer]

    def _at(self, pointer: str) -> dict[str, Any]:
        node: Any = self._document
        for part in pointer.removeprefix("#/").split("/"):
            node = node[part.replace("~1", "/").replace("~0", "~")]
        found: dict[str, Any] = node
        return found


@cache
def contract() -> Contract:
    """The contract that all tests hold the server to."""
    return Contract(document())


def _anywhere(status: int, lacking: int, name: str, otherwise: str) -> str:
    """Expect 404 of paths that do not exist, and 403 for requests of foreign pages."""
    _demand(status in (lacking, 403), otherwise)
    return f"#/components/responses/{'Forbidden' if status == 403 else name}"


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Deviation(otherwise)
