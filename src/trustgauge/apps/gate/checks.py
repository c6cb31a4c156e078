"""The checks of a gate: each passes, fails, or cannot tell.

A check passes or fails only on evidence that settles it: a regression fails the gate if it is found at the
gate's error (Holm over all metrics), and passes it if one as large as the margin is ruled out at 95 %. All
else is unsettled, and says what would settle it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from trustgauge.catalogue import find_folder, read, select_rating
from trustgauge.data.results import ResultTable, is_results, read_results
from trustgauge.errors import PlanError, raise_faults
from trustgauge.plugins import unknown
from trustgauge.reports import comparison, label, numbers, paired, sanitize, sentences
from trustgauge.reports.comparison_model import (
    ExampleEntry,
    MetricDifference,
    RatingDifference,
    ReadingsEntry,
)
from trustgauge.reports.document import check_gate_levels, gate, gate_level, words_by_level
from trustgauge.run.paired_ratings import compare_ratings
from trustgauge.run.paired_results import (
    ERROR,
    LOST,
    MARGIN,
    compare_results,
    fill_gaps,
    items_of,
    metric_scale,
)
from trustgauge.stats import stream
from trustgauge.stats.paired import FEWEST, PairedDifference, paired_difference
from trustgauge.terminal.output import ORDER, WORDS, Exit

Outcome = Literal["passed", "failed", "unsettled", "incomplete", "void"]
CODES: Mapping[Outcome, int] = {"passed": 0, "failed": 10, "unsettled": 5, "incomplete": 4, "void": 1}
"""Exit code of each outcome (docs/reference/commands.md)."""
BY_REASON: Mapping[str, Outcome] = {
    "gate.passed": "passed",
    "gate.level": "failed",
    "gate.incomplete": "incomplete",
}
"""Outcome of a rating's own gate; all other reasons are unsettled."""
SAID: Mapping[Outcome, str] = {
    "passed": "passed",
    "failed": "gate failed",
    "unsettled": "cannot tell",
    "incomplete": "incomplete",
    "void": "void run",
}


