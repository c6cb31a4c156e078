"""Options of the verbs, the resulting plan, and confirming what it sends and runs.

Options override the environment, which overrides the plan. A plan may name a host that is not the
provider's, a program or a module. The user sees the list once; what was confirmed is remembered by the hash
of the plan and of the list.
"""

from __future__ import annotations

import io
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from trustgauge.errors import Fault, PlanError, raise_faults

if TYPE_CHECKING:
    from trustgauge.plan import Plan


DEFAULT_PLAN = Path("trustgauge.toml")
EXPERIMENT = ("attribute", "texts", "rule")
"""Options that are settings of experiments; they go to those whose method has the setting."""
CLUSTER = ("workers", "scheduler", "shared")
"""Options that only an engine with worker processes makes use of."""
SHORT = "provider/model, or the name of a service that needs no settings"


def plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every verb that reads a plan."""
    options = [
        click.option(
            "--method", help="Method to use when a service is given.", default="two-step", show_default=True
        ),
        click.option("--attribute", help="Attribute to rate, such as gender."),
        click.option("--seed", type=int, envvar="TRUSTGAUGE_SEED", help="Random seed."),
        click.option("--texts", type=int, envvar="TRUSTGAUGE_TEXTS", help="Texts per block."),
        click.option(
            "--rule", type=click.Choice(["sound", "published", "released"]), envvar="TRUSTGAUGE_RULE"
        ),
        click.option(
            "--only", multiple=True, metavar="PART", help="Rate only this part or service; repeatable."
        ),
        click.option("--limit-calls", type=int, envvar="TRUSTGAUGE_LIMIT_CALLS"),
        click.option("--limit-usd", type=float, envvar="TRUSTGAUGE_LIMIT_USD"),
        click.option("--limit-tokens", type=int, envvar="TRUSTGAUGE_LIMIT_TOKENS"),
        click.option("--limit-seconds", type=float, envvar="TRUSTGAUGE_LIMIT_SECONDS"),
        *output_option_list(),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def output_option_list() -> list[Callable[..., Any]]:
    """Where ratings are kept, and how results are printed."""
    return [
        click.option(
            "--ratings",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("ratings"),
            show_default=True,
            envvar="TRUSTGAUGE_RATINGS",
            help="Folder of all runs.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout."),
        click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does."),
        click.option("--quiet", "-q", is_flag=True, help="Print only the result."),
        click.option("-v", "--verbose", is_flag=True, help="Show tracebacks of errors."),
    ]


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every verb that only reads ratings."""
    for option in reversed(output_option_list()):
        function = option(function)
    return function


def changes(options: dict[str, Any]) -> dict[str, Any]:
    """The given options as changes to a plan; what was not given changes nothing."""
    budget = {key: options.get(f"limit_{key}") for key in ("calls", "usd", "tokens", "seconds")}
    experiment = {key: options.get(key) for key in EXPERIMENT}
    run = {key: options.get(key) for key in ("store", "engine", *CLUSTER)}
    result: dict[str, Any] = {
        "run": {key: value for key, value in run.items() if value is not None},
        "budget": {key: value for key, value in budget.items() if value is not None},
        "experiments": {key: value for key, value in experiment.items() if value is not None},
    }
    if options.get("seed") is not None:
        result["seed"] = options["seed"]
    if options.get("only"):
        result["only"] = list(options["only"])
    return {key: value for key, value in result.items() if value not in ({}, [])}


def plan_of(target: str | None, options: dict[str, Any]) -> Plan:
    """The plan meant on the command line: a file, a service, or ./trustgauge.toml."""
    from trustgauge.plan import load_plan

    source: Path | dict[str, Any]
    if target is None or Path(target).suffix == ".toml" or Path(target).is_file():
        source = Path(target) if target else DEFAULT_PLAN
    elif Path(target).is_dir() and (Path(target) / "plan.toml").is_file():
        source = Path(target) / "plan.toml"
    else:
        source = service_plan(target, options)
    if isinstance(source, Path) and _given("method"):
        raise click.UsageError(f"--method goes with a service; {source} says itself what it rates")
    plan = load_plan(source, changes(options), EXPERIMENT)
    _check_options(plan, options)
    load_environment(plan.services.values())
    return plan


