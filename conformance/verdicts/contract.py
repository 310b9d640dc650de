"""Checks exchanges against an OpenAPI document; each deviation has its JSON pointer."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import yaml
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from conformance.data_files import data_path
from conformance.verdicts.exchanges import Finding, Received

_BASE: Final = "urn:conformance:contract"
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# The schema of such a body is that of each of its lines.
_NDJSON: Final = "application/x-ndjson"
_MOST_CHECKED_BYTES: Final = 64 * 1024
_NUMBER: Final = re.compile(r"-?\d{1,18}(\.\d{1,18})?")
_JSON_TYPES: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}


class ContractError(Exception):
    """The OpenAPI document cannot be used."""


class BadPointer(ContractError):
    """A JSON pointer that leads to nothing."""


# The contract of OJS, and those of the bindings for other systems.
_OWN: Final = ("openapi.yaml", "openapi-joblib.yaml", "openapi-camunda.yaml")


@cache
def own_contract() -> "Contract":
    """Return the contract that comes with this package; reading it takes a while."""
    return load_contract(*(data_path(name) for name in _OWN))


def load_contract(path: Path, *others: Path) -> "Contract":
    """Read an OpenAPI 3.1 document in YAML or JSON, and add the paths and components of others."""
    document = _read(path)
    for other in map(_read, others):
        document["paths"].update(other["paths"])
        for kind, members in other["components"].items():
            document["components"].setdefault(kind, {}).update(members)
    return Contract(document, name=str(path))


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ContractError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ContractError(f"{path} is not UTF-8: {error}") from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ContractError(f"{path} is not YAML: {' '.join(str(error).split())}") from error


class Contract:
    """An OpenAPI document against which exchanges are checked."""

    def __init__(self, document: Any, *, name: str = "the OpenAPI document") -> None:
        if not isinstance(document, dict) or not isinstance(document.get("paths"), dict):
            raise ContractError(f"{name} is no OpenAPI document: it has no object `paths`")
        if not str(document.get("openapi", "")).startswith("3.1"):
            version = document.get("openapi", "nothing")
            raise ContractError(f"{name}: OpenAPI 3.1 is needed, `openapi` says {version}")
        self.document: dict[str, Any] = document
        self.name = name
        resource = Resource.from_contents(document, default_specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource(_BASE, resource)
        self._validators: dict[str, Draft202012Validator] = {}
        self._patterns = [
            (re.compile("[^/]+".join(map(re.escape, re.split(r"\{[^}]*\}", path)))), path)
            for path in document["paths"]
        ]

    def findings(self, sent: httpx.Request, received: Received) -> list[Finding]:
        """Return the deviations of an exchange; those of the request only if it was accepted."""
        return self._guarded(sent, self._findings(sent, received))

    def request_findings(self, sent: httpx.Request) -> list[Finding]:
        """Return the deviations of a request, whatever the answer was."""
        return self._guarded(sent, self._request_findings(sent))

    def _guarded(self, sent: httpx.Request, found: Iterator[Finding]) -> list[Finding]:
        try:
            return list(found)
        except (Unresolvable, SchemaError, BadPointer, RecursionError) as error:
            where = f"{sent.method} {sent.url.path}"
            message = f"the contract itself cannot be used here: {type(error).__name__}: {error}"
            return [Finding(operation=where, pointer="#", message=message, side="contract")]

    def path_of(self, path: str) -> str | None:
        """Return the documented path that a request goes to; a fixed one wins over a pattern."""
        if path in self.document["paths"]:
            return path
        return next((name for regex, name in self._patterns if regex.fullmatch(path)), None)

    def operations(self) -> Iterator[tuple[str, str]]:
        """Yield every documented method and path."""
        for path, item in self.document["paths"].items():
            for method in item if isinstance(item, dict) else ():
                if method in _METHODS:
                    yield method.upper(), path

    def misfits(self, pointer: str, value: Any) -> list[tuple[str, str]]:
        """Yield the places where a value does not fit the schema at a pointer, and the reasons."""
        try:
            return [
                ("/".join(("", *(escaped(str(part)) for part in each.absolute_path))), each.message)
                for each in self._errors(pointer, value)
            ]
        except (Unresolvable, SchemaError, RecursionError) as error:
            return [("", f"the schema cannot be used: {error}")]

    def _findings(self, sent: httpx.Request, received: Received) -> Iterator[Finding]:
        path, method, status = _path(sent), sent.method.lower(), received.status
        label = f"{sent.method} {path} -> {status}"
        name = self.path_of(path)
        if name is None:
            if status != 404:
                yield Finding(operation=label, pointer="#/paths", message="path not documented")
            return
        item = f"#/paths/{escaped(name)}"
        verb = "get" if method == "head" and "head" not in self.document["paths"][name] else method
        operation = self.document["paths"][name].get(verb)
        if not isinstance(operation, dict):
            if status != 405:
                yield Finding(operation=label, pointer=item, message="method not documented")
            return
        where = f"{item}/{verb}"
        yield from self._response(label, where, operation, received, head=method == "head")
        if status < 300:
            yield from self._request(label, where, operation, sent, name)

    def _request_findings(self, sent: httpx.Request) -> Iterator[Finding]:
        label = f"{sent.method} {_path(sent)}"
        name = self.path_of(_path(sent))
        if name is None:
            message = "path not documented"
            yield Finding(operation=label, pointer="#/paths", message=message, side="request")
            return
        where = f"#/paths/{escaped(name)}/{sent.method.lower()}"
        operation = self.document["paths"][name].get(sent.method.lower())
        if not isinstance(operation, dict):
            message = "method not documented"
            pointer = where.rpartition("/")[0]
            yield Finding(operation=label, pointer=pointer, message=message, side="request")
            return
        yield from self._request(label, where, operation, sent, name, though="")

    def _response(
        self, label: str, where: str, operation: Any, received: Received, *, head: bool
    ) -> Iterator[Finding]:
        responses = operation.get("responses") or {}
        status = str(received.status)
        key = next((key for key in (status, f"{status[0]}XX", "default") if key in responses), None)
        if key is None:
            pointer = f"{where}/responses"
            yield Finding(operation=label, pointer=pointer, message=f"{status} is not documented")
            return
        pointer, response = self._resolved(f"{where}/responses/{key}")
        for name in response.get("headers") or {}:
            yield from self._header(label, f"{pointer}/headers/{escaped(name)}", name, received)
        content = response.get("content")
        if head or not isinstance(content, dict):
            return
        given = received.headers.get("content-type", "")
        media = given.partition(";")[0].strip().lower()
        if media not in content:
            message = f"Content-Type {given!r} is not documented"
            yield Finding(operation=label, pointer=f"{pointer}/content", message=message)
            return
        schema = f"{pointer}/content/{escaped(media)}/schema"
        if media.endswith("json") and "schema" in content[media]:
            for body in received.content.splitlines() if media == _NDJSON else [received.content]:
                yield from self._body(label, schema, body, "response")

    def _header(self, label: str, where: str, name: str, received: Received) -> Iterator[Finding]:
        pointer, header = self._resolved(where)
        value = received.headers.get(name.lower())
        if value is None:
            if header.get("required"):
                message = f"the header {name} is missing"
                yield Finding(operation=label, pointer=pointer, message=message)
            return
        if "schema" in header:
            for error in self._errors(f"{pointer}/schema", self._typed(value, f"{pointer}/schema")):
                message = f"the header {name}: {error.message}"
                place = f"{pointer}/schema"
                yield Finding(operation=label, pointer=place, at=name, message=message)

    def _request(
        self,
        label: str,
        where: str,
        operation: Any,
        sent: httpx.Request,
        name: str,
        though: str = "accepted, though ",
    ) -> Iterator[Finding]:
        item = where.rpartition("/")[0]
        counts = [(item, self.document["paths"][name]), (where, operation)]
        for place, holder in counts:
            for at in range(len(holder.get("parameters") or ())):
                yield from self._parameter(label, f"{place}/parameters/{at}", sent, though)
        if not sent.content or "requestBody" not in operation:
            return
        pointer, body = self._resolved(f"{where}/requestBody")
        given = sent.headers.get("content-type", "application/openjobspec+json")
        media = given.partition(";")[0].strip().lower()
        if media not in body.get("content", {}):
            message = f"{though}Content-Type {given!r} is not documented"
            place = f"{pointer}/content"
            yield Finding(operation=label, pointer=place, message=message, side="request")
            return
        if media.endswith("json") and "schema" in body["content"][media]:
            schema = f"{pointer}/content/{escaped(media)}/schema"
            yield from self._body(label, schema, sent.content, "request")

    def _parameter(
        self, label: str, where: str, sent: httpx.Request, though: str
    ) -> Iterator[Finding]:
        pointer, parameter = self._resolved(where)
        name, place = parameter.get("name", ""), parameter.get("in")
        values = {"query": sent.url.params, "header": sent.headers}.get(str(place))
        given = values.get(name) if values is not None else None
        # An empty query parameter counts as left out.
        if not given or "schema" not in parameter:
            return
        for error in self._errors(f"{pointer}/schema", self._typed(given, f"{pointer}/schema")):
            message = f"{though}the {place} parameter {name}: {error.message}"
            schema = f"{pointer}/schema"
            yield Finding(operation=label, pointer=schema, at=name, message=message, side="request")

    def _body(self, label: str, schema: str, content: bytes, side: str) -> Iterator[Finding]:
        if len(content) > _MOST_CHECKED_BYTES:
            return
        try:
            value = msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = f"the body is not JSON: {error}"
            yield Finding(operation=label, pointer=schema, message=message, side=side)
            return
        for wrong in self._errors(schema, value):
            yield Finding(
                operation=label,
                pointer=self._place(schema, wrong),
                at="/" + "/".join(escaped(str(part)) for part in wrong.absolute_path),
                message=wrong.message if len(wrong.message) < 400 else f"{wrong.message[:400]} ...",
                side=side,
            )

    def _errors(self, pointer: str, value: Any) -> list[ValidationError]:
        if pointer not in self._validators:
            self._validators[pointer] = Draft202012Validator(
                {"$ref": _BASE + pointer}, registry=self._registry, format_checker=FormatChecker()
            )
        found = list(self._validators[pointer].iter_errors(value))
        # One error per place: those of other alternatives would hide the relevant one.
        best = {tuple(each.absolute_path): best_match([each]) for each in found}
        return [each for each in best.values() if each is not None]

    def _place(self, schema: str, error: ValidationError) -> str:
        pointer = schema
        for part in error.absolute_schema_path:
            node = self.at(pointer)
            # The path of an error skips references, so follow them here.
            while isinstance(node, dict) and part not in node and "$ref" in node:
                pointer = str(node["$ref"])
                node = self.at(pointer)
            pointer = f"{pointer}/{escaped(str(part))}"
        return pointer

    def _typed(self, text: str, pointer: str) -> object:
        """Convert the text of a header or parameter to a type that its schema allows."""
        types = set(self._types(pointer))
        if not types.isdisjoint(("integer", "number")) and _NUMBER.fullmatch(text):
            whole = text.lstrip("-").isdecimal()
            return int(text) if whole else float(text)
        if "boolean" in types and text in ("true", "false"):
            return text == "true"
        return text.split(",") if "array" in types else text

    def _types(self, pointer: str) -> Iterator[str]:
        """Yield the types that a schema names, in its alternatives and by its constants too."""
        if not isinstance(self.at(pointer), dict):
            return
        pointer, schema = self._resolved(pointer)
        named = schema.get("type", [])
        yield from [named] if isinstance(named, str) else named
        for value in (schema["const"],) if "const" in schema else schema.get("enum", ()):
            yield _JSON_TYPES.get(type(value), "")
        for key in ("anyOf", "oneOf", "allOf"):
            for at in range(len(schema.get(key, ()))):
                yield from self._types(f"{pointer}/{key}/{at}")

    def _resolved(self, pointer: str) -> tuple[str, dict[str, Any]]:
        """Follow references; return the pointer and the object that they lead to."""
        for _ in range(16):
            node = self.at(pointer)
            if not isinstance(node, dict):
                break
            if not isinstance(node.get("$ref"), str):
                return pointer, node
            pointer = node["$ref"]
        raise BadPointer(f"{pointer} leads to nothing that can be used")

    def at(self, pointer: str) -> Any:
        """Return the value at a JSON pointer into the document."""
        node: Any = self.document
        for part in pointer.removeprefix("#/").split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            elif isinstance(node, dict) and name in node:
                node = node[name]
            else:
                raise BadPointer(f"{pointer} is not in the document")
        return node


def escaped(part: str) -> str:
    """Return a key as a JSON pointer spells it."""
    return part.replace("~", "~0").replace("/", "~1")


def _path(sent: httpx.Request) -> str:
    """Return the path as it was sent: an encoded slash is part of a parameter."""
    return sent.url.raw_path.partition(b"?")[0].decode()
