"""The command `ojs`: runs the command line and turns errors into messages."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Final

import click

from ojs_cli import failures
from ojs_cli.failures import Failure
from ojs_cli.grammar import Root
from ojs_cli.session import Session
from ojs_cli.spellings import understood

COMPLETE: Final = "_OJS_COMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    session = Session(os.environ)
    given, note = understood(sys.argv[1:] if arguments is None else list(arguments))
    if note:
        print(f"ojs: {note}", file=sys.stderr)
    try:
        try:
            code = _run(given, session)
            sys.stdout.flush()
        finally:
            session.close()
        return code if isinstance(code, int) else failures.OK
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed the pipe.
        from ojs_cli.output import close_quietly

        close_quietly()
        return failures.CLOSED_PIPE
    except OSError as error:
        if error.filename is not None:
            raise
        # Files are named by their errors, so this is standard output, such as on a full disk.
        from ojs_cli.output import close_quietly

        close_quietly()
        print(f"ojs: the output cannot be written: {error.strerror}", file=sys.stderr)
        return failures.REFUSED
    except KeyboardInterrupt:
        print("ojs: interrupted", file=sys.stderr)
        return failures.INTERRUPTED
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        return _print_failure(session, _misuse(error))
    except Exception as error:
        failure = failures.explain(error)
        if failure is None:
            raise
        return _print_failure(session, failure)


def _run(arguments: list[str], session: Session) -> object:
    root = Root()
    if COMPLETE in session.environ:
        # The shell asks for completions, and click answers.
        return root.main(prog_name="ojs", complete_var=COMPLETE)
    with root.make_context("ojs", arguments or ["--help"], obj=session) as context:
        return root.invoke(context)


def _misuse(error: click.ClickException) -> Failure:
    context = getattr(error, "ctx", None)
    hint = f"see `{context.command_path} --help`" if context is not None else ""
    return Failure(error.format_message(), hint, exit_code=failures.MISUSED)


def _print_failure(session: Session, failure: Failure) -> int:
    """Print an error and the next step; as a JSON object for programs."""
    from ojs_cli.text import printable

    if session.given.get("output") in ("json", "ndjson", "jsonl"):
        error = {"message": failure.message, "hint": failure.hint or None}
        print(json.dumps({"error": error}), file=sys.stderr)
    else:
        print(f"ojs: {printable(failure.message)}", file=sys.stderr)
        if failure.hint:
            print(f"     {printable(failure.hint)}", file=sys.stderr)
    return failure.exit_code
