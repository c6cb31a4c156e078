"""The personalisation page: a user's own order of issues, and what it makes of every chatbot.

One HTML file that opens from disk and asks nobody. Its script combines levels as `methods.trust.combine`
does; without scripts the page shows the order that it starts with, and the levels for every profile.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup

from trustgauge.methods.trust import profile_sentences, view_sentences
from trustgauge.methods.trust.messages import CARD, CODES, COMBINING, HOW, MOVES, NOTES, RISKS, TIES
from trustgauge.reports import comparison, components, html, numbers, sanitize, svg
from trustgauge.reports.comparison_page import rating_summaries
from trustgauge.reports.sanitize import visible

if TYPE_CHECKING:
    from trustgauge.methods.trust.profile_model import (
        Arithmetic,
        IssueOutcome,
        IssueShare,
        ProfileDocument,
        ProfileGroup,
        ProfileRanking,
        ProfileRow,
    )


def page(
    document: ProfileDocument,
    rules: Mapping[str, Mapping[str, Any]],
    static: Sequence[ProfileRanking] = (),
) -> str:
    """The page of one comparison by profile.

    Args:
        document: the comparison; the page holds its first, largest group.
        rules: ways to combine levels by name, with their settings, for the menu.
        static: for each profile of the document its rows, combined by the rule of the group: what a page
            without scripts shows beside the order it starts with.
    """
    return environment().get_template("personal.html.j2").render(content(document, rules, static))


def content(
    document: ProfileDocument,
    rules: Mapping[str, Mapping[str, Any]],
    static: Sequence[ProfileRanking] = (),
) -> dict[str, Any]:
    """What the template of the page shows of a comparison by profile."""
    group, order = document["groups"][0], document["order"]
    return {
        "order": order,
        "rows": [card(row, order["places"]) for row in group["rows"]],
        "starts": [_place(name, group, order["places"]) for place in order["places"] for name in place],
        "profiles": document["profiles"],
        "profile_rows": [(one["title"], one["rows"]) for one in static],
        "services": [row["rating"]["service"]["name"] for row in group["rows"]],
        "rule": profile_sentences.rule_words(group, order["places"]),
        "how": view_sentences.how(group["combination"]),
        "summaries": rating_summaries(group["rows"]),
        "notes": _notes(document),
        "data": Markup(_json(_data(document, rules))),  # no "<" is left in it
        "marks": [(level, Markup(_mark(level))) for level in RISKS],  # our own drawings
        "date": document["date"],
        "policy": policy(),
        "style": Markup(style()),  # our own files
        "script": Markup(script()),
    }


def card(row: ProfileRow, places: Sequence[Sequence[str]]) -> dict[str, Any]:
    """One service as its template needs it: the same words as the script's."""
    explained = row["explained"]
    lines = [
        line for line in (view_sentences.arithmetic(explained), view_sentences.orders(row["orders"])) if line
    ]
    weights = _weights(explained, places)
    return {
        "row": row,
        "shown": row["shown"] or numbers.NONE,
        "level": profile_sentences.overall(row).strip("()").rstrip("*"),
        "letter": row["level"] or "",
        "blocks": [
            _block(name, row["issues"].get(name), weights[name]) for place in places for name in place
        ],
        "lines": " ".join(lines),
        "flags": list(_flags(row, places)),
    }


def _flags(row: ProfileRow, places: Sequence[Sequence[str]]) -> list[str]:
    explained = row["explained"]
    said = list(view_sentences.uncounted_issues(explained))
    if row["level"] is None:
        said.append(
            CARD["depends"].format(
                levels=view_sentences.either(row["levels"]),
                issues=view_sentences.issue_list(explained["missing"]),
            )
        )
    for name in (one for place in places for one in place):
        one = row["issues"].get(name)
        state = one["state"] if one else ""
        if state == "assumed":
            said.append(CARD["assumed"].format(issue=view_sentences.title(name)))
        if state == "not settled":
            said.append(CARD["unsettled"].format(issue=view_sentences.title(name)))
    return said


def _weights(arithmetic: Arithmetic, places: Sequence[Sequence[str]]) -> dict[str, float]:
    """How much each issue weighs: its points, its weight, or whether it is looked at; they sum to 1."""
    every = {one["issue"]: _weight(one, arithmetic) for one in arithmetic["issues"]}
    total = sum(every.values()) or 1.0
    return {name: every[name] / total for place in places for name in place}


def _weight(one: IssueShare, arithmetic: Arithmetic) -> float:
    if "points" in one:
        return float(one["points"])
    if "weight" in one:
        return float(one["weight"])
    return float(one["issue"] in arithmetic["looked_at"])


