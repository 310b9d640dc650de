"""The short way of calls that are one operation, for heads that a connection says again.

Such a request waits in the batch itself, and its answer leaves when the batch is on disk: it needs
no task, no future and no messages between the server and the application. Whatever takes more goes
the long way, through the gate.
"""

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


class Shortcut(Call):
    """The requests of a connection that say one head; it waits in the batch for each in its turn.

    A connection says the next one when the last is answered, so that one object serves them all.
    """

    # What is under way; a connection that is quiet keeps nothing of its last requests.
    _exchange: Any = None
    _operation: Any = None
    _started = 0.0

    def __init__(self, call: Call, passed: Passed, direct: Direct, new_id: RequestIds) -> None:
        self.server = call.server
        # Its extensions have the body of the request that came first.
        self.scope = {**call.scope, "extensions": {}}
        self.headers = call.headers
        self.noted = call.noted
        self.params = passed.params
        self.media_type = passed.media_type
        self.for_page = passed.for_page
        self.sent_request_id = passed.sent_request_id
        self._passed = passed
        self._direct = direct
        self._new_id = new_id
        self._monotonic = call.server.environment.monotonic

    def __call__(self, exchange: Exchange) -> bool:
        """Whether this request is taken."""
        self._started = self._monotonic()
        self.request_id = self.sent_request_id or self._new_id()
        self._exchange = exchange
        try:
            admit(self, self._passed)
            self._operation = operation = self._direct.ask(self, exchange.whole)
            if operation is None:
                self._exchange = None
                return False
            self.server.engine.enter(operation, self)
        except Exception as error:
            self.settle(error)
        return True

    def gone(self) -> bool:
        """What was asked for is done, also where nobody reads the answer."""
        return False

    def settle(self, outcome: Any) -> None:
        """Answer."""
        exchange: Exchange = self._exchange
        operation = self._operation
        self._exchange = self._operation = None
        try:
            if isinstance(outcome, BaseException):
                raise outcome
            said = answers.whole(self, self._direct.tell(self, operation, outcome))
        except Exception as error:
            if isinstance(error, QueueFull) and error.blocks:
                # It waits for room, which takes a task.
                exchange.start_over()
                return
            said = answers.whole(self, answer_of(error, self.request_id))
        seconds = self._monotonic() - self._started
        route, status = self._passed.route, said[0]
        metrics = self.server.metrics
        metrics.observe_request(route.path, status, None if route.waits else seconds)
        if status < 400:
            self._direct.measure(self, operation, seconds)
        exchange.whole = b""
        # The next request may be behind it already.
        exchange.reply(*said)
