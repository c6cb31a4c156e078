"""Known vulnerabilities of everything that is locked, and an honest word where the data could not be had.

`pip-audit` ends with 0 and "No known vulnerabilities found" when it could look up nothing at all. Here a
package that was not looked up is never clean: the three ends have three exit codes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from packaging.requirements import Requirement

from supply.locks import LOCKS, ROOT, read_lock

CLEAN, FOUND, UNREACHED = 0, 1, 4
PATIENCE = 600.0
"""Seconds that one of the programs may take."""


@dataclass(frozen=True)
class Audited:
    """What one program could look up."""

    source: str
    wanted: int
    checked: int
    findings: tuple[str, ...] = ()
    trouble: str = ""


def locked_versions() -> list[tuple[str, str]]:
    """Name and version of every Python package of every lock, and of those that the project names exactly."""
    found = {(pin.name, str(pin.version)) for lock in LOCKS.glob("*.txt") for pin in read_lock(lock)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for line in project["dependency-groups"]["test"]:
        exact = [each.version for each in Requirement(line).specifier if each.operator == "=="]
        found |= {(Requirement(line).name, version) for version in exact}
    return sorted(found)


def rounds(packages: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """The packages in lists that name each but once: pip-audit takes one version of a package at a time."""
    left = packages
    while left:
        first = dict(reversed(left))
        yield sorted(first.items())
        left = [(name, version) for name, version in left if first[name] != version]


def said(*command: str) -> tuple[Any, str]:
    """The JSON that a program prints, and what it says otherwise."""
    if shutil.which(command[0]) is None:
        return None, f"{command[0]} is not installed"
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None, f"{command[0]} did not end within {PATIENCE:.0f} s"
    try:
        return json.loads(done.stdout), done.stderr.strip()
    except ValueError:
        return None, last_line(done.stderr) or f"{command[0]} ended with {done.returncode} and no answer"


def last_line(text: str) -> str:
    """Where programs say what went wrong."""
    return text.strip().rpartition("\n")[2]


def audit_python() -> Audited:
    """What pip-audit knows of the Python packages."""
    packages = locked_versions()
    parts = [python_round(each) for each in rounds(packages)]
    return Audited(
        "Python",
        len(packages),
        sum(part.checked for part in parts),
        tuple(finding for part in parts for finding in part.findings),
        next((part.trouble for part in parts if part.trouble), ""),
    )


def python_round(packages: list[tuple[str, str]]) -> Audited:
    """What pip-audit knows of packages with one version each."""
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "packages.txt"
        names.write_text("".join(f"{name}=={version}\n" for name, version in packages), encoding="utf-8")
        quiet = ("--progress-spinner", "off", "--format", "json")
        answer, words = said("pip-audit", "--no-deps", "--disable-pip", *quiet, "--requirement", str(names))
    if not isinstance(answer, dict) or "dependencies" not in answer:
        return Audited("Python", len(packages), 0, (), words or "no list of packages came")
    looked_up = [each for each in answer["dependencies"] if "skip_reason" not in each]
    skipped = [each["skip_reason"] for each in answer["dependencies"] if "skip_reason" in each]
    findings = [
        f"{each['name']} {each['version']}: {one['id']}{repaired(one.get('fix_versions', []))}"
        for each in looked_up
        for one in each["vulns"]
    ]
    return Audited("Python", len(packages), len(looked_up), tuple(findings), skipped[0] if skipped else "")


def repaired(versions: list[str]) -> str:
    """Where a vulnerability is gone."""
    return f", gone in {', '.join(versions)}" if versions else ""


def audit_npm() -> Audited:
    """What npm audit knows of the packages of package-lock.json."""
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    wanted = sum(1 for path in lock["packages"] if path)
    answer, words = said("npm", "audit", "--json", "--package-lock-only")
    if not isinstance(answer, dict) or "vulnerabilities" not in answer:
        message = answer.get("message", "") if isinstance(answer, dict) else ""
        return Audited("npm", wanted, 0, (), message or last_line(words) or "no list of packages came")
    known = answer["vulnerabilities"].items()
    findings = [f"{name} {each['range']}: {reasons(each)}" for name, each in known]
    return Audited("npm", wanted, wanted, tuple(findings))


def reasons(entry: dict[str, Any]) -> str:
    """Why npm names a package: the titles, or the package through which it comes."""
    titles = [each["title"] if isinstance(each, dict) else f"through {each}" for each in entry["via"]]
    return f"{entry['severity']}: {'; '.join(titles)}"


def told(audited: Audited) -> Iterator[str]:
    """What was looked up, found and not looked up, in words."""
    name = f"{audited.source:8} "
    for finding in audited.findings:
        yield f"found    {finding}"
    if audited.checked == audited.wanted:
        count = len(audited.findings)
        known = f"{count} known vulnerabilities" if count else "no known vulnerability"
        yield f"{name}{audited.wanted} packages looked up, {known}"
    else:
        missing = f"{audited.wanted - audited.checked} of {audited.wanted} packages could not be looked up"
        yield f"{name}{missing}, so nothing is known of them. Got {audited.trouble or 'no reason'}"


def verdict(parts: list[Audited]) -> int:
    """The exit code: a finding counts more than a gap, and a gap is not clean."""
    if any(part.findings for part in parts):
        return FOUND
    return CLEAN if all(part.checked == part.wanted for part in parts) else UNREACHED


@click.command()
def main() -> None:
    """Look up every locked package among the known vulnerabilities of Python and npm packages.

    Exit 0: all were looked up and nothing is known. 1: something is known. 4: not all could be looked up.
    """
    parts = [audit_python(), audit_npm()]
    for part in parts:
        for line in told(part):
            click.echo(line)
    code = verdict(parts)
    if code == UNREACHED:
        click.echo("exit 4: not audited: the data could not be reached; try again where they can", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
