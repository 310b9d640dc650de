"""Programs of a distribution that pages are about, each used where it is installed."""

import configparser
import os
import shutil
import subprocess
from typing import Final

from tests.missing import not_run
from tests.packaging.page import ROOT, Block
from tests.packaging.playing import Reader
from tests.packaging.shell import Shell

# One process of the same user, which writes to the folder that it is started in alone.
_NGINX: Final = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr notice;
events {{}}
http {{
    access_log off;
    client_body_temp_path tmp;
    proxy_temp_path tmp;
    fastcgi_temp_path tmp;
    uwsgi_temp_path tmp;
    scgi_temp_path tmp;
{}
}}
"""


def program(name: str) -> str | None:
    """Return the path of a program, which may be one that only the administrator needs, or one that
    `make nginx` has unpacked."""
    unpacked = ROOT / "build" / name / "usr" / "sbin"
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin:{unpacked}")


def needs(name: str, what: str) -> None:
    """Skip the test where a program is missing, which the end of the run tells; in CI it fails."""
    if program(name) is None:
        not_run(f"{what}, because {name} is not installed")


async def with_nginx(settings: str, reader: Reader, run: Shell) -> None:
    """Start nginx with these settings of its part about HTTP."""
    reader.write("nginx.conf", _NGINX.format(settings))
    await run.run(f"{program('nginx')} -e stderr -p $PWD -c $PWD/nginx.conf &")
    await run.says("… using the …")


def systemd(unit: Block, reader: Reader, run: Shell) -> dict[str, str]:
    """Have systemd check a unit, where it is installed; return the settings of its service, as the
    page has them."""
    assert unit.file is not None
    file = reader.write(unit.file, run.here(unit.text))
    if analyze := program("systemd-analyze"):
        checked = subprocess.run(
            [analyze, "verify", file], capture_output=True, text=True, check=False
        )
        # It also tells of units of the machine.
        assert file.name not in checked.stderr, checked.stderr
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit.text)
    return dict(parser["Service"])
