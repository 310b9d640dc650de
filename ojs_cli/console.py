"""The console of rich, which leaves a closed pipe to the command."""

import rich.console


class Console(rich.console.Console):
    """A console on which a closed pipe is an exception like any other."""

    def on_broken_pipe(self) -> None:
        """Raise it again: rich would end the program with a code of its own."""
        raise