def _block(name: str, one: IssueOutcome | None, weight: float) -> dict[str, Any]:
    known = one is not None and one["level"] is not None
    state = one["state"] if one is not None else "not tested"
    tone = list(RISKS).index(str(one["level"])) + 1 if one is not None and known else 0
    risk = view_sentences.risk(one["level"]) if one is not None and known else state
    look = ["block", f"l{tone}" if known else "none"]
    look += ["idle"] * (weight == 0) + ["dashed"] * (known and state != "rated")
    return {
        "wide": f"wide{max(1, math.floor(10 * weight + 0.5))}",
        "classes": " ".join(look),
        "word": f"{risk} · {state}" if known and state != "rated" else risk,
        "under": " ".join([view_sentences.short(name).capitalize(), *_score(one)]),
    }


def _score(one: IssueOutcome | None) -> list[str]:
    return [] if one is None or one["score"] is None else [view_sentences.score(one["score"])]


def _place(name: str, group: ProfileGroup, places: Sequence[Sequence[str]]) -> dict[str, str]:
    """An issue of the order at the left: its place, and what it counts."""
    number = next(place for place, one in enumerate(places, start=1) if name in one)
    explained = group["rows"][0]["explained"] if group["rows"] else None
    mine = next((one for one in explained["issues"] if one["issue"] == name), None) if explained else None
    last = number == len(places)
    return {
        "number": str(number),
        "title": view_sentences.title(name),
        "counts": counts(mine, explained, last=last) if mine and explained else CARD["ignored"],
    }


def counts(one: IssueShare, arithmetic: Arithmetic, *, last: bool) -> str:
    """What an issue counts by the rule in use: "counts 3", "last place: not counted"."""
    if "points" in one:
        if one["points"]:
            return CARD["counts"].format(weight=view_sentences.amount(one["points"]))
        return CARD["last" if last else "none"]
    if "weight" in one:
        return CARD["counts"].format(weight=view_sentences.amount(one["weight"]))
    looked = one["issue"] in arithmetic.get("looked_at", ())
    if arithmetic["rule"] == "lexicographic":
        return CARD["decides" if looked else "orders-only"]
    return CARD["looked-at" if looked else "ignored"]


def _notes(document: ProfileDocument) -> list[str]:
    remarks = [comparison.remark(one) for one in document["notes"] if one["code"] != "compare.separate"]
    away = [row["rating"]["service"]["name"] for group in document["groups"][1:] for row in group["rows"]]
    if away:
        remarks.append(NOTES["left-out"].format(services=sanitize.listing(away)))
    return [*remarks, NOTES["likeliest"]]


def _data(document: ProfileDocument, rules: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the script needs: issues, services, profiles, rules, and the words that it fills."""
    group = document["groups"][0]
    return {
        "issues": {
            name: {
                "title": view_sentences.title(name),
                "short": view_sentences.short(name),
                "code": CODES.get(name, name),
            }
            for name in document["issues"]
        },
        "services": [_service(row) for row in group["rows"]],
        "profiles": document["profiles"],
        "order": document["order"],
        "rules": {**rules, group["rule"]: group["combination"]},
        "rule": group["rule"],
        "words": {
            "card": CARD, "moves": MOVES, "ties": TIES, "risks": RISKS, "combining": COMBINING, "how": HOW,
        },
    }  # fmt: skip


def _service(row: ProfileRow) -> dict[str, Any]:
    known = {
        name: {
            "level": list(RISKS).index(one["level"]) if one["level"] is not None else -1,
            "state": one["state"],
            "risk": one["risk"],
            "value": one["value"],
            "score": _score(one)[0] if _score(one) else "",
        }
        for name, one in row["issues"].items()
    }
    service = row["rating"]["service"]
    return {
        "id": row["id"],
        "name": visible(str(service["name"])),
        "version": visible(str(service["version"])),
        "report": row["report"],
        "standing": profile_sentences.standing(row),
        "issues": known,
    }


def _json(value: Any) -> str:
    """JSON that cannot end the element it stands in: everything but ASCII, and "<", is escaped."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def _mark(level: str) -> str:
    drawn = svg.risk_dots(list(RISKS).index(level))
    return svg.tag("svg", {"width": 16, "height": 16, "viewBox": "0 0 14 14", "aria-hidden": "true"}, drawn)


@cache
def style() -> str:
    """The style sheet of the report page, and what this page adds."""
    return f"{html.style()}\n{components.file('personal.css')}"


@cache
def script() -> str:
    """The script of the page: the arithmetic of combining, then the page itself."""
    return f"{components.file('combine.js')}\n{components.file('personal.js')}"


@cache
def policy() -> str:
    """The content policy: this file's own style and script, by their hashes."""
    return components.policy(style(), script())


@cache
def environment() -> Environment:
    """The templates of the page with all their filters."""
    made = components.environment()
    made.filters |= {
        "day": numbers.day,
        "overall": profile_sentences.overall,
        "shown": lambda text: visible(str(text)),
        "standing": profile_sentences.standing,
    }
    return made
