"""Faults of values: numbers, texts and names that a server changes on their way."""

from typing import Any

from ojs_server.http.jobs import enqueue
from tests.faulty.fault import fault
from tests.faulty.planting import after
from tests.faulty.traffic import change_request
from tests.faulty.values import Change, composed, decomposed, mapped, shortened, trimmed

JOBS = "/jobs"
ACK = "/workers/ack"


def _values(path: str, change: Change, *members: str) -> None:
    """Change the values of these members of a request."""

    def changed(body: dict[str, Any], _: object) -> None:
        body.update({name: mapped(body[name], change) for name in members if name in body})

    change_request(path, changed)


@fault("OJS-ENV-057")
def fractions_have_fifteen_digits() -> None:
    """Fractions in arguments and meta are kept with 15 digits."""
    _values(JOBS, shortened, "args", "meta")


@fault("OJS-ENV-058")
def texts_are_composed() -> None:
    """Texts in arguments and meta are brought into the composed form of Unicode."""
    _values(JOBS, composed, "args", "meta")


@fault("OJS-ENV-058")
def texts_are_decomposed() -> None:
    """Texts in arguments and meta are brought into the decomposed form of Unicode."""
    _values(JOBS, decomposed, "args", "meta")


@fault("OJS-ENV-058")
def texts_are_trimmed() -> None:
    """Blanks at the ends of texts in arguments and meta are dropped."""
    _values(JOBS, trimmed, "args", "meta")


@fault("OJS-SET-012")
def fractions_of_results_have_fifteen_digits() -> None:
    """Fractions in results are kept with 15 digits."""
    _values(ACK, shortened, "result")


@fault("OJS-SET-012")
def texts_of_results_are_composed() -> None:
    """Texts in results are brought into the composed form of Unicode."""
    _values(ACK, composed, "result")


@fault("OJS-ENV-004")
def types_are_trimmed() -> None:
    """Blanks at the ends of a type are dropped."""
    _values(JOBS, trimmed, "type")


@fault("OJS-ENV-004")
def types_lose_their_blanks() -> None:
    """All blanks of a type are dropped."""
    _values(JOBS, lambda value: value.replace(" ", "") if type(value) is str else value, "type")


@fault("OJS-IDM-016")
def keys_are_folded() -> None:
    """Keys that differ in capital letters alone are one key."""
    after(
        enqueue,
        "receipt_for",
        lambda receipt, *_: receipt and (*receipt[:2], receipt[2].lower()),
    )
