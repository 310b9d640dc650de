"""The short way of calls that are one operation, for heads that a connection says again.

Such a request waits in the batch itself, and its answer leaves when the batch is on disk: it needs
no task, no future and no messages between the server and the application. Whatever takes more goes
the long way, through the gate.
"""

import time
from typing import Any, Protocol

from ojs_server.domain.errors import QueueFull
from ojs_server.http import answers
from ojs_server.http.call import Call, RequestIds
from ojs_server.http.direct import Direct
from ojs_server.http.errors import answer_of
from ojs_server.http.passing import Passed, admit


class Exchange(Protocol):
    """A request that has come whole, and its place for an answer."""

    whole: bytes

    def reply(self, status: int, lines: bytes, body: bytes, stays: bool) -> None:
        """Send the answer."""

    def start_over(self) -> None:
        """Take the long way after all."""


class Shortcut:
    """Takes the requests that say one head."""

    def __init__(self, call: Call, passed: Passed, direct: Direct, new_id: RequestIds) -> None:
        self.server = call.server
        # Its extensions have the body of the request that came first.
        self.scope = {**call.scope, "extensions": {}}
        self.headers = call.headers
        self.noted = call.noted
        self.passed = passed
        self.direct = direct
        self.new_id = new_id

    def __call__(self, exchange: Exchange) -> bool:
        """Whether this request is taken."""
        call = _Direct(self, exchange)
        try:
            admit(call, self.passed)
            operation = self.direct.ask(call, exchange.whole)
            if operation is None:
                return False
            call.operation = operation
            self.server.engine.enter(operation, call)
        except Exception as error:
            call.settle(error)
        return True


class _Direct(Call):
    """A request that waits in the batch itself."""

    operation: Any

    def __init__(self, way: Shortcut, exchange: Exchange) -> None:
        self.started = time.perf_counter()
        passed = way.passed
        self.server = way.server
        self.scope = way.scope
        self.headers = way.headers
        self.noted = way.noted
        self.params = passed.params
        self.media_type = passed.media_type
        self.sent_request_id = passed.sent_request_id
        self.request_id = passed.sent_request_id or way.new_id()
        self._way = way
        self._exchange = exchange

    def gone(self) -> bool:
        """What was asked for is done, also where nobody reads the answer."""
        return False

    def settle(self, outcome: Any) -> None:
        """Answer."""
        way = self._way
        try:
            if isinstance(outcome, BaseException):
                raise outcome
            said = answers.whole(self, way.direct.tell(self, self.operation, outcome))
        except Exception as error:
            if isinstance(error, QueueFull) and error.blocks:
                # It waits for room, which takes a task.
                self._exchange.start_over()
                return
            said = answers.whole(self, answer_of(error, self.request_id))
        self._exchange.reply(*said)
        seconds = time.perf_counter() - self.started
        route = way.passed.route
        way.server.metrics.observe_request(route.path, said[0], None if route.waits else seconds)
        if said[0] < 400:
            way.direct.measure(self, self.operation, seconds)
