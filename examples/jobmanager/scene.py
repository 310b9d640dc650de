"""A room in which shared objects are changed by whoever knows how, as users of a job manager write
it: classes are jobs, their fields are the parameters, and `run` is given the program's own objects.

    ojs-server --profile jobmanager &
    python examples/jobmanager/scene.py http://127.0.0.1:8080

One of the tasks must fail; the worker logs why.
"""

import sys
from typing import Any

from ojs_worker.jobmanager import ClaimedTask, Extension, JobManager

ROOM = "Lab 1"
Scene = dict[str, float]


class Rotate(Extension):
    """Turn everything."""

    category = "modifiers"
    angle: float = 90.0

    def run(self, scene: Scene) -> Scene:
        scene["angle"] = (scene["angle"] + self.angle) % 360
        return dict(scene)


class Scale(Extension):
    """Make everything larger or smaller."""

    category = "modifiers"
    factor: float

    def run(self, scene: Scene) -> Scene:
        if self.factor <= 0:
            raise ValueError("a factor must be positive")
        scene["size"] *= self.factor
        return dict(scene)


def measure(scene: Scene, /, unit: str = "mm") -> str:
    """A function is a job as well; what stands before the `/` is the program's own."""
    return f"{scene['size']:g} {unit}"


def served(api: Any, scene: Scene, **times: Any) -> list[str]:
    """Serve the room, and have some tasks done; answers what became of each."""

    def execute(task: ClaimedTask) -> Any:
        return task.extension.run(scene)

    with JobManager(api, execute=execute, **times) as worker:
        for job in (Rotate, Scale, measure):
            worker.register(job, room=ROOM)
        ordered = [
            worker.submit(ROOM, Rotate(angle=45.0)),
            worker.submit(ROOM, "modifiers:Scale", {"factor": 2}),
            worker.submit(ROOM, "modifiers:Scale", {"factor": -1}),
            worker.submit(ROOM, "measure", {"unit": "cm"}),
        ]
        ended = [worker.wait_for(task, timeout_s=30) for task in ordered]
    return [f"{one.job} {one.status}: {one.result or one.error}" for one in ended]


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
    print("\n".join(served(url, {"angle": 0.0, "size": 1.0})))
