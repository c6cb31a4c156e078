"""A paired comparison in words: what changed, how sure that is, and which rows flipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from trustgauge.reports import comparison, label, numbers, sanitize, terminal
from trustgauge.reports.comparison_model import (
    NO_DIFFERENCE,
    OTHER_TEXTS,
    IssuesEntry,
    MetricDifference,
    PairedDocument,
    PairedEntry,
    RatingDifference,
    ReadingsEntry,
)
from trustgauge.reports.components import COMMON, view_of
from trustgauge.reports.document import levels
from trustgauge.reports.sentences import STEPS, next_step
from trustgauge.reports.terminal import Line
from trustgauge.stats.paired import FEWEST

WORDS = COMMON.table("paired-verdicts")
"""Verdicts in words."""
SIDES: tuple[Literal["after", "before"], ...] = ("after", "before")
NAMED = 3
"""Items that only one side has, by name."""
HEADS = {**WORDS, **COMMON.table("paired-heads")}
"""What stands before each, a word."""
SHIFTS, MESSAGES = COMMON.table("paired-shifts"), COMMON.table("paired")
BASES = COMMON.table("paired-bases")
"""How a verdict of ratings begins that does not rest on their figure alone."""


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
    return sanitize.visible(label.subject(one["after"]["rating"]))


def _of_metric(one: MetricDifference) -> str:
    span, value = one["span"], one["difference"]
    moved = WORDS["worse" if value < 0 else "better"]
    apart = f"{amount(value, span)} {moved}" if round(value, 12) else MESSAGES["no-difference"]
    shift = SHIFTS.get(one["verdict"], SHIFTS["undetermined"])
    scale = 100 if span == 1.0 else 1
    low, high = sorted((scale * one["low"], scale * one["high"]))
    return MESSAGES["metric"].format(
        shift=shift.format(amount=amount(value, span), apart=apart),
        low=low,
        high=high,
        p=numbers.p_value(one["p_holm"]),
        worse=one["flips"]["worse"]["items"],
        better=one["flips"]["better"]["items"],
        items=counted_items(one["items"]),
        missing=_missing(one),
    )


def _missing(one: MetricDifference) -> str:
    """The values that each side lacks, and the items that only one side has."""
    sides = (("missing-before", one["lost"]["before"]), ("missing-after", one["lost"]["after"]))
    lines = [MESSAGES[name].format(**lost) for name, lost in sides if lost["missing"]]
    for name, count, items in (
        ("only-before", one["only_before"], one["names_before"]),
        ("only-after", one["only_after"], one["names_after"]),
    ):
        if count:
            lines.append(MESSAGES[name].format(count=count, names=_names(items, count)))
    return "".join(lines)


def _names(items: Sequence[str], count: int) -> str:
    names = ", ".join(map(sanitize.visible, items[:NAMED]))
    more = count - len(items[:NAMED])
    return MESSAGES["names-more"].format(names=names, more=more) if more else names


def _of_rating(one: RatingDifference) -> str:
    outcomes = f"{label.outcome(one['before']['rating'])} → {label.outcome(one['after']['rating'])}"
    verdict, read = _begin(one), one["readings"]
    flips = _flips(one, read) if read else ""
    left_out = MESSAGES["labels-left-out"].format(**one) if one["labels"] else ""
    if one["basis"] == "growth":
        return f"{outcomes}. {verdict}{flips}{left_out}"
    if one["basis"] in ("answers", "issues"):
        return f"{outcomes}. {verdict}{flips if one['verdict'] == 'undetermined' else ''}"
    if one["why"]:
        message = MESSAGES["not-subtracted" if one["basis"] == "figure" else "levels-only"]
        return message.format(levels=outcomes, verdict=verdict, why=one["why"], flips=flips)
    return MESSAGES["rating" if one["basis"] == "figure" else "rating-by"].format(
        levels=outcomes,
        verdict=verdict,
        measure=view_of(one["after"]["rating"]).badness.head,
        apart=comparison.reach(
            one["difference"] or 0.0, one["low"], one["high"], one["after"]["rating"]["method"]["name"]
        ),
        p=numbers.p_value(one["p_holm"]),
        flips=flips + left_out,
    )


def _begin(one: RatingDifference) -> str:
    """The verdict as the sentence begins: what it rests on, if not on the figure."""
    read, verdict = one["readings"], WORDS[one["verdict"]]
    basis = one["basis"]
    if basis == "figure" and one["verdict"] == "same" and read and 2 * read["flipped"] > read["compared"]:
        basis = "readings"
    words = BASES.get(f"{one['verdict']}-{basis}", f"{verdict[0].upper()}{verdict[1:]}:")
    if one["growth"] and basis == "growth":
        facts = {**one["growth"], "p_holm": one["p_holm"]}
        return sanitize.FactWords(facts).format(words, **facts)
    return _of_issues(words, one["issues"]) if one["issues"] and basis == "issues" else words


def _of_issues(words: str, issues: IssuesEntry) -> str:
    """What the issues say, and which could not be compared."""
    known = sanitize.FactWords(issues)
    rest = known.format(MESSAGES["issues-unsettled"], **issues) if issues["unsettled"] else ""
    return f"{known.format(words, **issues)}{rest}"


def _flips(one: RatingDifference, read: ReadingsEntry) -> str:
    """How many readings changed; both ways where the level did not."""
    if one["basis"] == "level":
        return MESSAGES["flips"].format(**read)
    return MESSAGES["flips-both-ways"].format(directions=comparison.directions(read))


def following(one: PairedEntry, error: float) -> str:
    """What would settle it; "" if it is settled."""
    if one["verdict"] == "incomplete":
        return MESSAGES["next-incomplete"]
    if one["verdict"] != "undetermined":
        return ""
    if "metric" not in one:
        return _after_rating(one)
    more = one["more_items"]
    if one["clusters"] < FEWEST:
        return lacking_clusters(one["clusters"])
    if more is None:
        return MESSAGES["next-margin"]
    return MESSAGES["next-items"].format(more=more)


def _after_rating(one: RatingDifference) -> str:
    if one["basis"] == "gaps":
        return _of_gaps(one)
    open_ones = [one[side]["rating"] for side in SIDES if one[side]["rating"]["state"] != "rated"]
    if one["basis"] in ("readings", "exchange"):
        settling = f" {next_step(open_ones[0])}" if one["why"] == NO_DIFFERENCE and open_ones else ""
        return MESSAGES["next-readings"] + _by_level(one) + settling
    if one["basis"] == "issues":
        return MESSAGES["next-issues"].format(**{side: one[side]["rating"]["id"] for side in SIDES})
    if one["why"] == NO_DIFFERENCE and one["basis"] == "figure":
        return next_step(open_ones[0]) if open_ones else MESSAGES["next-levels"]
    if one["why"] == OTHER_TEXTS:
        return MESSAGES["next-plan"]
    if one["why"] in ("", NO_DIFFERENCE):
        return MESSAGES["next-texts"]
    return next_step(open_ones[0]) if open_ones else MESSAGES["next-why"]


def _by_level(one: RatingDifference) -> str:
    """That the new level, settled where the old one is not and above the best, can be gated by itself."""
    new, level = one["after"]["rating"], str(one["after"]["rating"]["overall"]["level"])
    if new["state"] != "rated" or level == levels(new)[0] or one["before"]["rating"]["state"] == "rated":
        return ""
    return MESSAGES["next-level"].format(level=level)


def _of_gaps(one: RatingDifference) -> str:
    """What to do about what is missing or unread, of the run that has more of it."""
    found = [one[side]["rating"] for side in SIDES]
    unread = [rating["coverage"].get("unread", 0) + rating["coverage"]["unreadable"] for rating in found]
    worst = found[0] if unread[0] > unread[1] else found[1]
    return (STEPS["unread"] if any(unread) else MESSAGES["next-incomplete"]).format(id=worst["id"])


def lacking_clusters(clusters: int) -> str:
    """How many more clusters there must be for an interval."""
    return _counted("next-clusters", lacking=FEWEST - clusters)


def counted_items(items: int) -> str:
    """How many items: "1 item", "200 items"."""
    return _counted("counted-items", items=items)


def _counted(message: str, **facts: object) -> str:
    return sanitize.FactWords(facts).format(MESSAGES[message], **facts)


def notes(one: PairedEntry) -> list[str]:
    """What must be said beside a metric: items, clusters, noise."""
    if "metric" not in one:
        return []
    lines = [_counted("items", items=one["items"], clusters=one["clusters"], better=one["better"])]
    noise = one["noise"]
    floors = [each for each in (noise["before"], noise["after"]) if each is not None]
    if floors:
        lines.append(MESSAGES["noise"].format(floor=amount(1.96 * max(floors), one["span"])))
    else:
        lines.append(MESSAGES["no-noise"])
    return lines


def rows(document: PairedDocument) -> Sequence[PairedEntry]:
    """The metrics or ratings of a comparison."""
    return document["metrics"] if document["kind"] == "results" else document["ratings"]


def text(document: PairedDocument) -> list[Line]:
    """The comparison for a terminal."""
    head = f"{document['before']['name']} → {document['after']['name']}"
    lines = [terminal.line("paired", sanitize.terminal(head))]
    for one in rows(document):
        lines.append(terminal.line("", ""))
        lines.append(terminal.line(HEADS[one["verdict"]], sanitize.terminal(f"{name(one)}: {sentence(one)}")))
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
