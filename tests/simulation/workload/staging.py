"""Draw the jobs that programs stage in transactions of their own."""

from tests.simulation.scenario import Act, Options, stream
from tests.simulation.workload.options import QUEUES
from tests.simulation.workload.times import Drawing


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts."""
    drawing = Drawing(stream(seed, "workload staging"), options)
    if not options.shared:
        # A file is opened by its server alone.
        return []
    for number in range(drawing.some(0, 3, 15)):
        at = drawing.moment()
        jobs = [
            {
                "id": drawing.new_id(at),
                "type": "work",
                "args": [f"s{number}.{place}", round(drawing.chance.random() * 3, 3), 0],
                "queue": drawing.some(*QUEUES),
                # Refused when it is stored.
                **({"priority": "high"} if drawing.maybe(0.1) else {}),
            }
            for place in range(drawing.some(1, 1, 4))
        ]
        drawing.act(at, "stage", jobs=jobs, commits=drawing.maybe(0.8))
    return drawing.acts
