"""Dispatch of hot calls that have arrived whole: without a task, unless they have to wait.

Such a call is entered into the batch, which sends its answer when it is on disk. It needs no task,
no future and no ASGI messages, which are a fifth to a third of its cost otherwise. Its steps are
those of a call through the application.
"""

from collections.abc import Sequence
from typing import Any

from ojs_server.http import responses
from ojs_server.http.admission import Admission
from ojs_server.http.call import Call
from ojs_server.http.errors import answer_of
from ojs_server.http.hot_call import Asked, HotCall, Work
from ojs_server.http.paths import Paths
from ojs_server.http.pipeline import Calls
from ojs_server.http.prefer_header import patient_until
from ojs_server.http.route import Route
from ojs_server.http.server.exchange import Exchange


class Dispatcher:
    """Carries out the hot calls of a route table without a task."""

    def __init__(self, calls: Calls, routes: Sequence[Route], admission: Admission) -> None:
        self._calls = calls
        self._admission = admission
        # Traced handlers are not hot calls: they need a task, because spans live in its context.
        hot = [one for one in routes if isinstance(one.handler, HotCall)]
        self._paths = Paths(hot, admission)

    def take(self, exchange: Exchange, body: bytes) -> bool:
        """Carry out a request if it is a hot call; returns False if it is not."""
        methods, params = self._paths.find(exchange.scope["path"]) or ({}, {})
        route = methods.get(exchange.scope["method"])
        if route is None:
            return False
        call = self._calls.begin(exchange.scope, exchange.receive)
        if b"cookie" in call.fields or b"origin" in call.fields:
            # From a browser page: its session has to be read, and its action recorded.
            return False
        exchange.scope["path_params"] = params
        _Taken(self._calls, exchange, call, route).begin(body, self._admission)
        return True


class _Taken:
    """A hot call that is being carried out."""

    __slots__ = ("_asked", "_call", "_calls", "_exchange", "_hot", "_route", "_started")

    _asked: Asked

    def __init__(self, calls: Calls, exchange: Exchange, call: Call, route: Route) -> None:
        self._started = calls.monotonic()
        self._calls = calls
        self._exchange = exchange
        self._call = call
        self._route = route
        self._hot: Any = route.handler

    def begin(self, body: bytes, admission: Admission) -> None:
        """Check the call, parse it, and give its operation to the engine."""
        call = self._call
        try:
            admission.admit(call, self._route)
            call.check_body()
            self._asked = asked = self._hot.parse(call, body)
            if asked.patiently is None:
                call.server.engine.enter(asked.operation, self)
            else:
                self._exchange.wait(self._finish(asked.patiently()))
        except Exception as error:
            self._refuse(error)

    @property
    def patient_until(self) -> float:
        """The moment up to which the client is ready to wait."""
        return patient_until(self._call, self._started)

    def gone(self) -> bool:
        """Always False: a call is carried out to its end, even if the client has gone."""
        return False

    def resolve(self, outcome: Any) -> None:
        """Send the answer, or keep waiting if the refusal is not final."""
        call, asked = self._call, self._asked
        try:
            if isinstance(outcome, BaseException):
                again = self._hot.retry(call, asked, outcome)
                if again is None:
                    raise outcome
                self._exchange.wait(self._finish(again))
                return
            answer = self._hot.render(call, asked, outcome)
            parts = responses.whole(call, answer)
        except Exception as error:
            self._refuse(error)
            return
        self._hot.measure(call, asked, self._calls.monotonic() - self._started)
        self._reply(parts)

    async def _finish(self, work: Work) -> None:
        try:
            outcome = await work
        except Exception as error:
            self._refuse(error)
        else:
            self.resolve(outcome)

    def _refuse(self, error: Exception) -> None:
        self._reply(responses.whole(self._call, answer_of(error, self._call.request_id)))

    def _reply(self, parts: tuple[int, bytes, bytes, bool]) -> None:
        self._calls.observe(self._call, self._route, parts[0], self._started)
        # Last, because this may begin the next request at once.
        self._exchange.reply(*parts)