def _given(name: str) -> bool:
    """Whether an option stands on the command line, and not in the environment."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _check_options(plan: Plan, options: dict[str, Any]) -> None:
    """Refuse an option, and note an environment variable, that changes nothing of the plan.

    That is a setting that no experiment has, or one of workers where the engine has none.
    """
    faults = []
    for name in CLUSTER:
        if options.get(name) is None or plan.run.engine != "local":
            continue
        if _given(name):
            what, must = (
                "the local engine makes no use of it",
                "given with an engine that has worker processes",
            )
            do = "Add --engine dask, or leave the option out"
            faults.append(Fault(f"--{name}", what, must=must, got="engine local", do=do))
        else:
            click.echo(
                f"{'note':<9}TRUSTGAUGE_{name.upper()} does nothing here: the engine is local", err=True
            )
    for name in EXPERIMENT:
        if options.get(name) is None or any(name in type(one).model_fields for one in plan.experiments):
            continue
        methods = ", ".join(dict.fromkeys(one.name for one in plan.experiments))  # type: ignore[attr-defined]
        if _given(name):
            fields = set().union(*(type(one).model_fields for one in plan.experiments))
            what = f'no experiment of the plan has the setting "{name}"'
            near = get_close_matches(name, fields, n=1, cutoff=0.8)
            do = f"`{near[0]}` is a setting of the plan" if near else "Leave the option out"
            faults.append(Fault(f"--{name}", what, must="an option for its methods", got=methods, do=do))
        else:
            click.echo(
                f"{'note':<9}TRUSTGAUGE_{name.upper()} does nothing here: {methods} has no {name}", err=True
            )
    raise_faults(faults)


def service_plan(target: str, options: dict[str, Any]) -> dict[str, Any]:
    """A plan for one service: one of ./trustgauge.toml, `provider/model`, or `provider` alone."""
    from trustgauge import plugins
    from trustgauge.plan import read_plan, service_from_name

    experiment = {"method": options.get("method") or "two-step", "services": [target]}
    inside = Path(target) / DEFAULT_PLAN.name
    if inside.is_file():
        must = "a plan, or a service"
        raise PlanError.of("PLAN", f"{target} is a folder", must=must, do=f"Name the plan in it: {inside}")
    provider, _, model = target.partition("/")
    if not model and DEFAULT_PLAN.is_file():
        known = read_plan(DEFAULT_PLAN)[1].get("services", {})
        if target in known:
            return {"name": target, "services": {target: known[target]}, "experiments": [experiment]}
        if target not in plugins.names("services"):
            raise PlanError((plugins.unknown("SERVICE", "plan or service", target, tuple(known)),))
    description = service_from_name(target, "SERVICE", SHORT)
    settings = description.model_dump(mode="json", exclude_unset=True) | {"use": provider}
    return {"name": target, "services": {target: settings}, "experiments": [experiment]}


def load_environment(services: Iterable[Any]) -> None:
    """Set the keys and addresses that services name from the working folder's own `.env`.

    Only variables that a service of the plan reads as its key or address are taken, and only if they are
    not set already: a `.env` may lie in a folder that came from somebody else. One that another user owns,
    or that others may write, is passed over with a note.
    """
    from dotenv import dotenv_values

    names = {name for service in services for part in service.parts().values() for name in part.variables()}
    path = Path(".env")
    try:
        facts = path.lstat()
    except OSError:
        return
    mine = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
    if not stat.S_ISREG(facts.st_mode) or not mine or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        why = "it must be a regular file of your own that nobody else may write (chmod 600 .env)"
        click.echo(f"{'note':<9}.env is not read: {why}", err=True)
        return
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        click.echo(f"{'note':<9}.env is not read: it must be UTF-8 text", err=True)
        return
    for name, value in dotenv_values(stream=io.StringIO(text), interpolate=False).items():
        if name in names and value and "\0" not in value and not os.environ.get(name):
            os.environ[name] = value


def access_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every verb that asks services."""
    for option in (
        click.option("--no-commands", is_flag=True, help="Refuse plans that run programs or Python code."),
        click.option(
            "--trust",
            is_flag=True,
            envvar="TRUSTGAUGE_TRUST",
            help="Confirm what the plan sends and runs without a prompt.",
        ),
    ):
        function = option(function)
    return function


def confirm_plan(plan: Plan, options: Mapping[str, Any]) -> None:
    """Let the user confirm what asking the services of a plan reaches; see `confirm`."""
    confirm(plan.services, plan.hash, options)


def confirm(services: Mapping[str, Any], mark: str, options: Mapping[str, Any]) -> None:
    """Let the user confirm to which other hosts services send keys, and what they run.

    Without a terminal nothing is asked: the plan is refused unless `--trust` is given or it was confirmed.

    Args:
        services: name -> description.
        mark: hash of what names them; another hash is confirmed again.
        options: `trust` and `no_commands`.

    Raises:
        PlanError: it is not confirmed, or runs something although `--no-commands` is given.
    """
    from trustgauge.records import digest
    from trustgauge.reports.sanitize import terminal

    reached = ((name, part.access()) for name, one in services.items() for part in one.parts().values())
    needed = list(dict.fromkeys((name, access) for name, each in reached for access in each))
    runs = [(name, one) for name, one in needed if one.kind == "runs"]
    if options["no_commands"] and runs:
        faults = [Fault(f"services.{name}", str(one), must="nothing, by --no-commands") for name, one in runs]
        raise PlanError(tuple(faults))
    if not needed or options["trust"]:
        return
    mark = digest("access", [mark, sorted(f"{name}: {one}" for name, one in needed)])
    if mark in _confirmed():
        return
    lines = [terminal(f"{name} {one}") for name, one in needed]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise PlanError.of(
            "services", "not confirmed", got="; ".join(lines), do="If that is meant, give --trust"
        )
    for line in lines:
        click.echo(f"{'confirm':<9}{line}", err=True)
    if hasattr(signal, "siginterrupt"):  # not on Windows
        signal.siginterrupt(signal.SIGINT, True)  # else a library's handler lets Ctrl-C wait for Enter
    click.confirm("Is that meant?", abort=True, err=True)
    _remember(mark)


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "trustgauge" / "confirmed-plans"


def _confirmed() -> set[str]:
    try:
        return set(_file().read_text("ascii").split())
    except (OSError, UnicodeDecodeError):
        return set()


def _remember(mark: str) -> None:
    """Note what was confirmed; where that cannot be written, it is asked again next time."""
    try:
        _file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _file().touch(mode=0o600)
        with _file().open("a", encoding="ascii") as opened:
            opened.write(mark + "\n")
    except OSError:
        click.echo(f"{'note':<9}{_file()} cannot be written: it is asked again next time", err=True)
