"""Plays one case on the fake server and tells what failed."""

from conformance.language.model import CaseFile
from conformance.play.published_case import run_case
from conformance.play.wire import Wire
from conformance.verdicts.result import CaseResult
from tests.conformance.fake_server import FakeServer, FakeTime


async def played(file: CaseFile, server: FakeServer, time: FakeTime | None = None) -> CaseResult:
    """Run one case on the fake server."""
    time = time or FakeTime()
    async with server.client() as client:
        return await run_case(
            file, Wire(client, clock=time.clock), sleep=time.sleep, clock=time.clock
        )


def failed_checks(result: CaseResult) -> list[str]:
    """The failed checks as text."""
    return [str(failure) for failure in result.failures]
