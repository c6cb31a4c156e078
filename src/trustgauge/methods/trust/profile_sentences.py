"""Chatbots beside each other for one kind of user: in a terminal and as a table."""

from __future__ import annotations

import csv as tables
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.methods.trust import view_sentences
from trustgauge.methods.trust.messages import CARD, COMBINING, NOTES, RISKS, TIES
from trustgauge.reports import comparison, numbers, sanitize
from trustgauge.reports.document import is_talk
from trustgauge.reports.sanitize import short, terminal
from trustgauge.reports.terminal import Line, columns, line

if TYPE_CHECKING:
    from trustgauge.methods.trust.profile_model import (
        IssueOutcome,
        NamedOrder,
        ProfileDocument,
        ProfileGroup,
        ProfileOutcome,
        ProfileRow,
    )


OF_THE_PLAN = "of-the-plan"
"""The name of a rule with settings that a plan gave it."""


def rule_name(group: ProfileGroup) -> str:
    """A rule of combining by its name: "count rule (published)", "first issue decides"."""
    settings = group["combination"]
    published = settings["rule"] == "count" and settings["ties"] == "pessimistic"
    name = COMBINING.get(settings["rule"], sanitize.name(str(settings["rule"])))
    if group["rule"] == OF_THE_PLAN:
        return f"{name} (of the plan)"
    return f"{name} (published)" if published else name


def rule_words(group: ProfileGroup, places: Sequence[Sequence[str]]) -> str:
    """A rule with what its places count: "count rule (published): 3-2-1-0, ties to the worse"."""
    settings, rule = group["combination"], rule_name(group)
    ranks = list(_ranks(places))
    k = len(ranks)
    if settings["rule"] == "count":
        weights = "-".join(view_sentences.amount(k - rank) for rank in ranks)
        return f"{rule}: {weights}, ties to the {TIES[settings['ties']]}"
    if settings["rule"] in ("sound", "raw-weighted"):
        return (
            f"{rule}: weights {'-'.join(map(view_sentences.amount, _weights(settings['weights'], places)))}"
        )
    if settings["rule"] == "worst-of":
        return f"{rule}: {settings['first']}"
    return rule


def _weights(given: Sequence[float], places: Sequence[Sequence[str]]) -> Iterator[float]:
    """Weight of each issue; those of one place have the mean of theirs."""
    k = sum(map(len, places))
    left = iter(given if len(given) == k else range(k, 0, -1))
    for place in places:
        shared = [next(left) for _ in place]
        yield from [sum(shared) / len(shared)] * len(shared)


def _ranks(places: Sequence[Sequence[str]]) -> Iterator[float]:
    """Rank of each issue, 1 first; those of one place have the mean of theirs."""
    before = 0
    for place in places:
        yield from [before + (len(place) + 1) / 2] * len(place)
        before += len(place)


def overall(row: ProfileOutcome) -> str:
    """The level of a service as text: "Low risk", "Medium risk*", "(High risk)", "Low or Medium risk"."""
    word = f"{view_sentences.either(row['levels'])} risk"
    if row["state"] == "not settled":
        return f"({word})"
    return f"{word}*" if row["state"] == "assumed" else word


def issue(one: IssueOutcome | None) -> str:
    """The level of an issue as text; what has none says why."""
    if one is None:
        return "not tested"
    if one["level"] is None:
        return numbers.NONE if one["state"] == "not applicable" else str(one["state"])
    word = view_sentences.risk(one["level"])
    return {"rated": word, "assumed": f"{word}*"}.get(one["state"], f"({word})")


def text(document: ProfileDocument) -> list[Line]:
    """The ranking for a terminal."""
    lines: list[Line] = []
    order = document["order"]
    for group in document["groups"]:
        lines += [[("", "")]] if lines else []
        lines += [[(terminal(sanitize.name(order["title"])), "strong"), (f"  {_made(group, order)}", "head")]]
        lines += _table(group, order["places"])
        lines += [[(entry, "head")] for entry in _legend(group, order["places"])]
    lines += [line("note", comparison.remark(one)) for one in document["notes"]]
    return [*lines, line("note", NOTES["likeliest"])]


