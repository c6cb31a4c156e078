"""The lock files of `locks/`: every package by version and hash, for every Python and system supported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})(?= |$)")


@dataclass(frozen=True)
class Pin:
    """A package of a lock file: one version, where it is wanted, and the files that it may come as."""

    name: str
    version: Version
    marker: Marker | None
    hashes: tuple[str, ...]

    def wanted_here(self) -> bool:
        """Whether this Python on this system installs it."""
        return self.marker is None or self.marker.evaluate()


def read_lock(path: Path) -> list[Pin]:
    """Every package of a lock file, in its order."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(encoding="utf-8"), flags=re.M)
    return [pin(line) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def pin(line: str) -> Pin:
    """An entry of a lock file, written in one line."""
    requirement = Requirement(line.partition(" --hash")[0].strip())
    exact = [each for each in requirement.specifier if each.operator == "=="]
    if len(exact) != 1 or len(requirement.specifier) != 1:
        raise ValueError(f"{requirement} must name one version (NAME==VERSION): run bin/lock")
    name = canonicalize_name(requirement.name)
    return Pin(name, Version(exact[0].version), requirement.marker, tuple(HASH.findall(line)))
