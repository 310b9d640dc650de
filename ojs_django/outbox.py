"""The tables of an outbox, for a migration of the project.

    from ojs_django.outbox import CreateOutbox

    class Migration(migrations.Migration):
        dependencies = [("shop", "0001_initial")]
        operations = [CreateOutbox()]

`ojs outbox run` sends what is in them.
"""

from typing import Any

from django.db.migrations import RunPython

from ojs_worker import outbox


class CreateOutbox(RunPython):
    """Create the outbox in the database that is migrated, or drop it on the way back."""

    def __init__(self) -> None:
        super().__init__(_create, _drop)

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        """Return how a squashed migration makes it again."""
        return type(self).__qualname__, [], {}

    def describe(self) -> str:
        """Say what it does."""
        return "Create the outbox of jobs"


def _create(apps: Any, editor: Any) -> None:
    for statement in outbox.statements(editor.connection.vendor):
        editor.execute(statement, None)


def _drop(apps: Any, editor: Any) -> None:
    for statement in outbox.undo():
        editor.execute(statement, None)
