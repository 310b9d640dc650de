"""Dispatch of hot calls that have arrived whole: without a task, unless they have to wait.

Such a call is entered into the batch, which sends its answer when it is on disk. It needs no task,
no future and no ASGI messages, which are a fifth to a third of its cost otherwise. Other calls to
the same handlers come through the application (`paths.py`), and are carried out alike.
"""

from collections.abc import Sequence

from ojs_server.connection.exchange import Exchange
from ojs_server.http import responses
from ojs_server.http.admission import Admission
from ojs_server.http.call import Answer, Call
from ojs_server.http.errors import answer_of
from ojs_server.http.hot_call import Carried, HotCall, Work
from ojs_server.http.paths import Paths
from ojs_server.http.pipeline import Calls
from ojs_server.http.route import Route


class Dispatcher:
    """Carries out the hot calls of a route table without a task."""

    # Set while the server runs.
    calls: Calls

    def __init__(self, routes: Sequence[Route], admission: Admission) -> None:
        self._admission = admission
        # Traced handlers are not hot calls: they need a task, because spans live in its context.
        hot = [one for one in routes if isinstance(one.handler, HotCall)]
        self._paths = Paths(hot, admission)
        self._is_open = True

    def close(self) -> None:
        """Leave all calls to the application from now on."""
        self._is_open = False

    def take(self, exchange: Exchange, body: bytes) -> bool:
        """Carry out a request if it is a hot call; returns False if it is not."""
        scope = exchange.scope
        methods, params = self._paths.find(scope["path"]) or ({}, {})
        route = methods.get(scope["method"])
        if route is None or not self._is_open:
            return False
        call = self.calls.begin(scope, exchange.receive)
        if b"cookie" in call.fields or b"origin" in call.fields:
            # From a browser page: its session has to be read, and its action recorded.
            return False
        scope["path_params"] = params
        taken = _Taken(self.calls, exchange, call, route)
        try:
            self._admission.admit(call, route)
            call.check_body()
        except Exception as error:
            taken.answered(error)
        else:
            taken.carry(body)
        return True


class _Taken(Carried):
    """A hot call whose answer goes straight to its connection."""

    __slots__ = ("_calls", "_exchange", "_route")

    def __init__(self, calls: Calls, exchange: Exchange, call: Call, route: Route) -> None:
        # The handlers of the routes here are hot calls.
        super().__init__(call, route.handler)  # type: ignore[arg-type]
        self._calls = calls
        self._exchange = exchange
        self._route = route

    def wait(self, work: Work) -> None:
        """Carry on with a coroutine in a task."""
        self._exchange.wait(work)

    def gone(self) -> bool:
        """Always False: a call is carried out to its end, even if the client has gone."""
        return False

    def answered(self, answer: Answer | Exception) -> None:
        """Send the answer."""
        call = self.call
        if isinstance(answer, Exception):
            answer = answer_of(answer, call.request_id)
        try:
            parts = responses.whole(call, answer)
        except Exception as error:
            parts = responses.whole(call, answer_of(error, call.request_id))
        self._calls.observe(call, self._route, parts[0], self._started)
        # Last, because this may begin the next request at once.
        self._exchange.reply(*parts)
