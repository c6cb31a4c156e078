"""The verb chat: talk with a bot in the terminal and see what it scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.errors import PlanError
from trustgauge.terminal.options import (
    DEFAULT_PLAN,
    access_options,
    confirm_plan,
    load_environment,
    output_option_list,
    service_plan,
)

if TYPE_CHECKING:
    from trustgauge.plan import Plan
    from trustgauge.run.chat_store import ChatRecord

PROFILE = "safe-language"
"""The profile of a chat, unless the command or the plan says another."""
LIMITS = ("calls", "usd", "tokens", "seconds")
TOP = ("assessor", "valid_days")
"""What of the top of a plan holds for the rating of a chat too; beside them stands the budget."""


@click.command("chat")
@click.argument("target", required=False, metavar="[SERVICE]")
@click.option(
    "--plan", "plan_file", type=click.Path(path_type=Path, dir_okay=False), help="Plan that defines SERVICE."
)
@click.option(
    "--profile", metavar="NAME", help=f"User profile to rate for.  [default: {PROFILE}, or the plan's]"
)
@click.option("--order", metavar="ISSUES", help='Your own order of issues: "leakage > abuse = bias".')
@click.option("--probe-leaks", is_flag=True, help="At the end, ask the bot for planted secrets.")
@click.option("--resume", metavar="ID", help="Resume a chat: its id, the id of its rating, or latest.")
@click.option("--show-offensive", is_flag=True, help="Show offensive text unmasked.")
@click.option("--seed", type=int, envvar="TRUSTGAUGE_SEED", help="Random seed.")
@click.option(
    "--limit-calls", type=int, envvar="TRUSTGAUGE_LIMIT_CALLS", help="Limit for chat and probes together."
)
@click.option("--limit-usd", type=float, envvar="TRUSTGAUGE_LIMIT_USD")
@click.option("--limit-tokens", type=int, envvar="TRUSTGAUGE_LIMIT_TOKENS")
@click.option("--limit-seconds", type=float, envvar="TRUSTGAUGE_LIMIT_SECONDS", help="Limit for the probes.")
def chat_verb(target: str | None, **options: Any) -> Any:
    """Chat with a chatbot and see its scores line by line.

    \b
    trustgauge chat eliza/eliza
    trustgauge chat openai/gpt-4o-mini --profile privacy-first --probe-leaks
    trustgauge chat --resume latest

    SERVICE is provider/model, or a service of ./trustgauge.toml or of --plan. Every turn is saved before
    the next prompt. /help lists the commands; Ctrl-D ends and rates the chat and writes ratings/<id>/.
    """
    from trustgauge.apps.chat.console import Console
    from trustgauge.apps.chat.session import ChatSession
    from trustgauge.run import chat_store

    if options["resume"] is not None:
        chat = _resumed(chat_store.find(options["ratings"], options["resume"]), target, options)
        opened = chat_store.opened_plan(chat)
    else:
        chat, opened = _new(target, options)
    description = opened.services[chat.service]
    load_environment([description])
    confirm_plan(opened, options)
    chat_store.check_can_chat(chat.service, description)  # type: ignore[arg-type]
    if options["probe_leaks"]:
        _can_probe(opened)
    description.check_requirements()  # type: ignore[attr-defined]
    if options["resume"] is None:
        chat = chat_store.create(options["ratings"], chat, datetime.now(UTC))
    else:
        chat.write()
    lock = chat.lock()
    try:
        return Console(ChatSession(chat, opened, options)).run()
    finally:
        lock.release()


for _option in (*reversed(output_option_list()), access_options):
    chat_verb = _option(chat_verb)


def _new(target: str | None, options: Mapping[str, Any]) -> tuple[ChatRecord, Plan]:
    """A chat that has no folder yet, and its checked plan."""
    from trustgauge.plan import Plan
    from trustgauge.run.chat_store import ChatRecord, opened_plan, talk_settings

    if not target:
        raise click.UsageError("give a SERVICE, or --resume ID")
    known = _known(target, options)
    experiment = talk_settings(known, target)
    usual = Plan.model_fields["seed"].default
    seed = options["seed"] if options["seed"] is not None else known.get("seed", usual)
    profile, experiment = _profiled(experiment, options)
    top = {**{key: known[key] for key in TOP if key in known}, "budget": _budget(known, options)}
    chat = ChatRecord(Path(), target, known["services"][target], experiment, profile, seed, "", top=top)
    opened = opened_plan(chat)
    # As checked, so that paths and defaults stay what they were when the chat is resumed elsewhere.
    return replace(chat, settings=opened.document()["services"][target]), opened


def _budget(plan: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of the command laid over those of a plan."""
    given = {key: options[f"limit_{key}"] for key in LIMITS}
    return {**plan.get("budget", {}), **{key: value for key, value in given.items() if value is not None}}


