"""Environments with the wheel in them, made without asking an index."""

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PathDistribution, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

OURS: Final = "ojs-reference"


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


def install(wheel: Path, name: str, extras: frozenset[str]) -> Installed:
    """Make an environment with the wheel and the requirements of these extras."""
    environment = wheel.parent / name
    venv.create(environment, with_pip=False)
    scripts = environment / "bin"
    packages = install_into(environment, wheel, extras)
    elsewhere = environment / "elsewhere"
    elsewhere.mkdir()
    return Installed(scripts, packages, elsewhere)


def install_into(environment: Path, wheel: Path, extras: frozenset[str]) -> Path:
    """Install the wheel and the requirements of these extras; return the folder of packages."""
    packages = packages_of(environment)
    python(
        "-m", "pip", "--disable-pip-version-check", "--python", str(environment / "bin/python"),
        "install", "--no-deps", "--no-index", "--no-compile", str(wheel),
    )  # fmt: skip
    (information,) = packages.glob("ojs_reference-*.dist-info")
    wheel_requires = PathDistribution(information).requires or ()
    for needed in _needed(wheel_requires, extras | _included(wheel_requires, extras)):
        lend(needed, environment)
    return packages


def python(*arguments: str) -> None:
    """Run Python to its end; fail with its output."""
    result = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=500
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"


def lend_all(requirements: Iterable[str], environment: Path) -> None:
    """Lend these distributions, and those that they need, to an environment."""
    for name in _needed(requirements, frozenset({""})):
        lend(name, environment)


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


def lend(name: str, environment: Path) -> None:
    """Link a distribution of this environment into another one, with its commands: no index is
    asked."""
    lent, packages = distribution(name), packages_of(environment)
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
