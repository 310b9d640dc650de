"""Draw the workers that hold a session."""

from tests.simulation.acts.sessions import ENDS
from tests.simulation.scenario import Act, Options, stream
from tests.simulation.workload.options import QUEUES
from tests.simulation.workload.times import Drawing

# Length of their leases, which are not to lapse before the session is missed.
LEASE_S = 60.0


def draw(seed: int, options: Options) -> list[Act]:
    """Return the acts."""
    drawing = Drawing(stream(seed, "workload sessions"), options)
    for number in range(drawing.some(1, 3, 8) if options.session_grace_s else 0):
        drawing.act(
            drawing.moment(),
            "session",
            worker_id=f"holder{number}",
            queues=list(QUEUES),
            count=drawing.some(1, 1, 3),
            wait_ms=drawing.some(0, 500, 3000),
            lease_s=LEASE_S,
            work_s=round(drawing.chance.random() * 20, 3),
            grace_s=options.session_grace_s,
            end=drawing.some(*ENDS),
        )
    return drawing.acts
