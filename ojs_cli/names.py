"""Shell completion of names from the server, with a short time limit."""

import os
from collections.abc import Callable
from typing import Final

import click

from ojs_cli.text import identity

# With a longer wait the shell feels broken.
PATIENCE_S: Final = 0.3
Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def completer(path: str, member: str) -> Completer:
    """Make a function that completes the names of a list."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        from ojs_cli.session import Session

        session = Session(os.environ)
        session.given.update(context.find_root().params)
        try:
            found = session.server.call("GET", path, query={"limit": 100}, timeout_s=PATIENCE_S)
            names = {str(identity(item)) for item in found.get(member) or ()}
        except Exception:
            # An error message would appear in the middle of the command line.
            return []
        finally:
            session.close()
        return sorted(name for name in names if name.startswith(begun))

    return complete
