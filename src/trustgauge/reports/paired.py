"""A paired comparison in words: what changed, how sure that is, and which rows flipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trustgauge.reports import label, numbers, sanitize, terminal
from trustgauge.stats.paired import FEWEST

if TYPE_CHECKING:
    from trustgauge.reports.comparison_model import (
        MetricDifference,
        PairedDocument,
        PairedEntry,
        RatingDifference,
    )
    from trustgauge.reports.terminal import Line

WORDS = {
    "worse": "worse",
    "better": "better",
    "same": "same",
    "undetermined": "cannot tell",
    "incomplete": "too much is missing",
}
"""Verdicts in words."""


def amount(value: float, span: float) -> str:
    """A difference in words: points where the scale runs from 0 to 1, else a number.

    >>> amount(-0.125, 1.0), amount(0.5, 4.0)
    ('12.5 points', '0.5')
    """
    if span == 1.0:
        return f"{abs(100 * value):.1f} points"
    return f"{abs(value):.3g}"


def sentence(one: PairedEntry) -> str:
    """What one metric or rating says, whole."""
    return _of_metric(one) if "metric" in one else _of_rating(one)


def name(one: PairedEntry) -> str:
    """What was compared: a metric, or a service and what it was rated for."""
    if "metric" in one:
        return sanitize.visible(str(one["metric"]))
    rating = one["after"]["rating"]
    return sanitize.visible(f"{label.service(rating)}, {label.issue(rating)}")


def _of_metric(one: MetricDifference) -> str:
    span, value = one["span"], one["difference"]
    shift = {"worse": "Worse by", "better": "Better by"}.get(one["verdict"])
    if shift is None:
        moved = "worse" if value < 0 else "better"
        apart = f"{amount(value, span)} {moved}" if round(value, 12) else "no difference seen"
        shift = {
            "same": f"The same within the margin ({apart})",
            "incomplete": f"Cannot tell: {one['missing']:,} pairs without a value could decide it ({apart})",
        }.get(one["verdict"], f"Cannot tell ({apart})")
    else:
        shift = f"{shift} {amount(value, span)}"
    ends = sorted((one["low"], one["high"]))
    scale = 100 if span == 1.0 else 1
    interval = f"95 %: {scale * ends[0]:+.3g} to {scale * ends[1]:+.3g}, above 0 is better"
    found = f"{shift}; {interval}; {numbers.p_value(one['p_holm'])} after Holm."
    flips = one["flips"]
    worse, better = (flips[side]["items"] for side in ("worse", "better"))
    return f"{found} {worse:,} of {one['items']:,} items worse, {better:,} better."


def _of_rating(one: RatingDifference) -> str:
    then, now = (one[side]["rating"] for side in ("before", "after"))
    levels = f"{label.outcome(then)} → {label.outcome(now)}"
    if one["why"]:
        return f"{levels}. The runs cannot be subtracted: {one['why']}."
    apart = (
        f"badness {one['difference']:+.3g} (95 %: {one['low']:+.3g} to {one['high']:+.3g}, below 0 is better)"
    )
    read = one["readings"]
    flipped = f" {read['flipped']:,} of {read['compared']:,} answers changed." if read else ""
    verdict = WORDS[one["verdict"]]
    sure = f"{numbers.p_value(one['p_holm'])} after Holm"
    return f"{levels}. {verdict[0].upper()}{verdict[1:]}: {apart}; {sure}.{flipped}"


def following(one: PairedEntry, error: float) -> str:
    """What would settle it; "" if it is settled."""
    if one["verdict"] == "incomplete":
        return "Evaluate the items that have no value again."
    if one["verdict"] != "undetermined":
        return ""
    if "metric" not in one:
        return "Rate both with more texts." if not one["why"] else "Rate both by one plan and seed."
    more = one["more_items"]
    if one["clusters"] < FEWEST:
        lacking = FEWEST - one["clusters"]
        return f"At least {lacking} more clusters of items: so few do not show how much items differ."
    if more is None:
        return "It lies about the margin: add items, or say a margin that matters more."
    return f"About {more:,} more items would find a difference of the margin 8 times in 10."


def notes(one: PairedEntry) -> list[str]:
    """What must be said beside a metric: missing pairs, lonely items, clusters, noise."""
    if "metric" not in one:
        return []
    told = [f"{one['items']:,} items in {one['clusters']:,} clusters, {one['better']} is better"]
    if one["missing"]:
        told.append(f"{one['missing']:,} pairs without a value")
    lonely = one["only_before"] + one["only_after"]
    if lonely:
        told.append(f"{lonely:,} items in one of the two only")
    noise = one["noise"]
    floors = [each for each in (noise["before"], noise["after"]) if each is not None]
    if floors:
        told.append(f"noise floor ±{amount(1.96 * max(floors), one['span'])} between two runs of one system")
    else:
        told.append("noise floor unknown: one run an item")
    return told


def rows(document: PairedDocument) -> Sequence[PairedEntry]:
    """The metrics or ratings of a comparison."""
    return document["metrics"] if document["kind"] == "results" else document["ratings"]


def text(document: PairedDocument) -> list[Line]:
    """The comparison for a terminal."""
    head = f"{document['before']['name']} → {document['after']['name']}"
    lines = [terminal.line("paired", sanitize.terminal(head))]
    for one in rows(document):
        lines.append(terminal.line("", ""))
        lines.append(
            terminal.line(
                WORDS[one["verdict"]].split()[0], sanitize.terminal(f"{name(one)}: {sentence(one)}")
            )
        )
        lines += [terminal.line("", note) for note in ["; ".join(notes(one))] if note]
        for side, example in _examples(one):
            lines.append(terminal.line("", sanitize.terminal(f"{side}: {example}")))
        if step := following(one, document["error"]):
            lines.append(terminal.line("next", step))
    if document["kind"] == "results" and document["unpaired"]:
        lines.append(
            terminal.line("note", f"not paired: {', '.join(map(sanitize.terminal, document['unpaired']))}")
        )
    return lines


def _examples(one: PairedEntry) -> list[tuple[str, str]]:
    if "metric" not in one:
        return []
    return [
        (side, f"{each['label'] or each['item']}  {each['before']:.3g} → {each['after']:.3g}")
        for side in ("worse", "better")
        for each in one["flips"][side]["examples"][:3]
    ]
