"""The other processes of a command that runs several workers: only one of them is tested."""

from conformance.played.calls import Kind
from conformance.played.record import WorkerRequest


class Others:
    """Tells the tested process, which registers first, from others.

    Registrations tell processes by `hostname` and `pid`. A process that has an id of the tested one
    counts as that one, since no two may share it.
    """

    def __init__(self) -> None:
        self._tested_process: tuple[object, object] | None = None
        self._tested_ids: set[str] = set()
        self._other_ids: set[str] = set()
        self._left = False

    def expect(self) -> None:
        """Test the process that registers next: another command is started."""
        self._tested_process, self._left = None, False

    def sent(self, request: WorkerRequest) -> bool:
        """Take note of a request; tell whether it came from a process that is not tested."""
        name = request.worker_id
        if request.kind is Kind.REGISTER:
            process = (request.body.get("hostname"), request.body.get("pid"))
            self._tested_process = self._tested_process or process
            is_testable = process == self._tested_process or process[1] is None
            (self._tested_ids if is_testable else self._other_ids).add(name)
        elif request.kind is Kind.DEREGISTER and name in self._tested_ids:
            self._left = True
        return self._is_other(name)

    def are_idle(self, worker_id: str) -> bool:
        """True if a worker gets no jobs: it is not tested, and the tested one has not left."""
        return self._is_other(worker_id) and not self._left

    def _is_other(self, worker_id: str) -> bool:
        return worker_id in self._other_ids - self._tested_ids
