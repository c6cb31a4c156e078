"""Chatbots side by side for one kind of user: issue levels of stored ratings, recombined.

Nothing is asked and no answer is read: a `rating.json` keeps the level, score and interval of every
issue, and another order or rule only combines them in another way (trust 4.4, 4.6). It keeps no draws, so
the most likely level of each issue is combined; where an issue is assumed, not settled or missing and the
outcome depends on it, the outcome is too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from trustgauge.errors import PlanError
from trustgauge.methods.trust import order_sensitivity
from trustgauge.methods.trust.arithmetic import explain
from trustgauge.methods.trust.combine import (
    MISSING,
    OWN_SETTINGS,
    PUBLISHED_RULE,
    Combination,
    IssueValue,
    hinges,
    may_change,
    outcome,
)
from trustgauge.methods.trust.issues.issue import LEVELS
from trustgauge.methods.trust.levels import risk
from trustgauge.methods.trust.profile_sentences import OF_THE_PLAN
from trustgauge.methods.trust.profiles import PUBLISHED, IssueOrder, order_of, profile_order, title
from trustgauge.methods.trust.view_sentences import by_rule, has_level
from trustgauge.records import digest
from trustgauge.reports.document import is_slight
from trustgauge.run.comparison import remark
from trustgauge.run.stored_ratings import RowBuilder, StoredRating, StoredRun, select_runs

if TYPE_CHECKING:
    from trustgauge.methods.trust.profile_model import (
        CombinedIssues,
        IssueOutcome,
        NamedOrder,
        ProfileDocument,
        ProfileGroup,
        ProfileOutcome,
        ProfileRanking,
        ProfileRow,
    )
    from trustgauge.reports.comparison_model import RemarkEntry
    from trustgauge.reports.document_model import PartEntry, RatingEntry

SCHEMA = "trustgauge.by-profile/1"
METHOD = "trust"
START = "privacy-first"
RULES: Mapping[str, Combination] = {
    "sound": Combination(),
    "count": PUBLISHED_RULE,
    "count-optimistic": Combination(rule="count", ties="optimistic"),
    "count-middle": Combination(rule="count", ties="middle"),
    "raw-weighted": Combination(rule="raw-weighted"),
    "worst-of": Combination(rule="worst-of"),
    "lexicographic": Combination(rule="lexicographic"),
}
"""Ways to combine levels, by the names that a command and a page know them by."""
BY_PAPER = {"published": "count", "released": "count"}
"""What the papers' rule sets combine by."""
PLAIN = ("issues", "take", "mode", "language")
"""Settings that say what was measured and how; ratings unlike in one of them do not stand in one ranking."""
UNSURE = ("assumed", "inferred", "not settled")
"""States of issues that may have another level; those of one state are looked at with those before it."""


@dataclass(frozen=True, slots=True)
class ProfileQuery:
    """For whom to compare.

    Attributes:
        names: ids of runs or ratings, or paths; none: all ratings of the folder.
        profile: a published profile, or one that a rating was made for; "" if an order is given.
        order: as people write it, "IL > AL = B > CC"; "" if a profile is given.
        rule: of RULES, or a rule set of the method; "" for the one that the ratings were made by.
        states: only services whose outcome has one of these states; none for all.
        links: the folder that links to reports start from, the address of the catalogue where they are, or
            "#" if the page carries what they lead to; None for no links.
    """

    names: Sequence[str] = ()
    profile: str = ""
    order: str = ""
    rule: str = ""
    states: Sequence[str] = ()
    links: Path | str | None = None


