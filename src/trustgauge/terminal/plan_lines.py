"""Lines that describe a plan before it runs: targets, calls, cost, time and the smallest effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trustgauge.reports.terminal import PlanFacts
    from trustgauge.run.estimate import Estimate
    from trustgauge.run.options import AskPlan


def judge_lines(estimate: Estimate) -> list[Any]:
    """A line for each second judge: how often it will be asked, at most."""
    from trustgauge.reports import numbers, terminal

    lines = []
    for one in estimate.judging:
        calls, further = numbers.count(one.calls), numbers.count(one.further)
        said = f"of these calls, {calls} to {one.service}"
        if one.refer == "all":
            said += " at most, as equal answers are judged once"
        elif one.further:
            said += (
                f"; and {further} more at most ({numbers.usd(one.most_usd - one.usd)}), if no answer can be "
                "read by rule"
            )
        lines.append(terminal.line("judge", said))
    return lines


def asking_experiments(prepared: AskPlan) -> list[int]:
    """The experiments that ask somebody."""
    return list(dict.fromkeys(one.experiment for one in prepared.targets if one.control is None))


def simulated_effects(
    prepared: AskPlan, experiments: Iterable[int], options: dict[str, Any]
) -> dict[int, Any]:
    """What each experiment can find; a terminal shows what is simulated, since that can take seconds."""
    from trustgauge.terminal.progress import working

    found = {}
    with working(options) as show:
        for index in experiments:
            method = prepared.methods[index]
            show(f"Simulating what this plan can find: {method.name}")
            found[index] = method.power(prepared.plan.seed)
    return found


def plan_facts(prepared: AskPlan, estimate: Estimate, index: int, finds: Any) -> PlanFacts:
    """What the plan lines say of one experiment."""
    from trustgauge.reports.terminal import PlanFacts
    from trustgauge.run.probe_batches import count_blocks

    method = prepared.methods[index]
    mine = [one for one in prepared.targets if one.experiment == index and one.control is None]
    by_service = dict.fromkeys(one.service for one in mine)
    found = [count_blocks(prepared.probes, place) for place in prepared.probes if place[0] == index]
    return PlanFacts(
        services=list(by_service),
        method=method.name,
        attribute=method.issue,
        blocks=max(found),
        texts=method.texts,
        rule=method.rule,
        calls=estimate.calls,
        kept=estimate.kept,
        seconds=estimate.seconds,
        usd=estimate.usd,
        parts=max(len({one.part for one in mine if one.service == name}) for name in by_service),
        effect=(finds or {}).get("deff_1"),
        limit_usd=prepared.plan.budget.usd,
        tokens=estimate.tokens,
        unpriced=estimate.unpriced,
        untimed=estimate.untimed,
        timed_in=estimate.timed_in,
    )