SCORED = ("up", "down")
"""Directions of an answer that is a score."""
THRESHOLD_STEPS: Mapping[Outcome, str] = {
    "unsettled": "Add items: the limit lies inside the interval.",
    "incomplete": "Evaluate the items that have no value again.",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One question that a gate asked.

    Attributes:
        about: what was checked: a service, a system.
        name: of the check, the same in every run.
        kind: level, certainty, regression or threshold.
        outcome: of the check.
        sentence: the sentence that decided.
        following: what to do next, "" if nothing.
        examples: rows that speak for a failure, in words.
    """

    about: str
    name: str
    kind: str
    outcome: Outcome
    sentence: str
    following: str = ""
    examples: tuple[str, ...] = ()


class GateOptions(BaseModel):
    """What a gate asks.

    Attributes:
        against: baseline, "" for none.
        fail_on: levels as in `rate --fail-on`: LEVEL (letters or words), METHOD:LEVEL or "worst".
        need_certainty: of every rating, and by method.
        at_least: metric -> smallest mean that passes; at most, where lower is better.
        margin: smallest regression that matters, as a share of the scale.
        error: chance of failing an unchanged system, over all metrics.
        only: metrics or services that are checked; none for all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    against: str = ""
    fail_on: Sequence[str] = ()
    need_certainty: Mapping[str, Annotated[float, Field(gt=0, lt=1)]] = {}
    at_least: Mapping[str, float] = {}
    margin: float = Field(MARGIN, gt=0, le=1)
    error: float = Field(ERROR, ge=0.0001, le=0.2)
    only: Sequence[str] = ()


def checks(target: str, ratings: Path, options: GateOptions, today: date) -> list[Check]:
    """The checks of a run or of imported results, in order.

    Args:
        target: a run, a rating, or a folder of imported results.
        ratings: folder of all runs.
        options: what is asked.
        today: for what has expired.

    Raises:
        PlanError: nothing is asked, or what is asked does not fit the target.
    """
    imported = is_results(target)
    if imported and (options.fail_on or options.need_certainty):
        what = "levels and certainty belong to ratings, not to imported results"
        raise PlanError.of("--fail-on", what, must="--against or --at-least")
    if not imported and options.at_least:
        raise PlanError.of("--at-least", "metrics belong to imported results", must="--fail-on LEVEL")
    if options.against and is_results(options.against) != imported:
        find_folder(options.against if imported else target, ratings)  # which says so if there is no such run
        kinds = ["a run", "imported results"]
        must, got = (f"{kinds[imported]}, as {target} is", f"{kinds[not imported]}: {options.against}")
        raise PlanError.of("--against", "the baseline is of another kind", must=must, got=got)
    found = _of_results(target, options) if imported else _of_ratings(target, ratings, options, today)
    if not found:
        must = "--against, --fail-on, --need-certainty or --at-least"
        raise PlanError.of("gate", "there is nothing to check", must=must)
    return found


def exit_of_checks(found: Sequence[Check]) -> Exit:
    """The exit of a gate: of several codes the first of ORDER, its sentence, then what else did not pass."""
    code = min((CODES[one.outcome] for one in found), key=ORDER.index)
    matching = [one for one in found if CODES[one.outcome] == code]
    if not code:
        return Exit(0, WORDS[0])
    more = f" (and {len(matching) - 1} more)" if len(matching) > 1 else ""
    said = [f"{SAID[matching[0].outcome]}: {matching[0].name}: {matching[0].sentence}{more}"]
    for outcome in ("failed", "unsettled"):
        names = [one.name for one in found if one.outcome == outcome and CODES[outcome] != code]
        said += [f"{SAID[outcome]}: {', '.join(names)}"] if names else []
    return Exit(code, "; ".join(said))


def _of_results(target: str, options: GateOptions) -> list[Check]:
    after = read_results(target)
    _check_names("--only", "metric", options.only, after.metrics)
    _check_names("--at-least", "metric", options.at_least, after.metrics)
    found = [_threshold(after, metric, limit) for metric, limit in options.at_least.items()]
    if options.against:
        compared = compare_results(read_results(options.against), after, options.margin, options.error)
        found += [_regression(after.system, one, options) for one in compared["metrics"]]
        found += [_unpaired(after.system, name) for name in compared["unpaired"]]
    return [one for one in found if not options.only or one.name.partition(": ")[2] in options.only]


def _check_names(place: str, kind: str, named: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a name that the target does not have, since a check that nobody made looks as if it passed."""
    valid = tuple(dict.fromkeys(known))
    raise_faults([unknown(place, kind, one, valid) for one in named if one not in valid])


def _regression(about: str, one: MetricDifference, options: GateOptions) -> Check:
    """A metric against its baseline."""
    lowest = min(each["low_90"] for each in (one, *(one["filled"] or ())))
    ruled_out = one["clusters"] >= FEWEST and lowest > -options.margin * one["span"]
    outcome: Outcome = "unsettled"
    if one["verdict"] == "incomplete":
        outcome = "incomplete"
    elif one["verdict"] == "worse":
        outcome = "failed"
    elif one["verdict"] in ("better", "same") or ruled_out:
        outcome = "passed"
    said = paired.sentence(one)
    if outcome == "passed" and one["verdict"] == "undetermined":
        least = paired.amount(options.margin * one["span"], one["span"])
        said = f"No regression of {least}. {said}"
    step = paired.following(one, options.error) if outcome != "passed" else ""
    if outcome == "failed":
        step = "Look at the rows that became worse; if the change is meant, make this run the baseline."
    rows = tuple(
        f"{each['label'] or each['item']}: {each['before']:.3g} → {each['after']:.3g}"
        for each in one["flips"]["worse"]["examples"]
    )
    return Check(about, f"regression: {paired.name(one)}", "regression", outcome, said, step, rows)


def _unpaired(about: str, metric: str) -> Check:
    """A metric of the baseline that the new one has no value of: everything is missing."""
    said, step = paired.MESSAGES["unpaired"], paired.MESSAGES["next-incomplete"]
    return Check(about, f"regression: {sanitize.visible(metric)}", "regression", "incomplete", said, step)


def _threshold(table: ResultTable, metric: str, limit: float) -> Check:
    """The mean of a metric against a limit; above 2 % missing values all fillings must give the outcome."""
    items = items_of(table.rows.filter(metric=metric))
    known = items.drop_nulls("value")
    facts = table.metrics[metric]
    name = f"threshold: {metric}"
    if not known.height:
        return Check(table.system, name, "threshold", "incomplete", "No item has a value.")
    difference, outcome = _against_limit(known, facts, limit)
    higher = facts["better"] == "higher"
    ends = sorted(limit + (end if higher else -end) for end in (difference.low, difference.high))
    side = "at least" if higher else "at most"
    mean = float(known["value"].mean())  # type: ignore[arg-type]
    said = f"Mean {mean:.3g} (95 %: {ends[0]:.3g} to {ends[1]:.3g}), {side} {limit:g} asked; "
    said += f"{paired.counted_items(difference.items)}."
    values, there = int(items["due"].sum()), int(items["runs"].sum())
    if there < values:
        said += f" {values - there:,} of {values:,} values are missing."
    if values - there > LOST * values:
        filled = [
            _against_limit(items.with_columns(value=fill_gaps(items, end)), facts, limit)[1]
            for end in metric_scale(facts)
        ]
        outcome = outcome if set(filled) == {outcome} else "incomplete"
    step = THRESHOLD_STEPS.get(outcome, "")
    if outcome == "unsettled" and difference.clusters < FEWEST:
        step = paired.lacking_clusters(difference.clusters)
    return Check(table.system, name, "threshold", outcome, said, step)


def _against_limit(
    items: pl.DataFrame, facts: Mapping[str, Any], limit: float
) -> tuple[PairedDifference, Outcome]:
    """How far the mean of the items lies on the right side of a limit, and what that says."""
    apart = (items["value"] - limit).to_numpy() * (1 if facts["better"] == "higher" else -1)
    span = (
        (facts["high"] - facts["low"])
        if facts["high"] is not None
        else max(1.0, (facts["most"] or 0) - (facts["least"] or 0))
    )
    of = items["cluster"].rank("dense").to_numpy() - 1
    difference = paired_difference(apart, of, span, stream(1, "gate", "limit"))
    if difference.clusters < FEWEST:
        return difference, "unsettled"
    return difference, "passed" if difference.low > 0 else "failed" if difference.high < 0 else "unsettled"


def _of_ratings(target: str, ratings: Path, options: GateOptions, today: date) -> list[Check]:
    document = select_rating(read(find_folder(target, ratings)), target)
    found = []
    if document["run"]["state"] == "void":
        wrong = ", ".join(dict.fromkeys(one["name"] for one in document["run"]["anchors"] if one["wrong"]))
        said = f"{wrong} got a wrong level, so our instrument is at fault."
        found.append(
            Check(document["run"]["id"], "control services", "level", "void", said, "Please report it.")
        )
    if document["ratings"]:  # a void run has none, and no name could be right
        found += _levels(document["ratings"], options)
    if options.against:
        compared = compare_ratings(ratings, options.against, target, today, options.error, options.margin)
        pairs = compared["ratings"]
        found += [
            _worse(one, options)
            for one in pairs
            if not options.only or one["after"]["rating"]["service"]["name"] in options.only
        ]
    return found


def _levels(ratings: Sequence[Any], options: GateOptions) -> list[Check]:
    """The levels and certainties of the ratings of a run; names that none of them has are refused."""
    _check_names("--only", "service", options.only, (one["service"]["name"] for one in ratings))
    gated = [one for one in ratings if not options.only or one["service"]["name"] in options.only]
    check_gate_levels([(one["method"]["name"], words_by_level(one)) for one in gated], options.fail_on)
    certain = filter(None, options.need_certainty)
    _check_names("--need-certainty", "method", certain, (one["method"]["name"] for one in gated))
    return [check for rating in gated for check in _level(rating, options)]


def _level(rating: Any, options: GateOptions) -> list[Check]:
    """The level and the certainty of one rating, if they are asked for."""
    method = rating["method"]["name"]
    limit = gate_level(options.fail_on, method, words_by_level(rating))
    need = options.need_certainty.get(method, options.need_certainty.get(""))
    if limit is None and need is None:
        return []
    check = gate(rating, limit, need)
    outcome = BY_REASON.get(check["reason"], "unsettled")
    asked = [f"level: better than {limit}" if limit else "", f"certainty: {need:g}" if need else ""]
    said = sentences.verdict(rating)
    if check["reason"] == "gate.certainty":
        said = f"Certainty is below {need:g}. {said}"
    step = ""
    if outcome != "passed":
        step = "See the report for what went wrong, with the sentences."
    if outcome in ("incomplete", "unsettled"):
        step = sentences.next_step(rating)
    name = f"{', '.join(filter(None, asked))}: {label.subject(rating, versioned=False)}"
    return [Check(rating["service"]["name"], name, "level", outcome, said, step)]


def _worse(one: RatingDifference, options: GateOptions) -> Check:
    """A rating against its baseline."""
    by_verdict: dict[str, Outcome] = {"worse": "failed", "better": "passed", "same": "passed"}
    outcome = by_verdict.get(one["verdict"], "unsettled")
    now = one["after"]["rating"]
    if now["state"] == "incomplete":
        outcome = "incomplete"
    step = sentences.next_step(now) if outcome == "incomplete" else paired.following(one, options.error)
    if outcome == "failed":
        step = "Compare the two reports; if the change is meant, make this run the baseline."
    rows = tuple(
        f"{each['sent']}: {_answer(each, 'before')} → {_answer(each, 'after')}"
        for each in _examples_of_harm(one["readings"])
    )
    return Check(
        now["service"]["name"],
        f"regression: {sanitize.visible(label.subject(now, versioned=False))}",
        "regression",
        outcome,
        paired.sentence(one),
        step,
        rows[:5],
    )


def _answer(one: ExampleEntry, side: Literal["before", "after"]) -> str:
    """An answer as a row shows it: of a score that moved, the first digits; hidden if it may offend."""
    answer = one[side]
    if one["offensive_before" if side == "before" else "offensive_after"]:
        return comparison.HIDDEN
    if one["direction"] not in SCORED or answer is None:
        return answer or numbers.NONE
    try:
        return f"{float(answer):.3g}"
    except ValueError:
        return answer


def _examples_of_harm(readings: ReadingsEntry | None) -> list[ExampleEntry]:
    """Texts that may be shown of what changed: those that went wrong, else those of which nobody can tell."""
    shown = [one for one in (readings["examples"] if readings else []) if not one["offensive"]]
    wrong = [one for one in shown if one["direction"] == "wrong"]
    return wrong or [one for one in shown if one["direction"] != "right"]
