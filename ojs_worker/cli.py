"""The command `ojs-worker`: run a worker, and stop it gracefully.

Signals are caught before the program's own modules are imported, so that none is lost while they
load.
"""

import argparse
import asyncio
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from ojs_wire.help import HelpFormatter
from ojs_worker.config import MISCONFIGURED, Config, SettingError
from ojs_worker.logs import set_up
from ojs_worker.running.recycling import RecyclingLimits, recycling_limits
from ojs_worker.running.signals import MARGIN_S, SignalBox, exit_later, exit_now
from ojs_worker.settings import NO_FLAG, TABLE, Setting, load
from ojs_worker.supervision.supervised import Status, Supervised
from ojs_worker.version import installed

log = logging.getLogger("ojs.worker")

DESCRIPTION: Final = """\
Runs the jobs of an Open Job Spec server.

  ojs-worker run myapp.jobs:worker    the worker of that name in that module
  ojs-worker demo                     a worker with handlers for trying things out
"""
EPILOG: Final = """\
Every option can be set by the environment variable in brackets; options win over what the
program sets, that wins over the environment. The server's key is OJS_AUTH_TOKEN.

With --workers there are several processes, and this one passes signals on to them.

SIGTERM, SIGINT   take no more jobs, wait for those that run, give back the rest, exit
SIGTSTP           take no more jobs, stay (kill -TSTP PID)
SIGCONT           take jobs again

exit codes: 0 every job ended by itself, 1 some were given back, 130 or 143 forced by a second
SIGINT or SIGTERM, 2 a wrong setting, 3 the worker could not be loaded
"""
DEMO: Final = "ojs_worker.demo:worker"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    After a worker has run, the process ends here, as threads that cannot be stopped would keep it
    alive.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = make_parser()
    _refuse_unknown(parser, arguments)
    options = vars(parser.parse_args(arguments))
    command, target = options.pop("command"), options.pop("target")
    if command == "demo":
        if target is not None:
            parser.error("demo takes no worker")
        target = DEMO
    elif target is None:
        parser.error("run needs the worker's name, such as myapp.jobs:worker")
    reload, folder = options.pop("reload"), options.pop("reload_dir")
    try:
        config = load(options, {})
        limits = recycling_limits(config)
    except SettingError as error:
        print(f"ojs-worker: {error}", file=sys.stderr)
        return 2
    supervisor = Supervised.inherited()
    several = config.workers > 1 or config.max_jobs is not None or config.max_memory is not None
    if supervisor is None and (reload or several):
        if os.name != "posix":
            print("ojs-worker: several processes need Linux or macOS", file=sys.stderr)
            return 2
        return _supervise(arguments, config, Path(folder) if reload else None)
    box = SignalBox(may_exit=True)
    if supervisor is None:
        box.install()
    else:
        supervisor.obey(box)
    return _run(str(target), options, box, limits, supervisor)


def _supervise(arguments: Sequence[str], config: Config, folder: Path | None) -> int:
    from ojs_worker.supervision.supervisor import Supervisor

    set_up(config.log_format, config.log_level)
    box = SignalBox()
    box.install()
    try:
        return asyncio.run(Supervisor(arguments, config, folder).run(box))
    except OSError as error:
        print(f"ojs-worker: {error}", file=sys.stderr)
        return 3


