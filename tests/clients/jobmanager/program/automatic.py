"""A worker that does its tasks by itself: ``python automatic.py URL``."""

import sys
from typing import ClassVar

from connection import connect
from zndraw_joblib import Category, ClaimedTask, Extension, JobManager

api, tsio = connect(sys.argv[1])
vis = []


def my_execute(task: ClaimedTask):
    task.extension.run(vis)
    print(vis[-1], flush=True)


with JobManager(api, tsio, execute=my_execute) as manager:

    @manager.register
    class Rotate(Extension):
        category: ClassVar[Category] = Category.MODIFIER
        angle: float = 0.0

        def run(self, vis, **kwargs):
            vis.append(1 / self.angle)

    print("ready", flush=True)
    manager.wait()
