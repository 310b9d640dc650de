"""Writes the list of components (SBOM) of a lock, in CycloneDX 1.6: `make dist`.

python requirements/sbom.py requirements/run.txt > components.json

Everything is in the lock: names, versions, digests, and in its comments who needs what. So the list
is the same wherever it is written, and nobody is asked.
"""

import json
import os
import re
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

OURS = "ojs-reference"
PIN = re.compile(r"^([a-z0-9.-]+)==(\S+)(?: ; (.*?))?(?: \\)?$")
DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})")
NEEDED_BY = re.compile(r"^    #(?: via)?\s+(\S+)")


@dataclass
class Package:
    """A locked package."""

    name: str
    version: str
    marker: str | None
    digests: list[str] = field(default_factory=list)
    needed_by: list[str] = field(default_factory=list)

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def packages(lock: str) -> Iterator[Package]:
    """Read the packages of a lock."""
    package: Package | None = None
    for line in lock.splitlines():
        if pin := PIN.match(line):
            if package is not None:
                yield package
            package = Package(pin[1], pin[2], pin[3])
        elif package is not None:
            package.digests += DIGEST.findall(line)
            package.needed_by += NEEDED_BY.findall(line)
    if package is not None:
        yield package


def bill(lock: str) -> dict[str, Any]:
    """Return the list of components."""
    about = metadata(OURS)
    found = {package.name: package for package in packages(lock)}
    needs: dict[str, list[str]] = {OURS: [], **{name: [] for name in found}}
    for package in found.values():
        for name in package.needed_by:
            if name in needs:
                needs[name].append(package.name)
    root = {
        "type": "application",
        "bom-ref": f"pkg:pypi/{OURS}@{about['Version']}",
        "name": OURS,
        "version": about["Version"],
        "licenses": [{"expression": about["License-Expression"]}],
        "purl": f"pkg:pypi/{OURS}@{about['Version']}",
    }
    references = {OURS: root["bom-ref"], **{name: one.purl for name, one in found.items()}}
    run = _reached(needs)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{root['purl']}\n{lock}").urn,
        "version": 1,
        "metadata": {"timestamp": _moment(), "component": root},
        "components": [_component(one, run) for one in found.values()],
        "dependencies": [
            {"ref": references[name], "dependsOn": [references[one] for one in needed]}
            for name, needed in needs.items()
        ],
    }


def _component(package: Package, run: set[str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        # Build tools are not part of the running program.
        "scope": "required" if package.name in run else "excluded",
        "purl": package.purl,
        "externalReferences": [
            {
                "type": "distribution",
                "url": package.purl,
                "comment": "the files that the lock accepts",
                "hashes": [{"alg": "SHA-256", "content": one} for one in package.digests],
            }
        ],
    }
    if package.marker is not None:
        made["properties"] = [{"name": "python:marker", "value": package.marker}]
    return made


def _reached(needs: dict[str, list[str]]) -> set[str]:
    """Return the packages that ours needs, and those that they need."""
    reached, coming = set[str](), [OURS]
    while coming:
        name = coming.pop()
        if name not in reached:
            reached.add(name)
            coming += needs[name]
    return reached


def _moment() -> str:
    """Return the moment of the build, which is that of the commit in `make dist`."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(int(seconds), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    print(json.dumps(bill(Path(sys.argv[1]).read_text(encoding="utf-8")), indent=2))
