"""Logging in and out: sessions of people at the dashboard."""

from ojs_server.domain.access.login import Login
from ojs_server.ops.operation import Operation, Stage
from ojs_server.ops.unit_of_work import Work


class LogIn(Operation[Login], frozen=True):
    """Begin a session, whose token has this hash."""

    stage = Stage.LOGINS

    token_hash: str
    principal: str
    for_ms: int

    @property
    def job_count(self) -> int:
        return 0

    def carry_out(self, work: Work) -> Login:
        login = Login(self.token_hash, self.principal, work.now, work.now + self.for_ms)
        work.tx.insert_login(login)
        return login


class LogOut(Operation[None], frozen=True):
    """End the session whose token has this hash, on every node; it may have ended."""

    stage = Stage.LOGINS

    token_hash: str

    @property
    def job_count(self) -> int:
        return 0

    def carry_out(self, work: Work) -> None:
        work.tx.delete_login(self.token_hash)
