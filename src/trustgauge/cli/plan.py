"""The verb plan: what a run would send, cost, take and find."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.errors import TrustgaugeError
from trustgauge.terminal.options import plan_of, plan_options
from trustgauge.terminal.output import (
    asking_experiments,
    best_cases,
    emit_json,
    judge_lines,
    plan_facts,
    say,
    simulated_effects,
)

if TYPE_CHECKING:
    from trustgauge.run.options import AskPlan

RUNS = 50  # folders that are looked into, the newest first


@click.command("plan")
@click.argument("target", required=False, metavar="[PLAN or SERVICE]")
@click.option("--fresh", is_flag=True, help="Estimate as if no answers were stored.")
@plan_options
def plan_verb(target: str | None, fresh: bool, **options: Any) -> None:
    """Estimate calls, cost, time and the smallest detectable effect. Sends no requests.

    \b
    trustgauge plan trustgauge.toml
    """
    from trustgauge.methods import DESIGN_EFFECTS, PowerAtDesignEffect
    from trustgauge.reports import terminal
    from trustgauge.run.options import RunOptions
    from trustgauge.run.prepare import forecast, missing_keys, prepare
    from trustgauge.run.targets import looks_of

    run_options = RunOptions(ratings=options["ratings"], fresh=fresh)
    ask_plan = prepare(plan_of(target, options), run_options, needs_keys=False)
    estimate = forecast(ask_plan, run_options)
    finds = simulated_effects(ask_plan, range(len(ask_plan.methods)), options)
    too_small = best_cases(ask_plan, range(len(ask_plan.methods)), options)
    if options["as_json"]:
        data = {"plan": ask_plan.plan.hash, "estimate": asdict(estimate), "finds": list(finds.values())}
        notes = [{"code": one.code, "facts": dict(one.facts)} for one in too_small.values()]
        emit_json({**data, "notes": notes})
        return
    facts = []
    for index in asking_experiments(ask_plan):
        found, deff, run = finds[index], 0.0, ""
        method = ask_plan.methods[index]
        if isinstance(method, PowerAtDesignEffect):
            deff, run = measured_design_effect(ask_plan, index, options["ratings"])
        others: dict[float, float | None] = {
            at: found[f"deff_{at}"] for at in DESIGN_EFFECTS[1:] if f"deff_{at}" in found
        }
        if found and deff and isinstance(method, PowerAtDesignEffect):
            found = {"deff_1": method.power_at(ask_plan.plan.seed, deff)}
        mine = plan_facts(ask_plan, estimate, index, found, effects=others, measured=(deff, run))
        facts.append(replace(mine, best_case=too_small.get(index)))
    say(terminal.plan(facts), options)
    for index in asking_experiments(ask_plan):
        if number := looks_of(ask_plan.methods[index]):
            share = ask_plan.methods[index].expected_calls(ask_plan.plan.seed)  # type: ignore[attr-defined]
            say([terminal.looks(number, share, estimate.calls + estimate.kept + estimate.shared)], options)
    for line in judge_lines(estimate):
        say([line], options)
    for over in estimate.over(ask_plan.plan.budget.model_dump()):
        say([terminal.line("limit", over, "warn")], options)
    for error in missing_keys(ask_plan, run_options):
        say([terminal.line("missing", f"{error.what}; `rate` stops without it", "warn")], options)


def measured_design_effect(prepared: AskPlan, index: int, ratings: Path) -> tuple[float, str]:
    """The largest design effect of an experiment's services in the newest run that has one (methods 0.8).

    A run counts if it rated one of the services by the same method, rule and attribute; a pilot is such a
    run with fewer texts.

    Returns:
        The design effect, at least 1 and rounded up to a tenth, and the id of the run; (0, "") if none.
    """
    from trustgauge.catalogue import read, run_folders

    method = prepared.methods[index]
    services = {one.service for one in prepared.targets if one.experiment == index and one.control is None}
    for folder in list(run_folders(ratings))[:RUNS]:
        try:
            document = read(folder)
        except (TrustgaugeError, OSError):
            continue
        found = [
            float(one)
            for rating in document["ratings"]
            if rating["service"]["key"] in services
            and (rating["method"]["name"], rating["method"]["rule"]) == (method.name, method.rule)
            and rating["issue"]["attribute"] == method.issue
            for part in rating["parts"]
            for one in part["details"].get("deff") or ()
        ]
        if found:
            return max(1.0, -(-max(found) * 10 // 1) / 10), str(document["run"]["id"])
    return 0.0, ""
