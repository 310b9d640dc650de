"""Workers with all handlers: what a job does stands in its arguments."""

from ojs_worker import Worker
from ojs_worker.config import WorkerSettings
from ojs_worker.environment import Environment
from ojs_worker.transport import Transport
from tests.simulation.handlers import jobs, steps
from tests.simulation.handlers.runs import Runs
from tests.simulation.ledger import Ledger
from tests.simulation.machine.loop import SimulatedLoop

SUBJECTS = (jobs, steps)


def make_worker(
    name: str,
    environment: Environment,
    transport: Transport,
    loop: SimulatedLoop,
    ledger: Ledger,
    settings: WorkerSettings,
) -> Worker:
    """Return a worker whose handlers note their runs."""
    worker = Worker(transport=transport, environment=environment, **settings)
    runs = Runs(name, loop, ledger)
    for subject in SUBJECTS:
        subject.add(worker, runs)
    return worker
