"""Small changes of code, each of which another program would have by mistake."""

import ast
import copy
from collections.abc import Iterator
from typing import Final

import msgspec

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
}


class Site(msgspec.Struct, frozen=True, order=True):
    """A place in a module that can be changed: the position of an expression, and how."""

    line: int
    column: int
    change: str


def sites(tree: ast.AST) -> Iterator[Site]:
    """Yield the places of a function or method, and of the functions in it."""
    for node in _nodes(tree):
        for change, _ in _changes(node):
            yield Site(node.lineno, node.col_offset, change)


def changed(tree: ast.Module, site: Site) -> ast.Module:
    """Return a copy of a module with the change of one place."""
    other = copy.deepcopy(tree)
    _Changing(site).visit(other)
    return ast.fix_missing_locations(other)


class _Changing(ast.NodeTransformer):
    def __init__(self, site: Site) -> None:
        self._site = site

    def visit(self, node: ast.AST) -> ast.AST:
        """Change the node if it is the one."""
        if isinstance(node, ast.expr) and node.lineno == self._site.line:
            for change, other in _changes(node):
                if Site(node.lineno, node.col_offset, change) == self._site:
                    return ast.copy_location(other, node)
        return self.generic_visit(node)


def _nodes(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that run: neither annotations nor defaults, nor what errors say."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "exc"):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.JoinedStr | ast.arguments):
                continue
            if isinstance(each, ast.expr):
                yield each
            if isinstance(each, ast.AST):
                yield from _nodes(each)


def _changes(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in _COMPARED:
            other = _COMPARED[type(op)]
            yield _named(op, other), ast.Compare(left, [other()], others)
        case ast.BoolOp(op=op, values=values):
            turned = ast.Or if isinstance(op, ast.And) else ast.And
            yield _named(op, turned), ast.BoolOp(turned(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not-dropped", operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
            sign = _COMPUTED[type(op)]
            yield _named(op, sign), ast.BinOp(left, sign(), right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "turned", ast.IfExp(test, orelse, body)
        case ast.Constant(value=bool() as value):
            yield f"{value}-{not value}".lower(), ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield f"{value}-{value + 1}", ast.Constant(value + 1)


def _named(old: object, new: type[object]) -> str:
    return f"{type(old).__name__}-{new.__name__}".lower()
