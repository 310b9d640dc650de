"""Values on the command line: JSON or a text, files, settings of a queue or a tenant, rates."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from ojs_cli.failures import MISUSED, Failure
from ojs_cli.output import column
from ojs_cli.session import Session
from ojs_wire.values import format_duration, in_seconds, parse_duration

Json = dict[str, Any]
SETTINGS: Final = (column("SETTING", "name"), column("VALUE", "value", cut=True))
CHANGES: Final = (SETTINGS[0], column("NOW", "now"), column("AFTER", "after"))
PERIODS: Final = {"second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}

set_option = click.option(
    "--set", "given", multiple=True, metavar="KEY=VALUE", help="JSON, or a text"
)
unset_option = click.option("--unset", multiple=True, metavar="KEY", help="as the server has it")
dry_run_option = click.option("--dry-run", is_flag=True, help="only show what would change")


def json_or_text(text: str) -> Any:
    """Parse JSON; what is none is a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def document(text: str, where: str) -> Any:
    """Return JSON that is the text itself, in the file of `@FILE`, or for `-` in standard input."""
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        return json.loads(text)
    except OSError as error:
        raise Failure(f"{where}: {error.filename}: {error.strerror}", exit_code=MISUSED) from None
    except (ValueError, RecursionError) as error:
        raise Failure(f"{where}: is no JSON: {error}", exit_code=MISUSED) from None


def pair(text: str, option: str, example: str = "") -> tuple[str, Any]:
    """Parse `KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise Failure(f"{option} {text}: write KEY=VALUE{example}", exit_code=MISUSED)
    return key, json_or_text(value)


def configure(
    session: Session,
    found: Json,
    given: Sequence[str],
    unset: Sequence[str],
    *,
    dry_run: bool,
    save: Callable[[Json], object],
) -> None:
    """Show settings, or save those of `--set` and `--unset` and show them before and after."""
    changes = (pair(text, "--set", ", such as concurrency=4") for text in given)
    changes_ = dict[str, Any].fromkeys(unset) | dict(changes)
    if not changes_:
        rows = [{"name": key, "value": value} for key, value in found.items()]
        session.output.listing(SETTINGS, rows)
        return
    rows = [{"name": key, "now": found.get(key), "after": value} for key, value in changes_.items()]
    if not dry_run:
        save(changes_)
    session.output.listing(CHANGES, rows)


def rate(text: str, option: str) -> Json:
    """Parse `LIMIT/PERIOD`, such as `100/minute` or `5/30s`."""
    limit, slash, period = text.partition("/")
    try:
        if not slash or not limit.isdecimal():
            raise ValueError
        milliseconds = PERIODS.get(period) or parse_duration(period, 1000)
    except ValueError:
        raise Failure(
            f"{option}: {text!r} is no rate",
            "write LIMIT/PERIOD, such as 100/minute or 5/30s",
            exit_code=MISUSED,
        ) from None
    return {"limit": int(limit), "period": in_seconds(milliseconds)}


def later(text: str, option: str) -> str:
    """Parse a duration, and return it as the moment that is so far away."""
    try:
        return f"+{format_duration(parse_duration(text, 1000))}"
    except ValueError as error:
        raise Failure(f"{option}: {text!r} {error}", exit_code=MISUSED) from None
