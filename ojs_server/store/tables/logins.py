"""Sessions of people at the dashboard."""

from ojs_server.domain.access.login import Login
from ojs_server.store.tables.statements import Statements, Writing


class LoginWrites(Writing):
    """Logins in a write transaction."""

    def insert_login(self, login: Login) -> None:
        """Store a login."""
        self.run_records("insert_logins", [login])

    def delete_login(self, token_hash: str) -> None:
        """Forget a login."""
        self.run("delete_login", token_hash=token_hash)

    def prune_logins(self, limit: int) -> int:
        """Remove logins that have expired; answers how many."""
        return self.run("prune_logins", now=self.now, limit=limit)


class LoginReads(Statements):
    """Logins outside of a transaction."""

    def login(self, token_hash: str, now: int) -> Login | None:
        """Return the login with this token, unless it has expired."""
        found = self.read(Login, "login", token_hash=token_hash, now=now)
        return found[0] if found else None