def _run(
    target: str,
    flags: dict[str, Any],
    box: SignalBox,
    limits: RecyclingLimits,
    supervisor: Supervised | None,
) -> int:
    from ojs_worker.target import NoWorker, find_worker

    try:
        worker = find_worker(target)
        config = worker.config(flags)
    except (NoWorker, SettingError) as error:
        print(f"ojs-worker: {error}", file=sys.stderr)
        return MISCONFIGURED if isinstance(error, SettingError) else 3
    except Exception:
        traceback.print_exc()
        print(f"ojs-worker: {target} could not be imported", file=sys.stderr)
        return 3
    # Only after the import, because a logging setup of the program takes precedence.
    set_up(config.log_format, config.log_level)
    if supervisor is not None:
        supervisor.agree(config)
    if box.end_requested:
        log.info("told to end before the worker began")
        if supervisor is not None:
            supervisor.send_status(Status.FINISHED)
        return 0
    # If a handler blocks the event loop, no orderly shutdown happens, so force the exit.
    box.on_ending = lambda: exit_later(config.grace_s + MARGIN_S, 1)
    _warn_of_init()

    async def serve() -> int:
        if supervisor is None:
            running = await worker.life(flags).start()
            return await running.wait_with_signals(box)
        running = await worker.life(flags, wear=limits).start()
        reporting = asyncio.create_task(supervisor.report(running))
        code = await running.wait_with_signals(box)
        reporting.cancel()
        supervisor.send_status(Status.FINISHED)
        return code

    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            exit_now(runner.run(serve()))
    except OSError as error:
        if hasattr(error, "__notes__"):
            traceback.print_exc()
        print(f"ojs-worker: {error}", file=sys.stderr)
    except Exception:
        traceback.print_exc()
        print("ojs-worker: the worker could not be started", file=sys.stderr)
    return 3


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _warn_of_init() -> None:
    """Warn if a shell is the first process of a container, because it passes on no signals."""
    if os.getpid() != 1 and os.path.exists("/.dockerenv") and os.getppid() == 1:
        try:
            first = Path("/proc/1/comm").read_text(encoding="utf-8").strip()
        except OSError:
            return
        if first in ("sh", "bash", "dash", "ash", "zsh"):
            log.warning(
                "process 1 is %s, which does not pass SIGTERM on: start the worker with exec, or "
                "use an init",
                first,
            )


def _refuse_unknown(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    # argparse would take the value of a misspelt option for the worker, and report that instead.
    flags = [setting for setting in TABLE if setting.name not in NO_FLAG]
    known = [setting.flag for setting in flags] + _OTHERS
    known += ["--no-" + setting.flag[2:] for setting in flags if setting.kind == "truth"]
    for argument in arguments:
        name = argument.partition("=")[0]
        if name.startswith("--") and name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            parser.error(f"{name} is not an option{hint}")


# The sections of the help text, by their first setting.
SECTIONS: Final = {
    "profile": "the server",
    "queues": "which jobs, and how many at once",
    "grace": "times, and how it hears of jobs",
    "only_known_types": "rules of jobs",
    "health_port": "probes and logs",
}
_OTHERS: Final = ["--help", "--version", "--reload", "--reload-dir"]


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the options of `ojs-worker`."""
    parser = argparse.ArgumentParser(
        prog="ojs-worker",
        usage="ojs-worker run MODULE:NAME [option …]\n       ojs-worker demo [option …]",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ojs-worker {installed()}")
    parser.add_argument("command", choices=("run", "demo"), help="what to run")
    parser.add_argument("target", nargs="?", help="the worker, as module:name")
    add_options(parser)
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a worker, in sections."""
    parser.add_argument("--reload", action="store_true", help="start anew when a file changes")
    parser.add_argument(
        "--reload-dir", default=".", metavar="FOLDER", help="which files; default: this folder"
    )
    defaults = Config()
    section = parser.add_argument_group("other settings")
    for setting in TABLE:
        if setting.name in SECTIONS:
            section = parser.add_argument_group(SECTIONS[setting.name])
        if setting.name not in NO_FLAG:
            _add(section.add_argument, setting, getattr(defaults, setting.field))


def _add(add: Callable[..., object], setting: Setting, default: Any) -> None:
    usual = ",".join(default) if isinstance(default, tuple) else default
    suffix = "" if usual in (None, False, "") else f", default {usual}"
    text = f"{setting.help}{suffix}  [{setting.env[0]}]".replace("%", "%%")
    if setting.kind == "truth":
        add(setting.flag, action=argparse.BooleanOptionalAction, help=text)
    else:
        metavar = "|".join(setting.choices) or setting.kind.upper()
        add(setting.flag, metavar=metavar, help=text)
