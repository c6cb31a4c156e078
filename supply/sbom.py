"""The bill of materials of a release, in CycloneDX JSON: every package that an installation brings.

It is read from the packages that are installed here, which must be those of the lock: make the environment
with `bin/setup`. The same environment always gives the same document.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import click
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.licences import stated_licence
from supply.locks import LOCKS, Pin, read_lock

SPECIFICATION = "1.6"
OURS = "trustgauge"
Reach = dict[str, set[str]]


class UnlockedError(click.ClickException):
    """What is installed here is not what is locked."""


def required(name: str, extra: str) -> Iterator[Requirement]:
    """What an installed package asks for on this Python and system, with one of its extras or none."""
    for line in distribution(name).requires or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def reached(name: str, extras: set[str]) -> Reach:
    """Every package that this one needs, directly or not, each with those that it needs itself."""
    found: Reach = {canonicalize_name(name): set()}
    waiting = [(canonicalize_name(name), extra) for extra in extras | {""}]
    seen = set(waiting)
    while waiting:
        at, extra = waiting.pop()
        for requirement in required(at, extra):
            needed = canonicalize_name(requirement.name)
            found.setdefault(needed, set())
            if needed != at:
                found[at].add(needed)
            more = {(needed, each) for each in requirement.extras | {""}} - seen
            seen |= more
            waiting += more
    return found


def installed(name: str, pins: Mapping[str, Pin]) -> Distribution:
    """The installed package, if it is the locked one."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        raise UnlockedError(f"{name} is not installed: run bin/setup demo first") from None
    if name not in pins:
        raise UnlockedError(f"{name} must stand in the lock file: run bin/lock, then bin/setup demo")
    if package.version != str(pins[name].version):
        got = f"{name} must be {pins[name].version}, as locked. Got {package.version}"
        raise UnlockedError(f"{got}: run bin/setup demo first")
    return package


def purl(name: str, version: str) -> str:
    """The package's address in the scheme that all registries share."""
    return f"pkg:pypi/{canonicalize_name(name)}@{version}"


def licences(package: Distribution) -> list[dict[str, Any]]:
    """The licence as CycloneDX writes it."""
    stated = stated_licence(package)
    try:
        expression = canonicalize_license_expression(stated)
    except InvalidLicenseExpression:
        return [{"license": {"name": stated}}] if stated else []
    return [{"expression": expression}]


def component(package: Distribution, kind: str, scope: str) -> dict[str, Any]:
    """A package as CycloneDX writes it."""
    address = purl(package.name, package.version)
    entry = {"type": kind, "bom-ref": address, "name": package.name, "version": package.version}
    more = {"scope": scope, "licenses": licences(package), "purl": address}
    return {**entry, **{key: value for key, value in more.items() if value}}


def bill(pins: list[Pin], extras: set[str], wheel: Path | None = None) -> dict[str, Any]:
    """The bill of materials of trustgauge with these extras, and the hash of its wheel."""
    locked = {each.name: each for each in pins if each.wanted_here()}
    graph = reached(OURS, extras)
    core = reached(OURS, set())
    packages = {name: installed(name, locked) for name in sorted(graph.keys() - {OURS})}
    ours = component(distribution(OURS), "application", "")
    if wheel is not None:
        ours["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    addresses = {name: purl(name, package.version) for name, package in packages.items()}
    addresses[OURS] = ours["purl"]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {"component": ours},
        "components": [
            component(package, "library", "required" if name in core else "optional")
            for name, package in packages.items()
        ],
        "dependencies": [
            {"ref": addresses[name], "dependsOn": sorted(addresses[need] for need in needs)}
            for name, needs in sorted(graph.items())
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


@click.command()
@click.option("--extra", "extras", multiple=True, default=["all"], show_default=True, help="Of trustgauge.")
@click.option("--wheel", type=click.Path(exists=True, path_type=Path), help="The wheel it is of.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True)
def main(extras: tuple[str, ...], wheel: Path | None, output: Path) -> None:
    """Write the bill of materials (CycloneDX JSON) of what is installed here and locked."""
    found = bill(read_lock(LOCKS / "demo.txt"), set(extras), wheel)
    output.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    click.echo(f"{output}: {len(found['components'])} packages")


if __name__ == "__main__":
    main()
