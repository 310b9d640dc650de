"""A 201 is sent only after the data is on disk, as seen in the system calls."""

import re
import shutil
from pathlib import Path

import httpx
import pytest

from tests.e2e.node import running

ENQUEUES = 20
_SYNC = re.compile(r"\bf(?:data)?sync\(")
_CREATED = re.compile(r"HTTP/1\.1 201")


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace on this machine")
async def test_a_sync_precedes_every_201(sqlite_path: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    calls = "trace=fsync,fdatasync,write,writev,sendto,sendmsg"
    strace = ("strace", "-f", "-qq", "-s", "64", "-e", calls, "-o", str(trace))
    async with running(f"sqlite:///{sqlite_path}", wrapper=strace) as node:
        async with httpx.AsyncClient(timeout=30) as client:
            for index in range(ENQUEUES):
                body = {"type": "sync.test", "args": [index]}
                answer = await client.post(f"{node.url}/ojs/v1/jobs", json=body)
                assert answer.status_code == 201
        lines = trace.read_text(errors="replace").splitlines()
    created = [number for number, line in enumerate(lines) if _CREATED.search(line)]
    assert len(created) == ENQUEUES
    for before, after in zip([0, *created], created, strict=False):
        between = lines[before:after]
        assert any(_SYNC.search(line) for line in between), "\n".join(between[-20:])
