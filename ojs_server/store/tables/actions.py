"""The action log."""

from collections.abc import Sequence
from typing import Final

from ojs_server.domain.admin.action import Action, ActionFilter
from ojs_server.store.tables.statements import Statements, Writing

# Most actions that one page looks through.
LOOKED_AT: Final = 10_000


class ActionWrites(Writing):
    """Actions in a write transaction."""

    def insert_actions(self, actions: Sequence[Action]) -> None:
        """Store actions."""
        self.run_records("insert_actions", actions)

    def prune_actions(self, before: int, limit: int) -> int:
        """Remove actions older than a moment; answers how many."""
        return self.run("prune_actions", before=before, limit=limit)


class ActionReads(Statements):
    """Actions outside of a transaction."""

    def actions(self, action_filter: ActionFilter, below: int, limit: int) -> list[Action]:
        """Return the newest matching actions below a position, among a bounded number of
        candidates."""
        if not self.can_hold(action_filter.name, action_filter.call, action_filter.target):
            return []
        return self.read(
            Action,
            "list_actions",
            name=action_filter.name,
            call=action_filter.call,
            target=action_filter.target,
            since=action_filter.since,
            until=action_filter.until,
            below=below,
            looked_at=LOOKED_AT,
            limit=limit,
        )
