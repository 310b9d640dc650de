"""A worker that claims its tasks by hand: ``python by_hand.py URL``."""

import sys
from typing import ClassVar

from connection import connect
from zndraw_joblib import Category, Extension, JobManager

api, tsio = connect(sys.argv[1])
vis = []

with JobManager(api, tsio) as manager:

    @manager.register
    class Rotate(Extension):
        category: ClassVar[Category] = Category.MODIFIER
        angle: float = 0.0

        def run(self, vis, **kwargs):
            vis.append(1 / self.angle)

    print("ready", flush=True)
    for task in manager.listen(polling_interval=2.0):
        manager.start(task)
        try:
            task.extension.run(vis)
            print(vis[-1], flush=True)
            manager.complete(task)
        except Exception as e:
            manager.fail(task, str(e))
