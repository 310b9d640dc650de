"""Confirmation before something is destroyed: the number of things, and a sample of them."""

import sys
from collections.abc import Sequence

import click

from ojs_cli.failures import MISUSED, Failure
from ojs_cli.session import Session
from ojs_cli.text import printable

yes_option = click.option("--yes", is_flag=True, help="do not ask")


def confirm(
    session: Session,
    question: str,
    number: int,
    *,
    yes: bool,
    destroys: bool,
    sample: Sequence[str] = (),
) -> None:
    """Ask once. To destroy things, or to change many, the number must be typed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Failure(
            f"{question}? Nobody can be asked here, so nothing was done",
            "say --yes where you mean it",
            exit_code=MISUSED,
        )
    for line in sample:
        print(f"  {printable(line)}", file=sys.stderr)
    if destroys or number > session.confirm_over:
        print(f"{printable(question)}? Type {number} to go on: ", end="", file=sys.stderr)
        agreed = _answer() == str(number)
    else:
        print(f"{printable(question)}? [y/N] ", end="", file=sys.stderr)
        agreed = _answer().lower() in ("y", "yes")
    if not agreed:
        raise Failure("nothing was done")


def confirm_delete(
    session: Session, singular: str, plural: str, names: Sequence[str], *, yes: bool
) -> None:
    """Ask before what has these names is deleted."""
    number = len(names)
    question = f"delete {number} {singular if number == 1 else plural}"
    confirm(session, question, number, yes=yes, destroys=True, sample=names[:5])


def _answer() -> str:
    sys.stderr.flush()
    return sys.stdin.readline().strip()
