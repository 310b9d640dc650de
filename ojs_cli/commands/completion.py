"""`ojs completion`: what a shell needs to complete commands, options and names."""

import click
from click.shell_completion import get_completion_class

from ojs_cli.grammar import Entry, Section, Verb

ENTRY = Entry(Section.PROGRAMS, 5, "print the completion of a shell: bash, zsh, fish")


@click.command("completion", cls=Verb)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion of a shell.

    \b
    bash, zsh  eval "$(ojs completion bash)"      in ~/.bashrc or ~/.zshrc
    fish       ojs completion fish > ~/.config/fish/completions/ojs.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "ojs", "_OJS_COMPLETE").source())
