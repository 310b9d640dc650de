"""Measure budgets, and fail where a bound is not kept; without a name, list them.

python -m benchmarks.budgets [NAME [SIZE=VALUE ...]] ...

A size counts for the budget before it; `store=sqlite` or `store=postgres` is the only store.
"""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Sequence
from textwrap import indent
from typing import Any, NoReturn

from benchmarks.budgets.table import BUDGETS, Budget, Figure
from benchmarks.stand import Values, write_down


def main(arguments: Sequence[str]) -> int:
    """Measure what is named, print and write down the figures; 1 where a bound is not kept."""
    if not arguments:
        print(__doc__)
        for name, budget in BUDGETS.items():
            print(_described(name, budget))
    found: list[Figure] = []
    for name, sizes in asked(arguments):
        budget = BUDGETS[name]
        stores = (sizes.pop("store"),) if "store" in sizes else budget.stores
        mine: list[Figure] = []
        for store in stores:
            values: Any = budget.measure(store, **sizes)
            measured: Values = (
                asyncio.run(_awaited(values)) if inspect.iscoroutine(values) else values
            )
            judged = budget.judged(name, store, measured)
            print(*(one.line() for one in judged), sep="\n", flush=True)
            mine += judged
        write_down(name, mine)
        found += mine
    return int(not all(one.kept for one in found))


def asked(arguments: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Return the budgets that are named, each with the sizes that follow it."""
    found: list[tuple[str, dict[str, Any]]] = []
    for word in arguments:
        name, equals, value = word.partition("=")
        if not equals:
            if name not in BUDGETS:
                _refuse(f"{name}: there is no such budget; there are {', '.join(BUDGETS)}")
            found.append((name, {}))
            continue
        if not found:
            _refuse(f"{word} stands before the name of a budget")
        budget, sizes = BUDGETS[found[-1][0]], found[-1][1]
        known = _sizes(budget)
        if name == "store" and value in budget.stores:
            sizes[name] = value
        elif name in known:
            sizes[name] = type(known[name])(value)
        else:
            _refuse(f"{word}: {_described(found[-1][0], budget)}")
    return found


def _sizes(budget: Budget) -> dict[str, Any]:
    """The sizes that a budget has, with their defaults."""
    parameters = inspect.signature(budget.measure).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}


def _described(name: str, budget: Budget) -> str:
    sizes = " ".join(f"{size}={value}" for size, value in _sizes(budget).items())
    stores = " and ".join(budget.stores)
    lines = (f"{name} ({stores}, {budget.takes})", inspect.getdoc(budget.measure) or "", sizes)
    return indent("\n".join(line for line in lines if line), "    ").removeprefix("    ")


def _refuse(why: str) -> NoReturn:
    print(why, file=sys.stderr)
    raise SystemExit(2)


async def _awaited(values: Awaitable[Values]) -> Values:
    return await values


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
