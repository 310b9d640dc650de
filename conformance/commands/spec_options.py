"""Options of `ojs-conformance spec`."""

import argparse
from pathlib import Path


def add_spec(spec: argparse.ArgumentParser) -> None:
    """Add the commands for authors of the specification, with their options."""
    steps = spec.add_subparsers(dest="spec_command", required=True)
    add = steps.add_parser("check", help="clauses, examples, contract and cases agree")
    add.add_argument("--spec", type=Path, metavar="DIR")
    add.add_argument("--openapi", type=Path, metavar="FILE")
    add.add_argument(
        "--published",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help="clones of the published texts and cases, to look up the places that clauses cite",
    )
    add.add_argument(
        "--of",
        type=Path,
        metavar="DIR",
        help="check instead the texts in Markdown of a folder, and its openapi.yaml",
    )
    add = steps.add_parser("diff", help="what changed between two versions of the specification")
    for name in ("old", "new"):
        help_text = "a folder, or a revision in git"
        add.add_argument(name, metavar=name.upper(), help=help_text)
    _add_backends(add, "what the changes mean for it")
    add = steps.add_parser(
        "defects",
        help="published cases that are wrong, each with a patch",
        description="Write a page for each published case that no honest server can pass, or that "
        "checks nothing, with a patch that mends it, and an index. Nothing is written where a case "
        "or a place is not as it was.",
    )
    add.add_argument(
        "--published",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="clones of the published texts and of the published cases",
    )
    add.add_argument("--to", type=Path, required=True, metavar="DIR", help="write the pages here")
    add.add_argument("--mended", type=Path, metavar="DIR", help="also write the mended cases here")
    add = steps.add_parser("data", help="clauses, sources, cases and verdicts, as JSON")
    add.add_argument("--spec", type=Path, metavar="DIR")
    _add_backends(add, "its verdicts")


def _add_backends(parser: argparse.ArgumentParser, for_what: str) -> None:
    parser.add_argument(
        "--report",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help=f"a JSON report of a backend: {for_what}; may be repeated",
    )
