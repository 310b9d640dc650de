"""The loop of `ojs top`: reads the server in a thread, so that keys are never delayed."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from ojs_cli.failures import explain
from ojs_cli.server import Server, segment
from ojs_cli.session import Session
from ojs_cli.text import count
from ojs_cli.top.screen import draw
from ojs_cli.top.snapshot import Failing, Snapshot, look
from ojs_cli.top.view import QUIT, Act, View

if TYPE_CHECKING:
    from ojs_cli.top.terminal import Screen

Json = dict[str, Any]


class Loop:
    """The main loop: reads the server, draws, and carries out keys until one quits."""

    def __init__(self, session: Session, screen: "Screen", every_s: float) -> None:
        self._server = session.server
        self._name = name_of(session)
        self._screen = screen
        self._environment = session.environment
        self._every_s = every_s
        self._view = View()
        self._snapshot = Snapshot(self._environment.wall_ms(), self._name)
        self._trouble = ""
        self._looking: Future[Snapshot] | None = None
        self._acting: Future[str] | None = None

    def run(self) -> None:
        """Run until a key quits."""
        monotonic = self._environment.monotonic
        due = monotonic()
        with ThreadPoolExecutor(1) as pool:
            while True:
                if self._looking is None and not self._view.frozen and monotonic() >= due:
                    self._looking = self._begin(pool, self._look)
                    due = monotonic() + self._every_s
                self._draw()
                for key in self._screen.wait(due - monotonic() if due > monotonic() else 0.25):
                    action = self._view.press(key, self._snapshot)
                    if action == QUIT:
                        return
                    if isinstance(action, Act) and self._acting is None:
                        self._view.message = "…"
                        self._acting = self._begin(pool, partial(do, self._server, action))
                if self._take():
                    due = monotonic()

    def _begin(self, pool: ThreadPoolExecutor, work: Callable[[], Any]) -> "Future[Any]":
        begun = pool.submit(work)
        begun.add_done_callback(lambda _: self._screen.wake())
        return begun

    def _look(self) -> Snapshot:
        return look(self._server, self._name, self._environment.wall_ms())

    def _take(self) -> bool:
        """Take the result of the thread; returns True if the server is to be read again at once."""
        if self._looking is not None and self._looking.done():
            self._trouble = _sentence(self._looking.exception())
            if not self._trouble and not self._view.frozen:
                self._snapshot = self._looking.result()
            self._looking = None
        if self._acting is not None and self._acting.done():
            self._view.message = _sentence(self._acting.exception()) or self._acting.result()
            self._view.tagged.clear()
            self._acting = None
            return True
        return False

    def _draw(self) -> None:
        width, height = self._screen.size
        now = self._snapshot.at_ms if self._view.frozen else self._environment.wall_ms()
        self._screen.show(draw(self._snapshot, self._view, width, height, now, self._trouble))


def name_of(session: Session) -> str:
    """Return the name of the server for the head of the screen."""
    named, url = session.config.server, session.server.url
    return f"{named}  {url}" if named else url


def do(server: Server, act: Act) -> str:
    """Carry out an action that was confirmed; returns a message about it."""
    done = 0
    for target in act.targets:
        if act.verb in ("pause", "resume"):
            server.call("POST", f"/queues/{segment(target)}/{act.verb}")
        elif act.verb in ("quiet", "wake"):
            verb = "resume" if act.verb == "wake" else "quiet"
            server.call("POST", f"/admin/workers/{segment(target)}/{verb}")
        elif act.verb == "cancel":
            criteria = {"queue": target, "states": ["available"]}
            done += _bulk(server, "/jobs/bulk/cancel", criteria)
        elif isinstance(target, Failing):
            criteria = {"type": target.type, "error_type": target.error}
            done += _bulk(server, "/dead-letter/retry", criteria)
        else:
            done += _bulk(server, "/dead-letter/retry", {"queue": target})
    if act.verb in ("retry", "cancel"):
        past = "retried" if act.verb == "retry" else "cancelled"
        return f"{past} {count(done, 'job')}"
    return f"done: {act.question}"


def _bulk(server: Server, path: str, criteria: Json) -> int:
    body = {"filter": criteria, "confirm": True}
    return int(server.call("POST", path, body, timeout_s=300).get("succeeded") or 0)


def _sentence(error: BaseException | None) -> str:
    if error is None:
        return ""
    failure = explain(error) if isinstance(error, Exception) else None
    if failure is None:
        raise error
    return failure.message