def rate_for_profile(ratings: Path, whom: ProfileQuery, today: date) -> ProfileDocument:
    """The chatbots, ranked for this user; all views are functions of the document.

    Args:
        ratings: folder of all runs.
        whom: for whom.
        today: for what has expired.

    Raises:
        PlanError: there is no such rating, profile, order or rule, or no chatbot was rated.
    """
    runs = select_runs(ratings, whom.names)
    rule = rule_of(whom.rule) if whom.rule else ""
    kept, notes = _kept(runs, ratings, rule)
    own = _own(runs)
    known = tuple(dict.fromkeys(str(part["key"]) for one in kept for part in one.rating["parts"]))
    order = _order(whom, own, known)
    grouped: dict[str, list[StoredRating]] = {}
    for one in kept:
        grouped.setdefault(_group_key(one, rule), []).append(one)
    shown = RowBuilder(whom.links, today)
    groups = [_group(members, order, rule, shown, whom) for members in grouped.values()]
    groups.sort(key=lambda one: -len(one["rows"]))
    if len(groups) > 1:
        notes.append(remark("compare.separate", groups=len(groups)))
    found: Any = {
        "schema": SCHEMA,
        "date": today.isoformat(),
        "order": _named(whom, order),
        "groups": groups,
        "profiles": [
            {"name": name, "title": title(name), "places": [list(place) for place in one.places]}
            for name, one in _profiles(own, known)
        ],
        "issues": list(known),
        "notes": notes,
    }
    document: ProfileDocument = found
    return document


def rule_of(name: str) -> str:
    """The rule that a name means.

    Raises:
        PlanError: there is none.
    """
    named = BY_PAPER.get(name, "count" if name == "count-pessimistic" else name)
    if named not in RULES:
        must = ", ".join([*RULES, *BY_PAPER])
        raise PlanError.of("--rule", f'no rule "{name}"', must=f"one of: {must}")
    return named


def _own(runs: Sequence[StoredRun]) -> dict[str, IssueOrder]:
    """Profiles of the plans behind these ratings, by name; published ones only if a plan has its own."""
    found: dict[str, IssueOrder] = {}
    for run in runs:
        for one in run.document["ratings"]:
            places = one["details"].get("order") if one["method"]["name"] == METHOD else None
            name = str(one["issue"]["attribute"])
            if not places or name in found:
                continue
            order = IssueOrder(tuple(tuple(map(str, place)) for place in places))
            usual = PUBLISHED.get(name)
            if usual is None or order != IssueOrder.parse(usual.order).among(order.issues):
                found[name] = order
    return found


def _kept(
    runs: Sequence[StoredRun], ratings: Path, rule: str
) -> tuple[list[StoredRating], list[RemarkEntry]]:
    """The newest trust rating of every service and way of rating; its profile does not matter.

    Of a service with a fuller rating, talks and provisional ratings are left out.
    """
    every = [
        StoredRating(run, rating)
        for run in runs
        for rating in run.document["ratings"]
        if rating["method"]["name"] == METHOD
    ]
    full = {one.service for one in every if not is_slight(one.rating)}
    found: dict[tuple[str, str], StoredRating] = {}
    older: list[str] = []
    slight: list[str] = []
    for one in every:
        if one.service in full and is_slight(one.rating):
            slight.append(one.run.id)
            continue
        known = found.setdefault((one.service, _group_key(one, rule)), one)
        if known.run.id != one.run.id:
            older.append(one.run.id)
    if not found:
        raise PlanError.of(
            str(ratings),
            "no chatbot rated for trust, with its answers, in this folder",
            must="at least one run by the method trust; what was published without its answers is none",
            do='`trustgauge rate` with `method = "trust"` makes some',
        )
    notes = [remark("compare.void", run=run.id) for run in runs if run.document["run"]["state"] == "void"]
    if older:
        notes.append(remark("compare.older", ratings=list(dict.fromkeys(older))))
    if slight:
        notes.append(remark("compare.slight", ratings=list(dict.fromkeys(slight))))
    return list(found.values()), notes


def _group_key(one: StoredRating, rule: str) -> str:
    """What ratings of one ranking share; how they were combined matters unless a rule is asked for."""
    method = one.rating["method"]
    facts = {name: method["options"].get(name) for name in PLAIN}
    combined = rule or _combination(one)[1].model_dump(mode="json")
    return digest("by-profile", [method["version"], method["rule"], facts, combined])


def _combination(one: StoredRating) -> tuple[str, Combination]:
    """How the levels of a rating were combined, and what that is called: a name of RULES or `OF_THE_PLAN`.

    Raises:
        PlanError: the rating does not say it rightly.
    """
    method = one.rating["method"]
    given = method["options"].get("combination")
    if not given:
        name = BY_PAPER.get(method["rule"], "sound")
        return name, RULES[name]
    # Earlier plans could set what another rule looks at; it had no effect.
    looked_at = ("rule", *OWN_SETTINGS.get(given.get("rule"), ()))
    try:
        found = Combination.model_validate({name: given[name] for name in looked_at if name in given})
    except ValidationError:
        raise PlanError.of(
            f"rating {one.run.id}", "its `combination` is none", must="a rule and its settings"
        ) from None
    return next((name for name, usual in RULES.items() if usual == found), OF_THE_PLAN), found


