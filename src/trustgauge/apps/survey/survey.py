"""A survey of what matters to people: votes, similar people, and checks of profiles (trust 4.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trustgauge import plugins
from trustgauge.apps.survey.table import Respondent, read_survey
from trustgauge.errors import Fault, PlanError
from trustgauge.methods.trust.preference_parsing import LETTERS
from trustgauge.methods.trust.profiles import PAPER_NAMES, PUBLISHED, IssueOrder, profile_order, title
from trustgauge.methods.trust.similarity import silhouette_groups
from trustgauge.methods.trust.voting import MOST_ISSUES, WAYS, Voting, stability, vote
from trustgauge.records import Json, plain
from trustgauge.stats.distributions import wilson

SCHEMA = "trustgauge.survey/1"
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SurveyOptions:
    """What is wanted of a survey.

    Attributes:
        voting: how the orders become one.
        groups: whether people are grouped by how alike their orders are.
        profiles: to be checked; those that the table names are checked anyway.
        issues: that may occur, besides the installed ones.
        skip: leave out rows that are wrong, and tell them.
    """

    voting: Voting = field(default_factory=Voting)
    groups: bool = False
    profiles: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    skip: bool = False


def survey(file: Path, asked: SurveyOptions) -> Document:
    """What a table of orders comes to.

    Returns:
        `people` with an order among `rows`, rows left out (`blank`, `repeated`, `orderless`, `faults`),
        columns not read (`ignored`), the `issues` that anybody listed, `votes` by every method, the
        `stability` of the one asked for, `groups` (None unless asked for), `validation` of profiles, and
        `profiles`: name -> places, as a plan holds them.

    Raises:
        PlanError: the table cannot be read, its rows are wrong, nobody gave an order, or there is no such
            profile.
    """
    known = tuple(dict.fromkeys((*LETTERS.values(), *plugins.names("issues"), *asked.issues)))
    read = read_survey(file, known, _misfit, skip=asked.skip)
    voters = [(one, order) for one in read.answers if (order := _order(one)) is not None]
    if not voters:
        must = "at least one row with an order of issues"
        raise PlanError.of("FILE", "no row contains an order", must=must)
    ballots = [order for _, order in voters]
    issues = _listed(ballots)
    name = _name(file)
    whole = vote(ballots, issues, asked.voting)
    profiles = {name: whole.profile}
    groups = _groups(voters, asked.voting, name) if asked.groups else None
    if groups is not None and len(groups["groups"]) > 1:
        profiles |= {one["name"]: IssueOrder.parse(one["order"]) for one in groups["groups"]}
    return {
        "schema": SCHEMA,
        "file": file.name,
        "rows": read.rows,
        "people": len(ballots),
        "blank": read.blank,
        "repeated": read.repeated,
        "orderless": len(read.answers) - len(ballots),
        "faults": [str(one) for one in read.faults],
        "ignored": list(read.ignored),
        "issues": list(issues),
        "way": asked.voting.way,
        "votes": list(_votes(ballots, issues, asked.voting)),
        "stability": stability(ballots, issues, asked.voting),
        "groups": groups,
        "validation": [_validation(one, read.answers) for one in _to_check(read.answers, asked.profiles)],
        "profiles": {name: list(order.written) for name, order in profiles.items()},
    }


def profiles_toml(document: Document) -> str:
    """The orders as `[profiles.NAME]` tables for a plan."""
    import tomli_w

    text = f"# Orders of {document['people']} people by the method {document['way']}; they go into a plan."
    tables = {name: {"order": places} for name, places in document["profiles"].items()}
    return f"{text}\n{tomli_w.dumps({'profiles': tables})}"


def _votes(ballots: Sequence[IssueOrder], issues: Sequence[str], voting: Voting) -> Iterator[Json]:
    """The order that each method of voting gives."""
    for way in WAYS:
        if way == "kemeny" and len(issues) > MOST_ISSUES:
            continue
        found = vote(ballots, issues, replace(voting, way=way))
        yield {**plain(found), "profile": list(found.profile.written)}


def _listed(ballots: Sequence[IssueOrder]) -> tuple[str, ...]:
    """Issues that matter to anybody: one that no ballot lists is not voted on."""
    return tuple(sorted({name for one in ballots for name in one.issues}))


def _name(file: Path) -> str:
    """A profile's name from that of the file, never that of a published profile."""
    name = re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-") or "survey"
    return f"{name}-survey" if name in PUBLISHED else name


