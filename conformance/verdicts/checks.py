"""Assertions of cases: one that does not hold fails the case with the expected and actual value."""

from conformance.language.values import same, show
from conformance.verdicts.reply import CheckFailed, Skipped
from conformance.verdicts.result import FailedCheck, SkipReason


class Checks:
    """The checks of one case, in order."""

    def latest(self) -> int | None:
        """The number of the exchange that a check is about by default."""
        return None

    def check(
        self, holds: bool, expected: str, actual: object, exchange: int | None = None
    ) -> None:
        """Require that something holds."""
        if not holds:
            raise CheckFailed(
                FailedCheck(
                    step_id="check",
                    field="claim",
                    expected=expected,
                    actual=actual if isinstance(actual, str) else show(actual),
                    exchange=self.latest() if exchange is None else exchange,
                )
            )

    def equal(
        self, actual: object, expected: object, what: str, exchange: int | None = None
    ) -> None:
        """Require that two JSON values are the same."""
        self.check(same(actual, expected), f"{what}: {show(expected)}", show(actual), exchange)

    def need(self, holds: bool, why: str) -> None:
        """Skip the case unless its precondition holds."""
        if not holds:
            raise Skipped(SkipReason.PRECONDITION, why)