def _order(whom: ProfileQuery, own: Mapping[str, IssueOrder], known: Sequence[str]) -> IssueOrder:
    if whom.order:
        return order_of(whom.order, known, "--order")
    name = whom.profile or START
    order = own[name] if name in own else profile_order(name, {}, known, "--profile")
    order = order.among(known)
    if not order.issues:
        what = f'"{name}" orders no issue that was measured'
        raise PlanError.of("--profile", what, must=", ".join(known))
    return order


def _profiles(own: Mapping[str, IssueOrder], known: Sequence[str]) -> Iterator[tuple[str, IssueOrder]]:
    for name in dict.fromkeys([*PUBLISHED, *own]):
        order = (own[name] if name in own else profile_order(name, {})).among(known)
        if order.issues:
            yield name, order


def _named(whom: ProfileQuery, order: IssueOrder) -> NamedOrder:
    name = "" if whom.order else whom.profile or START
    return {
        "name": name,
        "title": title(name) if name else "Your order",
        "written": str(order),
        "places": [list(place) for place in order.places],
    }


def _group(
    members: Sequence[StoredRating],
    order: IssueOrder,
    rule: str,
    shown: RowBuilder,
    whom: ProfileQuery,
) -> ProfileGroup:
    """One ranking of chatbots that were measured alike."""
    method = members[0].rating["method"]
    named, settings = (rule, RULES[rule]) if rule else _combination(members[0])
    every: Iterator[ProfileRow] = (
        {**shown.row(one), **combine_issues(one.rating, order, settings), "place": None, "shown": ""}
        for one in members
    )
    rows = [row for row in every if not whom.states or row["state"] in whom.states]
    _rank(rows, order, settings)
    last = len(rows) + 1
    rows.sort(key=lambda row: (row["place"] or last, row["worst"], str(row["rating"]["service"]["name"])))
    measured = {name for row in rows for name, one in row["issues"].items() if one["level"] is not None}
    return {
        "made_by": method["rule"],
        "version": method["version"],
        "rule": named,
        "combination": settings.model_dump(mode="json"),
        "rows": rows,
        "unmeasured": [name for name in order.issues if name not in measured],
    }


def combine_issues(rating: RatingEntry, order: IssueOrder, settings: Combination) -> CombinedIssues:
    """What the issues of one rating come to for this order and rule."""
    settings = settings.among(len(order.issues))
    issues = {str(part["key"]): _known(part) for part in rating["parts"]}
    measured = _measured(issues, order)
    every = {name: measured.get(name, IssueValue.at(MISSING)) for name in order.issues}
    found = _outcome(issues, order, settings)
    return {
        **found,
        "issues": issues,
        "explained": explain(order, measured, settings),
        "orders": order_sensitivity.all_orders(every, settings),
        "worst": max(LEVELS.index(one) for one in found["levels"]),
    }


def _measured(issues: Mapping[str, IssueOutcome], order: IssueOrder) -> dict[str, IssueValue]:
    return {name: issue_measures(issues[name]) for name in order.issues if name in issues}


def _outcome(issues: Mapping[str, IssueOutcome], order: IssueOrder, settings: Combination) -> ProfileOutcome:
    """The possible levels, the state, and the issues that the level depends on."""
    measured = _measured(issues, order)
    levels = outcome(order, measured, settings)
    level = levels[0] if len(levels) == 1 else None
    if level is None:  # beside a missing issue one that is not settled may be anything too (trust 4.2)
        open_ = [name for name in measured if issues[name]["state"] == "not settled"]
        wide = outcome(order, measured | dict.fromkeys(open_, IssueValue.at(MISSING)), settings)
        hangs_on = open_ if len(wide) > len(levels) else []
        return {"levels": list(wide), "level": None, "state": "incomplete", "hangs_on": hangs_on}
    known = [name for name in order.issues if name in measured and measured[name].level != MISSING]
    unsure = [name for name in known if issues[name]["state"] in UNSURE]
    hangs = {name for name in known if may_change(order, measured, settings, (name,))}
    hangs.update(hinges(order, measured, settings, unsure))
    return {
        "levels": list(levels),
        "level": level,
        "state": _state({name: issues[name]["state"] for name in unsure}, order, measured, settings),
        "hangs_on": [name for name in known if name in hangs],
    }


