"""Ratings beside each other, in words: the cells, sentences and remarks of a comparison, for every view.

A comparison is a document (`trustgauge.comparison/1`); text, CSV and the page
(`comparison_page`) are pure functions of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import COMMON, view_by_name, view_of
from trustgauge.reports.document import is_same_place
from trustgauge.reports.exports import csv_bytes
from trustgauge.reports.sanitize import short, terminal
from trustgauge.reports.terminal import Line, columns, line

if TYPE_CHECKING:
    from trustgauge.reports.comparison_model import (
        ComparisonDocument,
        ComparisonRow,
        DateEntry,
        DifferenceEntry,
        ExampleEntry,
        GroupEntry,
        PartChangeEntry,
        ReadingsEntry,
        RemarkEntry,
    )
    from trustgauge.reports.document_model import OverallEntry, PartEntry, RatingEntry


NAME = 40
QUOTE = 60  # characters of a text in a terminal
MOST_PAIRS = 21  # shown in a terminal, of seven services; the other views have all

TIES = COMMON.table("notes")["ties"]
REMARKS = COMMON.table("remarks")
"""Remarks of a comparison, by code."""

VERDICTS = COMMON.table("comparison-verdicts")
DIRECTIONS = COMMON.table("comparison-directions")
SIGNS = COMMON.table("comparison-signs")
MESSAGES = COMMON.table("comparison")
HIDDEN = MESSAGES["hidden"]


def remark(note: RemarkEntry) -> str:
    """The sentence of a remark."""
    facts = {name: _fact(name, value) for name, value in note["facts"].items()}
    return REMARKS[note["code"]].format(**facts)


def _fact(key: str, value: Any) -> str:
    if isinstance(value, list):
        return sentences.listing(value)
    return numbers.day(str(value)) if key == "expires" else sentences.name(str(value))


def title(group: GroupEntry) -> str:
    """The heading of one ranking."""
    return f"{sentences.name(group['method'])}, {sentences.name(group['attribute'])}"


def provenance(group: GroupEntry) -> str:
    """How the ratings of a ranking were made."""
    texts = f" · {numbers.count(group['texts'])} texts each" if group["texts"] is not None else ""
    margin = f" · margin {numbers.points(group['margin'])}" if group["margin"] is not None else ""
    return f"version {sentences.name(group['version'])} · rule {group['rule']}{texts}{margin}"


def remarks(group: GroupEntry) -> list[str]:
    """What must be said with a ranking."""
    lines = []
    if group["differs"]:
        differs = sentences.listing(group["differs"])
        lines.append(MESSAGES["own-table"].format(title=title(group), differs=differs))
    if group["ranked"]:
        lines.append(view_by_name(group["method"]).badness.ranked)
        lines.append(TIES.format(share=numbers.percent(group["beyond_doubt"])))
    return lines + [remark(one) for one in group["notes"]]


def rank(row: ComparisonRow) -> str:
    """The rank as it is shown: "=2"; a dash for what is not ranked."""
    return row["rank"]["shown"] if row["rank"] else numbers.NONE


def rank_interval(row: ComparisonRow) -> str:
    """The 95 % interval of the rank; "" for what is not ranked."""
    one = row["rank"]
    if not one:
        return ""
    reach = str(one["low"]) if one["low"] == one["high"] else f"{one['low']} to {one['high']}"
    return f"{reach} of {one['of']}"


def score(one: OverallEntry | PartEntry, method: str) -> str:
    """A score with its interval: "12 points (8 to 15)", or "2.78 (2.33 to 3.22)" of what is no share."""
    if one["score"] is None:
        return numbers.NONE
    return reach(one["score"], one["low"], one["high"], method)


def reach(value: float, low: float | None, high: float | None, method: str) -> str:
    """A score of a method, or a difference of two, with its interval."""
    share = view_by_name(method).badness.is_share
    middle = numbers.points(value).replace("-", "−") if share else numbers.signed_number(value)
    if low is None or high is None:
        return middle
    times, digits = (100, 0) if share else (1, 2)
    ends = (numbers.signed_number(times * end, digits) for end in (low, high))
    return f"{middle} ({' to '.join(ends)})"


def cost(row: ComparisonRow) -> str:
    """Dollars per 1,000 calls, and whether the tokens that they follow from are estimated."""
    if row["usd_per_1000"] is None:
        return numbers.NONE
    about = "about " if row.get("usd_estimated") and row["usd_per_1000"] else ""
    return f"{about}{numbers.usd(row['usd_per_1000'])}"


def latency(row: ComparisonRow) -> str:
    """Median latency of a call."""
    millis = row["latency_median_ms"]
    return numbers.NONE if millis is None else f"{numbers.count(millis)} ms"


def standing(row: ComparisonRow) -> str:
    """What is unusual about a row, in words."""
    lines = []
    if row["expired"]:
        lines.append(f"expired {numbers.day(row['rating']['expires'])}")
    if row["stopped"]:
        lines.append(f"stopped early: {sentences.name(row['stopped'])}")
    if row["rating"]["state"] not in ("rated", "not settled"):
        lines.append(sentences.no_level(row["rating"]))
    return "; ".join(lines)


def names(rows: Sequence[ComparisonRow]) -> dict[str, str]:
    """Rating id -> name of its service."""
    return {row["id"]: sentences.name(row["rating"]["service"]["name"]) for row in rows}


def verdict(pair: DifferenceEntry, margin: float | None) -> str:
    """The verdict of a difference, in words (methods 0.6); none is the same that was told apart."""
    shown = "" if margin is None else numbers.points(margin)
    words = VERDICTS["within" if _is_slight(pair) else pair["verdict"] or "no-margin"].format(margin=shown)
    return words if pair["settled"] else f"{words}; not settled"


def sign(pair: DifferenceEntry) -> str:
    """Whether the first is worse, better, or not distinguished; slightly, if it is within the margin."""
    return SIGNS[f"slightly-{pair['sign']}" if _is_slight(pair) else pair["sign"]]


def _is_slight(pair: DifferenceEntry) -> bool:
    return pair["sign"] != "=" and pair["verdict"] == "same"


def alike(pair: DifferenceEntry) -> bool:
    """Whether a pair is no difference to show: not distinguished, and not different by the margin."""
    return bool(pair["sign"] == "=" and pair["verdict"] != "different")


def level(row: ComparisonRow) -> str:
    """A level as text; brackets where it is not settled."""
    rating = row["rating"]
    return level_of(rating, rating["overall"]["level"], rating["state"])


def level_of(rating: RatingEntry, key: str | None, state: str) -> str:
    """A level of a rating or part as text."""
    if key is None or state not in sentences.WITH_LEVEL:
        named = {"not applicable": numbers.NONE, "not tested": state, "not settled": state}
        return named.get(state, "not rated")
    mark = view_of(rating).mark(rating, key)
    return {"rated": mark, "inferred": f"inferred {mark}", "assumed": f"{mark}*"}.get(state, f"({mark})")


def directions(readings: ReadingsEntry) -> str:
    """How many texts were read otherwise, both ways."""
    lines = [f"{numbers.count(count)} {DIRECTIONS[name]}" for name, count in readings["directions"].items()]
    counts = {name: numbers.count(readings[name]) for name in ("flipped", "compared", "unread")}
    of = MESSAGES["flipped"].format(**counts)
    rest = MESSAGES["unread"].format(**counts) if readings["unread"] else ""
    return f"{of}{': ' if lines else ''}{', '.join(lines)}{rest}"


def read(values: Sequence[Any]) -> str:
    """What was read in an answer."""
    return ", ".join("lost" if value is None else sentences.name(str(value)) for value in values) or "nothing"


def no_comparison_reason(one: DateEntry) -> str:
    """Why two dates of a service are not compared text by text; "" if they are."""
    if one["readings"] is not None:
        return ""
    return MESSAGES["other-texts"]


def versions(one: DateEntry) -> str:
    """Whether two dates saw one and the same service, under the same settings."""
    name, alike = (
        ("same-service", "same-settings") if one["same_service"] else ("other-service", "only-service")
    )
    if not is_same_place(one["before"]["rating"]["service"], one["after"]["rating"]["service"]):
        name, alike = "other-place", "settings-alike"
    service = MESSAGES[name]
    words = MESSAGES["other-settings" if one["differs"] else alike]
    return words.format(service=service, differs=sentences.listing(one["differs"]))


def text(document: ComparisonDocument, *, differences_only: bool = False) -> list[Line]:
    """The comparison for a terminal: tables, ties, paired differences, two dates of one service."""
    lines: list[Line] = []
    for group in document["groups"]:
        lines += [[("", "")]] if lines else []
        lines += [[(terminal(title(group)), "strong"), (f"  {terminal(provenance(group))}", "head")]]
        lines += _table(group)
        lines += list(_pairs(group, differences_only=differences_only))
        lines += [line("note", one) for one in remarks(group)]
    for one in document["dates"]:
        lines += [[("", "")]] if lines else []
        lines += list(_dates(one, differences_only=differences_only))
    return lines + [line("note", remark(one)) for one in document["notes"]]


HEADS = ("certainty", "unchanged", "per 1,000 calls", "median", "note")


def cells(row: ComparisonRow) -> list[str]:
    """The cells of a row of plain text."""
    overall = row["rating"]["overall"]
    return [
        rank(row),
        short(terminal(row["rating"]["service"]["name"]), NAME),
        level(row),
        score(overall, row["rating"]["method"]["name"]),
        numbers.certainty(sentences.share(row["rating"]), tight=True),
        numbers.share(overall["unchanged"], tight=True),
        cost(row),
        latency(row),
        terminal(standing(row)),
    ]


def _table(group: GroupEntry) -> list[Line]:
    heads = ["rank", "service", "rating", view_by_name(group["method"]).badness.head, *HEADS]
    rows = [cells(row) for row in group["rows"]]
    used = [place for place in range(len(heads)) if any(row[place] not in ("", numbers.NONE) for row in rows)]
    wide = [max(columns(row[place]) for row in [heads, *rows]) for place in used]
    right = ("certainty", "unchanged", "per 1,000 calls", "median")

    def joined(row: Sequence[str]) -> str:
        cells = []
        for place, size in zip(used, wide, strict=True):
            blanks = " " * (size - columns(row[place]))
            cells.append(blanks + row[place] if heads[place] in right else row[place] + blanks)
        return "  ".join(cells)

    return [[(joined(heads), "head")], *([(joined(row), "")] for row in rows)]


def _pairs(group: GroupEntry, *, differences_only: bool) -> Iterator[Line]:
    named = names(group["rows"])
    pairs = [one for one in group["pairs"] if not (differences_only and alike(one))]
    for pair in pairs[:MOST_PAIRS]:
        apart = reach(pair["difference"], pair["low"], pair["high"], group["method"])
        who = f"{named[pair['first']]} − {named[pair['second']]}"
        sure = numbers.certainty(pair["p_worse"])
        worse = f"worse in {sure} of the resamples"
        said = f"{who}: {apart} · {worse} · {sign(pair)} · {verdict(pair, group['margin'])}"
        yield line("pair", said)
    if len(pairs) > MOST_PAIRS:
        yield line("pairs", f"{len(pairs) - MOST_PAIRS} more: see --as html or --as json")


def _dates(one: DateEntry, *, differences_only: bool) -> Iterator[Line]:
    before, after = one["before"], one["after"]
    when = " → ".join(f"{numbers.day(row['rating']['tested'])} ({row['id']})" for row in (before, after))
    yield [(terminal(sentences.name(one["service"])), "strong"), (f"  {terminal(when)}", "head")]
    yield line("level", f"{level(before)} → {level(after)}  {overall_change(one)}")
    for part in one["parts"] if len(one["parts"]) > 1 else ():
        if part["changed"] or not differences_only:
            yield line("part", f"{sentences.name(part['title'])}: {part_levels(one, part)}")
    if one["difference"] is not None:
        pair = one["difference"]
        apart = reach(pair["difference"], pair["low"], pair["high"], one["method"])
        measure = view_by_name(one["method"]).badness.head
        yield line("change", f"{measure} {apart} · {sign(pair)} · {verdict(pair, pair.get('margin'))}")
    if one["readings"] is None:
        yield line("texts", no_comparison_reason(one))
    else:
        yield line("texts", directions(one["readings"]))
        for example in one["readings"]["examples"]:
            yield line(f" {example['direction']} ", _example(example))
    yield line("note", versions(one))


def overall_change(one: DateEntry) -> str:
    """Whether the level of a service changed."""
    return _change(one["changed"], [one[side]["rating"]["state"] for side in ("before", "after")])


def part_change(part: PartChangeEntry) -> str:
    """Whether that of a part changed, which one of the two ratings may lack."""
    return _change(part["changed"], [side["state"] for side in (part["before"], part["after"]) if side])


def _change(changed: bool, states: Iterable[str]) -> str:
    """Where one of two levels is not settled, nobody knows whether it changed."""
    if "not settled" not in states:
        return "changed" if changed else "no change"
    return (
        "another level is likeliest; not settled" if changed else "the same level is likeliest; not settled"
    )


def part_levels(one: DateEntry, part: PartChangeEntry) -> str:
    """The level of a part then and now."""
    sides = [
        level_of(row["rating"], side["level"], side["state"]) if side else "none"
        for row, side in ((one["before"], part["before"]), (one["after"], part["after"]))
    ]
    return f"{sides[0]} → {sides[1]}"


def _example(example: ExampleEntry) -> str:
    part = f"{example['part']} " if example["part"] else ""
    sent = HIDDEN if example["offensive"] else f"“{short(example['sent'], QUOTE)}”"
    return f"{part}{example['id']} {sent}: {read(example['read_before'])} → {read(example['read_after'])}"


COLUMNS = (
    "method", "rule", "attribute", "table", "rank", "rank_low", "rank_high", "id", "service", "version",
    "state", "level", "words", "direction", "certainty", "score", "low", "high", "n", "unchanged",
    "usd_per_1000_calls", "latency_median_ms", "tested", "expires", "expired",
)  # fmt: skip


def csv(document: ComparisonDocument) -> bytes:
    """The rows of all rankings as CSV; cells that a spreadsheet would run are guarded."""
    # A shared rank is a text, "=2", and no formula.
    return csv_bytes(
        COLUMNS,
        (
            dict(zip(COLUMNS, _flat(number, group, row), strict=True))
            for number, group in enumerate(document["groups"], start=1)
            for row in group["rows"]
        ),
    )


def _flat(number: int, group: GroupEntry, row: ComparisonRow) -> list[Any]:
    rating, place = row["rating"], row["rank"]
    reached = (place["shown"], place["low"], place["high"]) if place else (None, None, None)
    overall, service = rating["overall"], rating["service"]
    same = overall["unchanged"]
    return [
        group["method"], group["rule"], group["attribute"], number,
        *reached,
        row["id"], service["name"], service["version"], rating["state"], overall["level"], overall["words"],
        overall["direction"], overall["certainty"].get(overall["level"] or ""),
        overall["score"], overall["low"], overall["high"], overall["n"], same["value"] if same else None,
        row["usd_per_1000"], row["latency_median_ms"], rating["tested"], rating["expires"], row["expired"],
    ]  # fmt: skip