def _made(group: ProfileGroup, order: NamedOrder) -> str:
    return f"{view_sentences.order_words(order['places'])} · measured under the rule {group['made_by']}"


def _table(group: ProfileGroup, places: Sequence[Sequence[str]]) -> list[Line]:
    every = [name for place in places for name in place]
    rows = []
    for row in group["rows"]:
        shown = row["shown"] or numbers.NONE
        cells = [shown if shown.startswith("=") else f" {shown}"]
        cells += [short(terminal(row["rating"]["service"]["name"]), comparison.NAME), overall(row)]
        cells += [
            f"{terminal(view_sentences.short(name))} {issue(row['issues'].get(name))}" for name in every
        ]
        rows.append([*cells, terminal(standing(row))])
    sizes = [max(columns(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    return [
        [("  ".join(cell + " " * (size - columns(cell)) for cell, size in zip(row, sizes, strict=True)), "")]
        for row in rows
    ]


def _legend(group: ProfileGroup, places: Sequence[Sequence[str]]) -> Iterator[str]:
    """What the marks of a table mean, and the rule that it was made by."""
    rows = group["rows"]
    every = [row["state"] for row in rows] + [one["state"] for row in rows for one in row["issues"].values()]
    lines = ["* assumed, not measured"] * ("assumed" in every) + ["( ) not settled"] * (
        "not settled" in every
    )
    yield " · ".join([*lines, rule_words(group, places)])
    for row in rows:
        if row["level"] is None:
            missing = view_sentences.issue_list(row["explained"]["missing"])
            yield f"{terminal(row['rating']['service']['name'])}: depends on {missing}"


def standing(row: ProfileRow) -> str:
    """What is unusual about a row, in words."""
    lines = [f"expired {numbers.day(row['rating']['expires'])}"] if row["expired"] else []
    if row["stopped"]:
        lines.append(f"stopped early: {sanitize.name(row['stopped'])}")
    if is_talk(row["rating"]["service"]):
        said = row["rating"]["coverage"]["answered"] + row["rating"]["coverage"]["refused"]
        lines.append(CARD["talk"].format(answers=f"{numbers.count(said)} answer{'' if said == 1 else 's'}"))
    return "; ".join(lines)


COLUMNS = (
    "profile", "order", "combining", "rule", "rank", "id", "service", "version", "state", "levels",
    "issue", "place", "issue_state", "issue_level", "score", "low", "high", "n",
)  # fmt: skip


def csv(document: ProfileDocument) -> bytes:
    """A row for each service and issue; cells that a spreadsheet would run are guarded."""
    buffer = io.StringIO()
    writer = tables.writer(buffer, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    order = document["order"]
    ranks = dict(
        zip((one for place in order["places"] for one in place), _ranks(order["places"]), strict=True)
    )
    for group in document["groups"]:
        for row in group["rows"]:
            service = row["rating"]["service"]
            levels = " or ".join(f"{RISKS[one]} risk" for one in row["levels"])
            whole = [
                order["title"], order["written"], group["rule"], group["made_by"], row["shown"], row["id"],
                service["name"], service["version"], row["state"], levels,
            ]  # fmt: skip
            for name, rank in ranks.items():
                writer.writerow([_cell(each) for each in (*whole, name, rank, *_measured(row, name))])
    return buffer.getvalue().encode("utf-8", "replace")


def _measured(row: ProfileRow, name: str) -> tuple[str | float | None, ...]:
    """State, level, score, its ends and the number of observations of an issue."""
    one = row["issues"].get(name)
    if one is None:
        return ("not tested", None, None, None, None, None)
    return (one["state"], one["level"], one["score"], one["low"], one["high"], one["n"])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return sanitize.cell(value) if isinstance(value, str) else repr(value)
