"""Bundle the parts of the contract, the files in `openapi/`, into one OpenAPI document.

A part has `paths` and `components`, as in OpenAPI, and `aliases`: the differences of an alias from
its operation, as a merge patch (RFC 7396). The table that serves the aliases says which there are.
What all calls have in common is added here, unless a part says otherwise.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tests.http.contract import METHODS, OPENJOBSPEC, PLAIN_JSON

PARTS: Final = Path(__file__).parents[2] / "openapi"

# Of every path, and of every answer.
PARAMETERS: Final = ("OjsVersion", "RequestId")
HEADERS: Final = {
    "OJS-Version": "OjsVersion",
    "X-Request-Id": "RequestId",
    "X-Content-Type-Options": "NoSniff",
    "Cache-Control": "NoStore",
}
# The errors of every operation, of those that ask for a key, and of those that read a body.
ALWAYS: Final = {"422": "UnsupportedVersion", "500": "InternalError"}
WITH_KEY: Final = {
    "401": "Unauthenticated",
    "403": "Forbidden",
    "429": "TooManyAttempts",
    "503": "Unavailable",
}
WITH_BODY: Final = {"400": "BadRequest", "413": "TooLarge", "422": "Unprocessable"}

# Members of an operation that its aliases do not take over.
NOT_OF_ALIASES: Final = frozenset({"operationId", "description"})

# (method, path) of an alias -> (method, path) of its operation.
Aliases = Mapping[tuple[str, str], tuple[str, str]]


class PartsError(Exception):
    """The parts cannot be bundled."""


def bundle(aliases: Aliases, folder: Path = PARTS) -> dict[str, Any]:
    """Return the document that the parts in a folder make."""
    document = _joined(folder)
    paths, components = document.pop("paths"), document.pop("components")
    _add_aliases(paths, document.pop("aliases"), aliases)
    whole = {"requestBodies": _whole_body, "responses": _whole_answer}
    for kind, complete in whole.items():
        components[kind] = {name: complete(part) for name, part in components[kind].items()}
    return {
        **document,
        "paths": {path: _whole_path(item) for path, item in _by_tag(paths, document["tags"])},
        "components": {kind: _sorted(members) for kind, members in _sorted(components).items()},
    }


def patched(value: Any, patch: Any) -> Any:
    """Return a value with a JSON merge patch applied (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = patched(merged.get(key), change)
    return merged


def _joined(folder: Path) -> dict[str, Any]:
    """All parts as one document, as they are written."""
    document: dict[str, Any] = {"paths": {}, "aliases": {}, "components": {}}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for file in sorted(folder.rglob("*.yaml")):
        part = yaml.load(file.read_text(encoding="utf-8"), loader)
        for key, value in part.items():
            where = f"{file.relative_to(folder)}: {key}"
            if key == "components":
                for kind, members in value.items():
                    _add(document[key].setdefault(kind, {}), members, f"{where}.{kind}")
            elif key in ("paths", "aliases"):
                _add(document[key], value, where)
            else:
                _add(document, {key: value}, where)
    return document


def _add(known: dict[str, Any], members: Mapping[str, Any], where: str) -> None:
    if twice := known.keys() & members.keys():
        raise PartsError(f"{where}: {', '.join(sorted(twice))} is in another part as well")
    known.update(members)


def _add_aliases(paths: dict[str, Any], patches: dict[str, Any], aliases: Aliases) -> None:
    """Put each alias that is served into the paths, as its operation with its patch."""
    for (method, path), (of_method, of_path) in aliases.items():
        name, of_name = f"{method} {path}", f"{of_method} {of_path}"
        try:
            operation = paths[of_path][of_method.lower()]
            patch = patches.pop(name)
            alias = {
                "operationId": patch["operationId"],
                "x-alias-of": of_name,
            }
        except KeyError as error:
            raise PartsError(f"{name} stands for {of_name}, and no part says {error}") from error
        same = {key: value for key, value in operation.items() if key not in NOT_OF_ALIASES}
        alias |= same | {"summary": f"{operation['summary']} (alias)"}
        paths.setdefault(path, {})[method.lower()] = patched(alias, patch)
    if patches:
        raise PartsError(f"not served as an alias: {', '.join(patches)}")


def _by_tag(
    paths: Mapping[str, Any], tags: Sequence[Mapping[str, str]]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the paths by the tag of their first operation, aliases last, and then by name."""
    order = {tag["name"]: place for place, tag in enumerate(tags)}

    def place(row: tuple[str, dict[str, Any]]) -> tuple[int, bool, str]:
        path, item = row
        first = next(value for key, value in item.items() if key in METHODS)
        tag = first["tags"][0]
        if tag not in order:
            raise PartsError(f"{path}: there is no tag {tag}")
        return order[tag], "x-alias-of" in first, path

    return sorted(paths.items(), key=place)


def _whole_path(item: Mapping[str, Any]) -> dict[str, Any]:
    whole = {
        key: value | {"responses": _with_errors(value)} if key in METHODS else value
        for key, value in item.items()
    }
    return {"parameters": [_reference("parameters", name) for name in PARAMETERS], **whole}


def _with_errors(operation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of an operation: its own successes first, then all errors by status."""
    errors = dict(ALWAYS)
    if operation.get("security") != []:
        errors |= WITH_KEY
    if "requestBody" in operation:
        errors |= WITH_BODY
    answers = _references("responses", errors) | operation["responses"]
    own = [status for status in operation["responses"] if status < "4"]
    return {status: answers[status] for status in [*own, *sorted(answers.keys() - set(own))]}


def _whole_body(body: Mapping[str, Any]) -> dict[str, Any]:
    return {**body, "content": _in_both_types(body["content"])}


def _whole_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    whole = {"description": answer["description"], "headers": _references("headers", HEADERS)}
    whole["headers"] |= answer.get("headers", {})
    if "content" in answer:
        whole["content"] = _in_both_types(answer["content"])
    return {**whole, **{key: value for key, value in answer.items() if key not in whole}}


def _in_both_types(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a body with its JSON once more as `application/json`, without the
    examples: repeated by YAML's anchors, they would be more than some parsers of YAML allow."""
    if OPENJOBSPEC not in content:
        return content
    first = content[OPENJOBSPEC]
    second = {key: value for key, value in first.items() if key != "examples"}
    return {OPENJOBSPEC: first, PLAIN_JSON: second} | {
        kind: value for kind, value in content.items() if kind != OPENJOBSPEC
    }


def _sorted(members: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(members.items()))


def _references(kind: str, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {key: _reference(kind, name) for key, name in names.items()}


def _reference(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}
