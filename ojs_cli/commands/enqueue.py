"""`ojs enqueue`: store a job."""

import json
from collections.abc import Sequence
from typing import Any

import click

from ojs_cli.columns import JOBS
from ojs_cli.failures import MISUSED, OK, Failure
from ojs_cli.grammar import Entry, Section, Verb
from ojs_cli.session import Session
from ojs_cli.values import document, json_or_text, pair

Json = dict[str, Any]
ENTRY = Entry(Section.JOBS, 1, "store a job")


@click.command("enqueue", cls=Verb)
@click.argument("type")
@click.argument("args", nargs=-1, metavar="[ARG]…")
@click.option("--args", "args_text", metavar="JSON|@FILE|-", help="all arguments as JSON")
@click.option("-q", "--queue", help="the queue, default unless given")
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="beside the arguments")
@click.option("--tag", "tags", multiple=True, help="a tag")
@click.option("--priority", type=int, help="the higher, the sooner")
@click.option("--in", "delay", metavar="DURATION", help="not before, such as 5m")
@click.option("--at", metavar="TIMESTAMP", help="not before this moment")
@click.option("--retry", type=click.IntRange(min=0), metavar="N", help="attempts in all")
@click.option("--unique", is_flag=True, help="where the same job is there, answer that one")
@click.option("--id", "job_id", metavar="UUID", help="its id; sent again it is the same job")
@click.option("--wait", is_flag=True, help="follow it; 3 where it does not complete")
@click.option("--dry-run", is_flag=True, help="print the request, and send nothing")
@click.pass_obj
def command(
    session: Session,
    /,
    type: str,
    args: Sequence[str],
    args_text: str | None,
    wait: bool,
    dry_run: bool,
    **given: Any,
) -> int:
    """Store a job. Each ARG is JSON, or else a text.

    \b
    ojs enqueue mail.send '{"to": "a@example.org"}' -q mail --in 5m
    ojs enqueue report.monthly 2026-10 --args @args.json
    """
    from ojs_worker.client.requests import job_request

    environment = session.environment
    try:
        request = job_request(
            type,
            job_arguments(args, args_text),
            _options(given),
            environment.now(),
            environment.rising_id,
        )
    except (ValueError, TypeError) as error:
        raise Failure(str(error), exit_code=MISUSED) from None
    if dry_run:
        click.echo(json.dumps(request.wire(), indent=2))
        return OK
    answer = session.server.call("POST", "/jobs", request.wire())
    job = answer.get("job", answer)
    if wait:
        from ojs_cli.commands.jobs import watch_ids

        return watch_ids(session, [str(job["id"])], 0.5)
    session.output.listing(JOBS, [job])
    return OK


def _options(given: Json) -> Any:
    renamed = {"job_id": "id"}
    options = {
        renamed.get(name, name): value for name, value in given.items() if value not in (None, ())
    }
    if not options.pop("unique"):
        return options | _meta(options)
    return options | _meta(options) | {"unique": True}


def _meta(options: Json) -> Json:
    pairs = options.get("meta")
    if pairs is None:
        return {}
    return {"meta": dict(pair(text, "--meta") for text in pairs)}


def job_arguments(args: Sequence[str], text: str | None) -> list[Any]:
    """The arguments of a job from words, from JSON, from a file, or from standard input."""
    if text is None:
        return [json_or_text(arg) for arg in args]
    if args:
        raise Failure("give arguments as words or by --args, not both", exit_code=MISUSED)
    found = document(text, "--args")
    return found if isinstance(found, list) else [found]
