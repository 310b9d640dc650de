"""The kinds of blows to a SQLite database. Each waits for its moment, strikes, and heals."""

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tests.chaos.files import Files
from tests.chaos.history import WRITES, Fate, History
from tests.chaos.kinds import LIMIT_S, WRITES_IN_FLIGHT
from tests.e2e.node import Node

# Writes sent after the blow that have to be answered before it is undone.
LATER_WRITES: Final = 20
_LONGEST_PAUSE_S: Final = 0.02
_KILLED: Final = 0.3


class FileScene(msgspec.Struct):
    """The files, the one node that has them open, and the history of its clients."""

    files: Files
    node: Node
    history: History
    luck: random.Random

    async def moment(self, kind: str) -> None:
        """Wait until enough writes are in flight; note the blow."""

        def enough() -> bool:
            return self.history.writes_in_flight >= WRITES_IN_FLIGHT

        while True:
            await self.history.reach(enough, LIMIT_S)
            await asyncio.sleep(self.luck.uniform(0, _LONGEST_PAUSE_S))
            if enough():
                break
        self.history.strike(kind, 0)

    async def answered(self, *fates: Fate) -> None:
        """Wait until enough writes that are sent from now on had one of these fates."""
        place = len(self.history.exchanges)

        def enough() -> bool:
            later = self.history.exchanges[place:]
            return sum(one.act in WRITES and one.fate in fates for one in later) >= LATER_WRITES

        await self.history.reach(enough, LIMIT_S)

    async def refuses_to_start(self, database: str, words: str) -> bool:
        """Start a server; tell whether it ended with these words, and end it if it runs."""
        node = Node(database)
        try:
            await node.start()
        except AssertionError:
            if not any(words in line for line in node.output):
                raise
            return True
        await node.kill()
        return False

    async def mostly_alive(self) -> bool:
        """Kill the node now and then; tell whether it lives."""
        if self.luck.random() >= _KILLED:
            return True
        await self.node.kill()
        return False


async def _killed(scene: FileScene) -> None:
    """SIGKILL of the server."""
    await scene.moment("killed")
    await scene.node.kill()
    await scene.node.start()


async def _moved(scene: FileScene) -> None:
    """Some of the files are moved away, and back; now and then the server is killed between."""
    await scene.moment("moved")
    files = scene.files.existing()
    scene.files.move(scene.luck.sample(files, scene.luck.randint(1, len(files))))
    await scene.answered(Fate.UNAVAILABLE)
    alive = await scene.mostly_alive()
    scene.files.move_back()
    if not alive:
        await scene.node.start()


async def _removed(scene: FileScene) -> None:
    """All files are removed, and copied from the server before it is killed.

    What the server accepts after the copy is lost.
    """
    await scene.moment("removed")
    scene.files.remove(scene.luck)
    await scene.answered(Fate.ANSWERED, Fate.UNAVAILABLE)
    scene.files.rescue(scene.node.pid)
    await scene.answered(Fate.ANSWERED, Fate.UNAVAILABLE)
    await scene.node.kill()
    scene.files.move_back()
    await scene.node.start()


async def _linked(scene: FileScene) -> None:
    """Another server starts on a hard link; now and then the first one is started again."""
    await scene.moment("linked")
    link = scene.files.database.with_name("link.db")
    link.hardlink_to(scene.files.database)
    alive = await scene.mostly_alive()
    for path in (link,) if alive else (link, scene.files.database):
        if not await scene.refuses_to_start(f"sqlite:///{path}", "2 names (hard links)"):
            raise RuntimeError(f"a server started on {path}, a file with two names")
    link.unlink()
    if not alive:
        await scene.node.start()


async def _cut(scene: FileScene) -> None:
    """The end of the database is cut off, under the server or after it was killed.

    A server starts if all that was cut off is in the log; otherwise it says what is missing, and
    the whole file is put back.
    """
    await scene.moment("cut")
    files, node = scene.files, scene.node
    if scene.luck.random() < 0.5 and files.is_large():
        node.send(signal.SIGSTOP)
        whole = files.cut(scene.luck)
        node.send(signal.SIGCONT)
        await scene.answered(Fate.UNAVAILABLE)
        await node.kill()
        files.database.write_bytes(whole)
    else:
        await node.kill()
        if scene.luck.random() < 0.5:
            files.write_log()
        whole = files.cut(scene.luck)
        if await scene.refuses_to_start(files.url, "was cut short"):
            files.database.write_bytes(whole)
    await node.start()


async def _full(scene: FileScene) -> None:
    """The disk is full for a while; now and then the server is killed meanwhile."""
    await scene.moment("full")
    scene.files.limit(scene.node.pid, scene.luck)
    await scene.answered(Fate.UNAVAILABLE)
    if await scene.mostly_alive():
        scene.files.unlimit(scene.node.pid)
    else:
        await scene.node.start()


FILES: Final[dict[str, Callable[[FileScene], Awaitable[None]]]] = {
    "killed": _killed,
    "moved": _moved,
    "removed": _removed,
    "linked": _linked,
    "cut": _cut,
    "full": _full,
}
