"""Kinds of things that a server lists and knows by name, and the verbs that they share."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import click

from ojs_cli import finding
from ojs_cli.confirmation import confirm_delete, yes_option
from ojs_cli.grammar import Noun
from ojs_cli.names import completer
from ojs_cli.output import Column, column
from ojs_cli.server import segment
from ojs_cli.session import Session

Json = dict[str, Any]


class Kind:
    """One kind: the path and the member of its list, and below that path each by its name.

    `word` is the API's member for the name, `wraps` the members in which an answer may hold the
    thing.
    """

    def __init__(
        self, path: str, member: str, noun: str, *, word: str = "name", wraps: Sequence[str] = ()
    ) -> None:
        self.path = path
        self.list = (path, member)
        self._noun = noun
        self._word = word
        self._wraps = wraps
        self.complete = completer(path, member)
        self.names = click.argument(
            "names",
            nargs=-1,
            required=True,
            metavar=f"{word.upper()}…",
            shell_complete=self.complete,
        )

    def call(
        self, session: Session, method: str, name: str, part: str = "", body: Json | None = None
    ) -> Json:
        """Call the server about one of them; for an unknown name, the failure has a similar one."""
        with self.naming(session, name):
            return session.server.call(method, f"{self.path}/{segment(name)}{part}", body)

    def naming(self, session: Session, name: str) -> AbstractContextManager[None]:
        """Turn the server's 404 for a name into the failure with a similar one."""
        return finding.naming(session.server, *self.list, name, self._noun)

    def of(self, answer: Json) -> Json:
        """Return the thing of an answer."""
        for wrap in self._wraps:
            if isinstance(found := answer.get(wrap), dict):
                return found
        return answer

    def add_list(self, command: Noun, columns: Sequence[Column], help: str) -> None:
        """Add the verb that lists them."""

        @command.command("list", help=help)
        @click.pass_obj
        def _(session: Session) -> None:
            session.output.listing(columns, session.server.items(*self.list))

    def add_show(self, command: Noun, help: str) -> None:
        """Add the verb that shows some of them."""

        @command.command("show", help=help)
        @self.names
        @click.pass_obj
        def _(session: Session, names: Sequence[str]) -> None:
            for name in names:
                found = self.of(self.call(session, "GET", name))
                session.output.whole(found, found.items())

    def add_delete(self, command: Noun, singular: str, plural: str, help: str) -> None:
        """Add the verb that deletes some of them, after a question that counts them."""
        columns = (column(self._word.upper(), self._word), column("DONE", "done"))

        @command.command("delete", help=help)
        @self.names
        @yes_option
        @click.pass_obj
        def _(session: Session, names: Sequence[str], yes: bool) -> None:
            confirm_delete(session, singular, plural, names, yes=yes)
            for name in names:
                self.call(session, "DELETE", name)
            deleted = [{self._word: name, "done": "deleted"} for name in names]
            session.output.listing(columns, deleted)