def _groups(voters: Sequence[tuple[Respondent, IssueOrder]], voting: Voting, name: str) -> Document:
    """People grouped, with the order that each group gives."""
    ballots = [order for _, order in voters]
    found = silhouette_groups(ballots, _listed(ballots))
    groups = []
    for number, members in enumerate(found.members, 1):
        mine = [ballots[at] for at in members]
        outcome = vote(mine, _listed(mine), voting)
        groups.append(
            {
                "name": f"{name}-{number}" if len(found.members) > 1 else name,
                "people": len(members),
                "order": list(outcome.profile.written),
                "rows": [voters[at][0].row for at in members],
            }
        )
    return {
        "groups": groups,
        "silhouette": found.silhouette,
        "tried": {str(number): value for number, value in sorted(found.tried.items())},
        "merged": found.merged,
    }


def _profile(name: str) -> IssueOrder | None:
    name = PAPER_NAMES.get(name, name)
    return IssueOrder.parse(PUBLISHED[name].order) if name in PUBLISHED else None


def _order(one: Respondent) -> IssueOrder | None:
    """What a person's order is: their own, or that of the profile they agree to."""
    if one.places is not None:
        return IssueOrder(one.places)
    return _profile(one.profile) if one.agrees else None


def _misfit(one: Respondent) -> Fault | None:
    """What a row says of a profile and cannot mean."""
    place = f"row {one.row}"
    order = _profile(one.profile)
    if one.profile and order is None:
        return plugins.unknown(place, "profile", one.profile, tuple(PUBLISHED))
    if order is None or one.agrees is None or one.places is None:
        return None
    same = one.places == order.places
    if same == one.agrees:
        return None
    said = (
        "agrees with the order of the profile"
        if one.agrees
        else "does not agree with the order of the profile"
    )
    return Fault(
        place, f"{said}, and gives {'the same' if same else 'another one'}", got=str(IssueOrder(one.places))
    )


def _to_check(answers: Sequence[Respondent], wanted: Sequence[str]) -> tuple[str, ...]:
    """Profiles to check: those asked for, and those that people were shown."""
    for name in wanted:
        profile_order(name, {}, place="--validate")
    named = [PAPER_NAMES.get(one.profile, one.profile) for one in answers if one.profile]
    return tuple(dict.fromkeys([*(PAPER_NAMES.get(name, name) for name in wanted), *sorted(named)]))


def _validation(name: str, answers: Sequence[Respondent]) -> Document:
    """Whether people agree with a profile's order and with its most important issue (trust 4.3).

    Counted are those who were shown it; everybody, if the table shows it to nobody. Somebody agrees who says
    so, or whose own order is the same; with the top issue, whose own first place is the same.
    """
    order = profile_order(name, {})
    shown = [one for one in answers if PAPER_NAMES.get(one.profile, one.profile) == name]
    people = shown or list(answers)
    ballots = [found for one in people if (found := _order(one)) is not None]
    whole = [one.agrees for one in shown if one.agrees is not None]
    whole += [_order(one) == order for one in people if one.places and not (shown and one.agrees is not None)]
    issues = _listed([*ballots, order])
    agree = _share(whole)
    return {
        "profile": name,
        "title": title(name),
        "order": list(order.written),
        "shown": bool(shown),
        "agree": agree,
        "top": _share([found.places[0] == order.places[0] for found in ballots]),
        "borda": list(vote(ballots, issues, Voting()).profile.written) if ballots else [],
        "validated": {
            "published": bool(agree["n"]) and agree["share"] > 0.5,
            "sound": bool(agree["n"]) and agree["low"] > 0.5,
        },
    }


def _share(outcomes: Sequence[bool | None]) -> dict[str, Json]:
    """How many of how many, with Wilson's interval."""
    count, n = sum(bool(one) for one in outcomes), len(outcomes)
    low, high = wilson(count, n)
    return {"count": count, "n": n, "share": count / n if n else None, "low": low, "high": high}
