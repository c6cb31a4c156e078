"""Options of the verbs, and the plan that they amount to. Option beats environment beats plan."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from trustgauge.plan import Plan

DEFAULT_PLAN = Path("trustgauge.toml")
SHORT = "provider/model, or the name of a service that needs no settings"


def shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every verb that reads a plan. Option beats environment beats plan."""
    options = [
        click.option(
            "--method", help="What to rate when a service is given.", default="two-step", show_default=True
        ),
        click.option("--attribute", help="Attribute to rate, such as gender."),
        click.option("--seed", type=int, envvar="TRUSTGAUGE_SEED", help="Seed of everything that is drawn."),
        click.option("--texts", type=int, envvar="TRUSTGAUGE_TEXTS", help="Texts a block."),
        click.option(
            "--rule", type=click.Choice(["sound", "published", "released"]), envvar="TRUSTGAUGE_RULE"
        ),
        click.option(
            "--only", multiple=True, metavar="PART", help="Ask only this part or service; repeatable."
        ),
        click.option("--limit-calls", type=int, envvar="TRUSTGAUGE_LIMIT_CALLS"),
        click.option("--limit-usd", type=float, envvar="TRUSTGAUGE_LIMIT_USD"),
        click.option("--limit-tokens", type=int, envvar="TRUSTGAUGE_LIMIT_TOKENS"),
        click.option("--limit-seconds", type=float, envvar="TRUSTGAUGE_LIMIT_SECONDS"),
        *place_options(),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def place_options() -> list[Callable[..., Any]]:
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
        click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout."),
        click.option("--no-color", is_flag=True, help="No colour; NO_COLOR says the same."),
        click.option("--quiet", "-q", is_flag=True, help="Only the result."),
        click.option("-v", "--verbose", is_flag=True, help="Tracebacks of errors."),
    ]


def with_places(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every verb that only reads ratings."""
    for option in reversed(place_options()):
        function = option(function)
    return function


def changes(options: dict[str, Any]) -> dict[str, Any]:
    """The given options as changes to a plan; what was not given changes nothing."""
    budget = {key: options.get(f"limit_{key}") for key in ("calls", "usd", "tokens", "seconds")}
    experiment = {key: options.get(key) for key in ("attribute", "texts", "rule")}
    run = {key: options.get(key) for key in ("store", "engine", "workers", "scheduler", "shared")}
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

    load_environment()
    if target is None or Path(target).suffix == ".toml" or Path(target).is_file():
        return load_plan(Path(target) if target else DEFAULT_PLAN, changes(options))
    if Path(target).is_dir() and (Path(target) / "plan.toml").is_file():
        return load_plan(Path(target) / "plan.toml", changes(options))
    return load_plan(service_plan(target, options), changes(options))


def service_plan(target: str, options: dict[str, Any]) -> dict[str, Any]:
    """A plan for one service: one of ./trustgauge.toml, `provider/model`, or `provider` alone."""
    from trustgauge import plugins
    from trustgauge.errors import Fault, PlanError

    experiment = {"method": options.get("method") or "two-step", "services": [target]}
    provider, _, model = target.partition("/")
    if not model and DEFAULT_PLAN.is_file():
        from trustgauge.plan import read_plan

        known = read_plan(DEFAULT_PLAN)[1].get("services", {})
        if target in known:
            return {"name": target, "services": {target: known[target]}, "experiments": [experiment]}
        if target not in plugins.names("services"):
            raise PlanError((plugins.unknown("SERVICE", "plan or service", target, tuple(known)),))
    try:
        description = plugins.load("services", provider, "SERVICE").named(model)
    except ValueError as error:
        raise PlanError((Fault("SERVICE", f'no service "{target}"', must=SHORT, got=str(error)),)) from None
    settings = description.model_dump(mode="json", exclude_unset=True) | {"use": provider}
    return {"name": target, "services": {target: settings}, "experiments": [experiment]}


def load_environment() -> None:
    """Read `.env` from the working folder upwards; what is set already stays."""
    from dotenv import find_dotenv, load_dotenv

    load_dotenv(find_dotenv(usecwd=True), override=False)


def emit_json(value: Any) -> None:
    """Exactly one JSON document on stdout."""
    click.echo(json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True))


def say(lines: Any, options: dict[str, Any], *, err: bool = False) -> None:
    """Print lines of `reports.text`: coloured in a terminal, plain in a pipe."""
    from trustgauge.reports import text

    stream = sys.stderr if err else sys.stdout
    if options.get("no_color") or os.environ.get("NO_COLOR") or not stream.isatty():
        click.echo(text.plain(lines), err=err)
        return
    from rich.console import Console

    Console(stderr=err, highlight=False, soft_wrap=True).print(text.coloured(lines))
