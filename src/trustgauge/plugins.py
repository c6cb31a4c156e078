"""Plug-ins: built-in and third-party plug-ins load through entry points, and need libraries.

Groups: `trustgauge.services`, `.methods`, `.views`, `.judges`, `.issues`, `.engines`, `.stores`, `.exports`,
`.importers`, `.commands`.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any

from trustgauge.errors import Fault, MissingPartError, PlanError, TrustgaugeError

GROUPS = (
    "services",
    "methods",
    "views",
    "judges",
    "issues",
    "engines",
    "stores",
    "exports",
    "importers",
    "commands",
)
LONGEST_LIST = 40
"""Valid words that a message lists one by one."""


@cache
def _installed() -> dict[str, dict[str, tuple[EntryPoint, ...]]]:
    """The plug-ins of each group: those of one name together, as several packages may bring it.

    To find them the metadata of every package is read, so all come at once.
    """
    every = entry_points()
    found: dict[str, dict[str, tuple[EntryPoint, ...]]] = {}
    for group in GROUPS:
        known = found.setdefault(group, {})
        for point in every.select(group=f"trustgauge.{group}"):
            known[point.name] = (*known.get(point.name, ()), point)
    return found


def names(group: str) -> tuple[str, ...]:
    """Names of all plug-ins of a group, sorted. Imports none of them."""
    return tuple(sorted(_installed()[group]))


def load(group: str, name: str, place: str = "") -> Any:
    """Import exactly the plug-in asked for.

    Raises PlanError with the nearest valid name if there is none, with the package that cannot be
    imported, or with the packages if several bring one of this name: which of them would count depends on
    where they lie. `place` says where in the plan the name stands.
    """
    points, kind = _installed()[group].get(name, ()), group.removesuffix("s")
    if len(points) > 1:
        packages = ", ".join(sorted({_package(one) for one in points}))
        what, do = f'several packages bring the {kind} "{name}"', "Rename it in one of them, or remove one"
        raise PlanError.of(place or group, what, must="one", got=packages, do=do)
    if not points:
        fault = unknown(place or group, kind, name, names(group))
        raise PlanError((replace(fault, do=fault.do or "If a plug-in brings it, install that plug-in"),))
    try:
        return points[0].load()
    except TrustgaugeError:
        raise
    except Exception as error:  # of a package that anybody may have written
        package = _package(points[0])
        if package == "trustgauge":
            raise
        what, got = f'the {kind} "{name}" cannot be imported', f"{type(error).__name__}: {error}"
        raise PlanError.of(
            place or group, what, got=got, do=f"Mend or remove the package {package}"
        ) from error


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


def place_in_plug_in(error: BaseException) -> str:
    """Where an error arose in somebody else's plug-in: "line 7 of desk.py, package acme"; "" if in none."""
    packages = _foreign_packages()
    place, trace = "", error.__traceback__
    while trace is not None and packages:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        for package, distribution in packages.items():
            if f"{module}.".startswith(f"{package}."):
                file = PurePath(trace.tb_frame.f_code.co_filename).name
                place = f"line {trace.tb_lineno} of {file}, package {distribution}"
        trace = trace.tb_next
    return place


def _foreign_packages() -> dict[str, str]:
    """Modules that hold plug-ins of other packages, each with the name of its package.

    That is the folder of the module that is named: others beside it belong to it.
    """
    points = [point for group in _installed().values() for many in group.values() for point in many]
    return {
        point.module.rpartition(".")[0] or point.module: point.dist.name
        for point in points
        if point.dist is not None and point.dist.name != "trustgauge"
    }


def need_library(module: str, install: str, package: str = "") -> None:
    """Nothing, if a module is installed; it is not imported.

    Raises:
        MissingPartError: it is not; says the command that brings it, and calls it as its package is called.
    """
    if find_spec(module) is None:
        raise MissingPartError(f'the library "{package or module}" is not installed', do=f"Run `{install}`")


def library_version(package: str) -> str:
    """The version of a package that is installed, else ""."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def unknown(place: str, kind: str, name: str, valid: tuple[str, ...]) -> Fault:
    """The fault for a word that is not one of the valid ones, with the nearest valid word."""
    if not valid:
        return Fault(place, f'no {kind} "{name}": there is none', do="Leave it out, or add one of this name")
    near = get_close_matches(name, valid, n=1, cutoff=0.6)
    do = f'Did you mean "{near[0]}"?' if near else ""
    must = "one of: " + ", ".join(valid)
    if len(valid) > LONGEST_LIST:  # nobody finds the fault behind hundreds of names
        must = f"one of {len(valid):,}, such as {', '.join(valid[:5])}"
    return Fault(place, f'no {kind} "{name}"', must=must, do=do)