def _state(
    unsure: Mapping[str, str], order: IssueOrder, measured: Mapping[str, IssueValue], settings: Combination
) -> str:
    """Of an outcome with issues in these states: the first of UNSURE with which it could be another."""
    for number, state in enumerate(UNSURE, start=1):
        if may_change(
            order, measured, settings, [name for name in unsure if unsure[name] in UNSURE[:number]]
        ):
            return state
    return "rated"


def profile_rankings(document: ProfileDocument) -> list[ProfileRanking]:
    """The services of the first group, in its order, for every profile, by the rule of the group."""
    group = document["groups"][0]
    settings = Combination.model_validate(group["combination"])
    found: list[ProfileRanking] = []
    for profile in document["profiles"]:
        order = IssueOrder(tuple(tuple(place) for place in profile["places"]))
        fitting = settings.among(len(order.issues))
        rows = [_outcome(row["issues"], order, fitting) for row in group["rows"]]
        found.append({"title": profile["title"], "rows": rows})
    return found


def _level(one: IssueOutcome | None) -> str | None:
    return None if one is None else one["level"]


def _known(part: PartEntry) -> IssueOutcome:
    """An issue as a rating holds it; `risk` and `value` are what rules of combining look at."""
    level = part["level"] if has_level(part) else None
    cuts = part["details"].get("cuts")
    found: IssueOutcome = {
        "state": part["state"],
        "score": part["score"],
        "low": part["low"],
        "high": part["high"],
        "n": part["n"],
        "level": level,
        "cuts": list(cuts) if cuts else cuts,
        "risk": None,
        "value": None,
    }
    if level is None:
        return found
    if by_rule(part) or not cuts:
        middle = IssueValue.at(LEVELS.index(level)).risk
        value = middle if part["score"] is None else part["score"]
        return {**found, "cuts": None, "risk": middle, "value": value}
    common = float(risk(np.array(part["score"]), (cuts[0], cuts[1])))
    return {**found, "risk": common, "value": part["score"]}


def issue_measures(one: IssueOutcome) -> IssueValue:
    """What rules of combining need of an issue."""
    if one["level"] is None or one["risk"] is None or one["value"] is None:
        return IssueValue.at(MISSING)
    cuts = (one["cuts"][0], one["cuts"][1]) if one["cuts"] else None
    return IssueValue(LEVELS.index(one["level"]), one["risk"], one["value"], cuts)


def _rank(rows: Sequence[ProfileRow], order: IssueOrder, settings: Combination) -> None:
    """Places of services by level, ties shared; a level that is open or not settled gets none."""
    able = [row for row in rows if row["state"] in ("rated", "assumed", "inferred")]
    keys = _keys(able, order, settings)
    for row, key in zip(able, keys, strict=True):
        place = 1 + sum(other < key for other in keys)
        row["place"], row["shown"] = place, f"={place}" if keys.count(key) > 1 else str(place)


def _keys(rows: Sequence[ProfileRow], order: IssueOrder, settings: Combination) -> list[tuple[int, ...]]:
    """What services are ordered by: their level, and by the lexicographic rule their levels place by place.

    Places count as far as every service is measured there.
    """
    keys: list[tuple[int, ...]] = [(LEVELS.index(str(row["level"])),) for row in rows]
    if settings.rule != "lexicographic":
        return keys
    places: list[list[tuple[int, ...]]] = []
    for place in order.places:
        found = [[_level(row["issues"].get(name)) for name in place] for row in rows]
        if any(level is None for one in found for level in one):
            break
        places.append([tuple(sorted((LEVELS.index(str(one)) for one in row), reverse=True)) for row in found])
    return [
        (*key, *(level for place in places for level in place[number])) for number, key in enumerate(keys)
    ]
