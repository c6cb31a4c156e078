"""What a plan that came over the network may not do: run code, read files, or send keys of this machine.

On a command line whoever runs a plan confirms what it reaches (`terminal.consent`). Here nobody is asked, so
a plan that would have to be confirmed is refused, and so is one that names files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trustgauge.errors import Fault, raise_faults

if TYPE_CHECKING:
    from trustgauge.plan import Plan

RUN_SETTINGS = frozenset({"store"})
"""Settings of `run` that a plan may have; others name folders and other machines."""
DEEPEST = 20


def network_plan(plan: Mapping[str, Any], settings: Mapping[str, Any] = MappingProxyType({})) -> Plan:
    """Check a plan that came over the network.

    Args:
        plan: as it came.
        settings: of `run`, by whoever serves the catalogue.

    Raises:
        PlanError: it has faults, or it reaches into the machine that serves the catalogue.
    """
    from trustgauge.plan import load_plan

    raise_faults(_file_faults(plan))  # before anything opens one
    checked = load_plan(dict(plan), {"run": dict(settings)})
    raise_faults(_reach_faults(checked))
    return checked


def _file_faults(plan: Mapping[str, Any]) -> Iterator[Fault]:
    """Values that name a file or folder of this machine, and settings of `run`."""
    must = "a service that is reached over the network, or one that travels with trustgauge"
    for place, value in _strings(plan, "", 0):
        if _names_a_file(value):
            yield Fault(place, "a file of the machine that serves the catalogue", must=must)
    run = plan.get("run")
    for name in sorted(set(run) - RUN_SETTINGS) if isinstance(run, Mapping) else ():
        yield Fault(f"run.{name}", "not for a run that is started over the network")


def _reach_faults(plan: Plan) -> Iterator[Fault]:
    """Services that run programs or code here, or send a key of this machine elsewhere."""
    services: Mapping[str, Any] = plan.services
    for name, service in services.items():
        for part in service.parts().values():
            for one in part.access():
                yield Fault(f"services.{name}", f"{one}, which a plan over the network may not")


def _strings(value: Any, place: str, depth: int) -> Iterator[tuple[str, str]]:
    """Every string of a plan with its place; what is nested too deep counts as one that names a file."""
    if isinstance(value, str):
        yield place, value
    elif depth > DEEPEST:
        yield place, str(Path())
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _strings(one, f"{place}.{name}".lstrip("."), depth + 1)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _strings(one, f"{place}[{number}]", depth + 1)


def _names_a_file(value: str) -> bool:
    """Whether a value is a path to something; a bare name only if it is a file of the folder we work in."""
    try:
        path = Path(value).expanduser()
        pathlike = any(sign in value for sign in "/\\~") or value in (".", "..")
        return path.exists() if pathlike else path.is_file()
    except (OSError, RuntimeError, ValueError):
        return False
