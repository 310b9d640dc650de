"""Write an OpenAPI document as YAML that people can read.

A mapping or a list that fits into a line is written as one line.
"""

import re
from typing import Any, Final

import yaml

WIDTH: Final = 100
HEAD: Final = "# Written by `make openapi` from the parts in openapi/; change those.\n"


def text(document: dict[str, Any]) -> str:
    """Return the text of a document."""
    written = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return HEAD + re.sub(r"^(?=paths:|components:|  /)", "\n", str(written), flags=re.MULTILINE)


class _Dumper(yaml.SafeDumper):
    def serialize(self, node: yaml.Node) -> None:
        _lay(node, 0, 0)
        super().serialize(node)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def represent_text(self, value: str) -> yaml.Node:
        style = "|" if "\n" in value else None
        return self.represent_scalar("tag:yaml.org,2002:str", value, style)


_Dumper.add_representer(str, _Dumper.represent_text)


def _lay(node: yaml.Node, start: int, indent: int) -> int | None:
    """Choose the form of a node; return its length where it is a line.

    As a line it begins at one column, and as a block it has its items at another.
    """
    if isinstance(node, yaml.ScalarNode):
        quotes = 0 if re.fullmatch(r"[A-Za-z][\w .+/-]*", node.value) else 2
        return None if node.style == "|" else len(node.value) + quotes
    assert isinstance(node, yaml.CollectionNode)
    lengths = []
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            before = len(key.value) + 2
            length = _lay(value, indent + before, indent + 2)
            lengths.append(None if length is None else before + length)
    else:
        lengths = [_lay(item, indent + 2, indent + 2) for item in node.value]
    known = [length for length in lengths if length is not None]
    total = sum(known) + 2 * max(len(known), 1)
    node.flow_style = len(known) == len(lengths) and start + total <= WIDTH
    return total if node.flow_style else None
