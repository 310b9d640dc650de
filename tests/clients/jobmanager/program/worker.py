"""A worker that does tasks until it is ended: ``python worker.py URL rest|socketio``.

It prints ``ready``, and then the id of each task that it has done.
"""

import sys
import time
from typing import Any, ClassVar

from api import Api
from zndraw_joblib import Category, ClaimedTask, Extension, JobManager


class Rotate(Extension):
    """A job that takes a moment."""

    category: ClassVar[Category] = Category.MODIFIER
    angle: float = 0.0

    def run(self, vis: Any, **kwargs: Any) -> Any:
        time.sleep(0.05)


def execute(task: ClaimedTask[Any]) -> None:
    task.extension.run(None)
    print(task.task_id, flush=True)


def main() -> None:
    url, mode = sys.argv[1:3]
    tsio = None
    if mode == "socketio":
        import socketio
        from zndraw_socketio import wrap

        tsio = wrap(socketio.Client())
        tsio.connect(url)
    manager = JobManager(
        Api(url), tsio, execute=execute, heartbeat_interval=0.5, polling_interval=0.2
    )
    with manager:
        manager.register(Rotate)
        print("ready", flush=True)
        manager.wait()


if __name__ == "__main__":
    main()
