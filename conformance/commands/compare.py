"""The command ``compare``: shows the reports of several backends side by side."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.clauses import own_clauses
from conformance.commands.arguments import FAILED, PASSED, Misuse, reports_at, write_bytes
from conformance.report.compare import compare_lines, is_worse
from conformance.report.matrix import build_matrix
from conformance.report.matrix_page import matrix_page


def compare_command(reports: Sequence[Path], html: Path | None, json: Path | None) -> int:
    """Show reports side by side; anything worse than in the first is a failure."""
    if len(set(reports)) < max(2, len(reports)):
        raise Misuse("compare takes two or more different reports")
    read = reports_at(reports)
    matrix = build_matrix(read)
    if html is not None:
        write_bytes(html, matrix_page(matrix, read, own_clauses()).encode(errors="replace"))
    if json is not None:
        write_bytes(json, msgspec.json.format(msgspec.json.encode(matrix)))
    print("\n".join(compare_lines(matrix, read)))
    first, *others = read.values()
    return FAILED if any(is_worse(first, other) for other in others) else PASSED
