"""Environments with the wheel in them, made without asking an index."""

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

OURS: Final = "ojs-reference"
ALONE: Final = ("--no-deps", "--no-index", "--no-compile")


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it, and a folder far from the checkout to work in."""

    scripts: Path
    packages: Path
    elsewhere: Path

    def end(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run an installed command to its end."""
        return subprocess.run(
            [self.scripts / command, *arguments],
            cwd=self.elsewhere,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def run(self, command: str, *arguments: str) -> str:
        """Run an installed command; return its output, or fail with its error output."""
        result = self.end(command, *arguments)
        assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        return result.stdout


def install(wheel: Path, environment: Path, extras: frozenset[str]) -> Installed:
    """Have pip install the wheel into a new environment, and lend it what these extras require."""
    venv.create(environment, with_pip=False)
    pip("--python", str(environment / "bin/python"), "install", *ALONE, str(wheel))
    packages = packages_of(environment)
    _lend_needed(_ours_in(packages).requires or (), extras, environment)
    elsewhere = environment / "elsewhere"
    elsewhere.mkdir()
    return Installed(environment / "bin", packages, elsewhere)


def unpack(wheel: Path, folder: Path) -> None:
    """Install the wheel alone into a folder, to be lent to environments.

    They then share what Python compiles of it.
    """
    pip("install", *ALONE, "--target", str(folder), str(wheel))


def pip(*arguments: str) -> None:
    """Run pip to its end; fail with its output."""
    python("-m", "pip", "--disable-pip-version-check", *arguments)


def lend_ours(unpacked: Path, environment: Path, extras: frozenset[str]) -> None:
    """Lend the wheel that was unpacked here, and the requirements of these extras."""
    ours = _ours_in(unpacked)
    lend(ours, environment)
    _lend_needed(ours.requires or (), extras, environment)


def _ours_in(packages: Path) -> PathDistribution:
    (information,) = packages.glob("ojs_reference-*.dist-info")
    return PathDistribution(information)


def _lend_needed(requires: Iterable[str], extras: frozenset[str], environment: Path) -> None:
    for name in _needed(requires, extras | _included(requires, extras)):
        lend(distribution(name), environment)


def python(*arguments: str) -> None:
    """Run Python to its end; fail with its output."""
    result = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=500
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"


def lend_all(requirements: Iterable[str], environment: Path) -> None:
    """Lend these distributions, and those that they need, to an environment."""
    for name in _needed(requirements, frozenset({""})):
        lend(distribution(name), environment)


def _included(requirements: Iterable[str], extras: frozenset[str]) -> set[str]:
    """The extras of the package that its extras include."""
    return {
        extra
        for requirement in _applying(requirements, extras)
        if requirement.name == OURS
        for extra in requirement.extras
    }


def _applying(requirements: Iterable[str], extras: frozenset[str]) -> Iterator[Requirement]:
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            yield requirement


def _needed(requirements: Iterable[str], extras: frozenset[str]) -> set[str]:
    """The names of the distributions that these requirements need here, theirs included."""
    names = set()
    for requirement in _applying(requirements, extras):
        if requirement.name != OURS:
            own = distribution(requirement.name).requires or ()
            names |= {requirement.name, *_needed(own, frozenset({"", *requirement.extras}))}
    return names


def lend(lent: Distribution, environment: Path) -> None:
    """Link a distribution into an environment, with its commands: no index is asked."""
    packages = packages_of(environment)
    for part in {file.parts[0] for file in lent.files or ()} - {"..", "__pycache__"}:
        link = packages / part
        if not link.exists():
            link.symlink_to(str(lent.locate_file(part)))
    for point in lent.entry_points.select(group="console_scripts"):
        command = environment / "bin" / point.name
        command.write_text(
            f"#!{environment}/bin/python\nimport sys\nfrom {point.module} import {point.attr}\n"
            f"sys.exit({point.attr}())\n"
        )
        command.chmod(0o755)


def packages_of(environment: Path) -> Path:
    """Return the folder of an environment's packages."""
    place = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", scheme="venv", vars=place))