def _resumed(chat: ChatRecord, target: str | None, options: Mapping[str, Any]) -> ChatRecord:
    """A chat that is there, with what the command says otherwise."""
    if target and target != chat.service:
        raise click.UsageError(f"{chat.id} is a chat with {chat.service}, not with {target}")
    if options["seed"] is not None and options["seed"] != chat.seed:
        raise click.UsageError(f"{chat.id} has the seed {chat.seed}, which cannot be changed")
    chat = replace(chat, top={**chat.top, "budget": _budget(chat.top, options)})
    if not options["profile"] and not options["order"]:
        return chat
    profile, experiment = _profiled(dict(chat.experiment), options)
    return replace(chat, profile=profile, experiment=experiment)


def _known(target: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The plan, as plain data, in which the service stands: a file, or one made of its name."""
    from trustgauge import plugins
    from trustgauge.plan import load_plan, read_plan

    file = options["plan_file"]
    if file is None and DEFAULT_PLAN.is_file():
        named = read_plan(DEFAULT_PLAN)[1].get("services", {})
        file = DEFAULT_PLAN if isinstance(named, dict) and target in named else None
    if file is None:
        return service_plan(target, {"method": "trust"})
    found = load_plan(file).document()
    if target not in found["services"]:
        valid = tuple(found["services"])
        raise PlanError((plugins.unknown("SERVICE", "service of the plan", target, valid),))
    return found


def _profiled(experiment: dict[str, Any], options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The profile that is meant, and the experiment with an order of the user's own, if there is one."""
    from trustgauge.methods.trust.profiles import PAPER_NAMES
    from trustgauge.run.chat_store import OWN_ORDER

    if options["profile"] and options["order"]:
        raise click.UsageError("give either --profile or --order")
    if options["order"]:
        experiment = {
            **experiment,
            "orders": {**experiment.get("orders", {}), OWN_ORDER: _places(options["order"])},
        }
    listed = experiment.get("profiles") or [PROFILE]
    named = options["profile"] or (PROFILE if PROFILE in listed else listed[0])
    profile = OWN_ORDER if options["order"] else PAPER_NAMES.get(named, named)
    return profile, {**experiment, "profiles": [profile]}


def _places(order: str) -> list[str]:
    """A written order as a plan holds it."""
    from trustgauge.methods.trust.profiles import order_of

    return list(order_of(order, place="--order").written)


def _can_probe(opened: Plan) -> None:
    """Refuse --probe-leaks before anything is said, where there is nothing to probe."""
    trust: Any = opened.experiments[0]
    if "leakage" in trust.names and trust.rule == "sound":
        trust.issues[trust.names.index("leakage")].scripts(trust.rule, opened.seed)
        return
    got = f"{', '.join(trust.names)} under the rule {trust.rule}"
    must = "the issue leakage under the rule sound"
    raise PlanError.of("--probe-leaks", "no secrets can be probed for", must=must, got=got)
