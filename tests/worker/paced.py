"""Scripted answers for clients, and time that only their pauses move."""

from typing import Any

import msgspec

from ojs_worker.environment import Environment, machine
from ojs_worker.errors import Unreachable
from ojs_worker.transport import Reply, Request


class Answers:
    """A transport that gives these answers in turn, the last one for ever; None is no answer."""

    def __init__(self, *answers: Reply | None, sent: bool = True) -> None:
        self._answers = list(answers)
        self._sent = sent
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Reply:
        self.requests.append(request)
        answer = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        if answer is None:
            raise Unreachable("no answer", sent=self._sent)
        return answer

    async def close(self) -> None: ...


class Pace:
    """Records pauses instead of making them; the stopwatch shows their sum."""

    def __init__(self) -> None:
        self.made: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.made.append(seconds)

    @property
    def given(self) -> dict[str, Any]:
        """The arguments of a client that goes by it."""
        return {"sleep": self, "environment": self.environment}

    @property
    def environment(self) -> Environment:
        return msgspec.structs.replace(machine(), monotonic=lambda: sum(self.made))
