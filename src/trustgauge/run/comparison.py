"""Ratings beside each other: those of one method, rule and set of texts in one ranking, with ties.

Two services differ only if their answers to the same texts say so: badness is resampled with the
same draws for all services of a group (`ServiceComparer` of the method), and ranks, differences and
verdicts follow from these draws (methods 0.6, causal 2.9). Nothing is asked; all is read from run folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.errors import PlanError, TrustgaugeError
from trustgauge.methods import (
    ChanceBounder,
    GapBounder,
    MarginUser,
    Method,
    ServiceComparer,
    WorseThreshold,
)
from trustgauge.records import Json
from trustgauge.reports.document import is_same_place, is_slight, levels
from trustgauge.run.rating_diff import TEXT, diff_ratings, read_texts
from trustgauge.run.stored_ratings import RowBuilder, StoredRating, recent_runs, select_runs, stored_ratings
from trustgauge.run.targets import experiment_seed, probes_of
from trustgauge.stats.ranking import Difference, difference, ranks

if TYPE_CHECKING:
    from trustgauge.reports.comparison_model import (
        ComparisonDocument,
        ComparisonRow,
        DifferenceEntry,
        GroupEntry,
        PairEntry,
        RankEntry,
        RemarkEntry,
    )

SCHEMA: Literal["trustgauge.comparison/1"] = "trustgauge.comparison/1"
MOST_UNDEFINED = 0.05  # of the resamples (methods 0.5 (e))
BEYOND_DOUBT = 0.95  # P(A worse than B) from which A is placed behind B (causal 2.9)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ComparisonQuery:
    """What to compare.

    Attributes:
        names: ids of runs or ratings, or paths; none: all ratings of the folder.
        rule: only ratings under this rule; "" for all.
        states: only ratings of these states; none for all.
        links: the folder that links to reports start from, the address of the catalogue where they are, or
            "#" if the page carries what they lead to; None for no links.
    """

    names: Sequence[str] = ()
    rule: str = ""
    states: Sequence[str] = ()
    links: Path | str | None = None


@dataclass
class GroupDraws:
    """What a group's draws say: by label of a rating, and how ratings are labelled.

    `ends` are the draws with what is missing or unread at its best and at its worst; of a method that does
    not bound it they are the draws themselves. At best there is no effect that may be none.
    """

    label: Mapping[str, str]
    draws: dict[str, Floats] = field(default_factory=dict)
    ends: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    notes: list[RemarkEntry] = field(default_factory=list)

    def of(self, one: StoredRating) -> Floats | None:
        """The draws of a rating, if there are any."""
        return self.draws.get(self.label[one.id])

    def ends_of(self, one: StoredRating) -> tuple[Floats, Floats]:
        """The draws at best and at worst of a rating that has draws."""
        label = self.label[one.id]
        return self.ends.get(label, (self.draws[label], self.draws[label]))


def compare(ratings: Path, wanted: ComparisonQuery, today: date) -> ComparisonDocument:
    """The comparison as a document: all its views are functions of it.

    Args:
        ratings: folder of all runs.
        wanted: what to compare.
        today: for what has expired.

    Raises:
        PlanError: there is no such rating, or none at all.
    """
    chosen, passed_over = (
        (select_runs(ratings, wanted.names), 0)
        if wanted.names
        else recent_runs(ratings, wanted.rule, wanted.states)
    )
    kept = [one for run in chosen for one in stored_ratings(run) if _wanted(one, wanted)]
    notes = [remark("compare.void", run=run.id) for run in chosen if run.document["run"]["state"] == "void"]
    notes += [remark("compare.unreadable", rating=one.id, why=one.why) for one in kept if one.why]
    if passed_over:
        notes.append(remark("compare.passed-over", runs=passed_over))
    if not kept and not notes:
        filters = [f"rule {wanted.rule}"] * bool(wanted.rule) + list(wanted.states)
        what = f"no ratings with {', '.join(filters)}" if filters else "no ratings to compare"
        do = "Leave out the filter." if filters else "`trustgauge rate` makes some"
        raise PlanError.of(str(ratings), what, must="at least one rating", do=do)
    groups: dict[tuple[str, ...], list[StoredRating]] = {}
    for one in kept:
        groups.setdefault(one.key, []).append(one)
    stood = {key: group_draws(members) for key, members in groups.items()}
    if len(groups) > 1:
        notes.append(remark("compare.separate", groups=len(groups)))
    shown = RowBuilder(wanted.links, today)
    return {
        "schema": SCHEMA,
        "date": today.isoformat(),
        "filters": {"rule": wanted.rule, "states": list(wanted.states)},
        "groups": [
            _group(members, stood[key], shown, _differs(members[0], list(groups.values())))
            for key, members in groups.items()
        ],
        "dates": [
            diff_ratings(before, after, shown.row, _paired(stood, before, after))
            for before, after in _dates(kept)
        ],
        "notes": notes,
    }


def remark(code: str, **facts: Json) -> RemarkEntry:
    """A remark, as a reason is: a code with its facts."""
    return {"code": code, "facts": facts, "evidence": []}


def _wanted(one: StoredRating, wanted: ComparisonQuery) -> bool:
    right = not wanted.rule or one.rating["method"]["rule"] == wanted.rule
    return right and (not wanted.states or one.rating["state"] in wanted.states)


def group_draws(members: Sequence[StoredRating], least: int = 0) -> GroupDraws:
    """The draws of all ratings of a group, by the same resamples.

    A method that cannot bound what is missing or unread compares what was read of all members.

    Args:
        members: ratings of one key.
        least: how many draws there must be; as many as the method makes at once, by default.
    """
    newest = members[0]
    several = {one.service for one in members if sum(other.service == one.service for other in members) > 1}
    label = {
        one.id: f"{one.service} @ {one.id}" if one.service in several else one.service for one in members
    }
    stood = GroupDraws(label)
    if newest.why:
        return stood
    if not isinstance(newest.method, ServiceComparer):
        stood.notes.append(remark("compare.no-standing", method=newest.key[0]))
        return stood
    # Without a level next to nothing may have been read of a service, and so of all in common.
    able = [one for one in members if one.rating["state"] in ("rated", "not settled")]
    able = [one for one in able if one.rating["overall"]["level"] is not None]
    if not able:
        return stood
    summary = newest.method.merge(
        [
            newest.method.summarise(marks).with_columns(pl.lit(label[one.id]).alias("service"))
            for one, marks in zip(able, _comparable_marks(newest.method, able), strict=True)
        ]
    )
    seed = experiment_seed(newest.run.plan.seed, newest.experiment)
    try:
        drawn = _draw(newest.method, summary, seed)
        while drawn and 0 < len(next(iter(drawn.values()))[0]) < least:
            seed += 1
            more = _draw(newest.method, summary, seed)
            drawn = {name: np.hstack([drawn[name], more[name]]) for name in drawn if name in more}
    except TrustgaugeError as error:
        stood.notes.append(remark("compare.no-draws", why=str(error)))
        return stood
    for name, (found, best, worst) in drawn.items():
        if np.isnan(found).mean() <= MOST_UNDEFINED:
            stood.draws[name], stood.ends[name] = found, (best, worst)
    return stood


def _draw(method: ServiceComparer, summary: pl.DataFrame, seed: int) -> dict[str, Floats]:
    """How bad each service is, as read, at best, and at worst, [3, R] of one R for all; see `GroupDraws`."""
    if isinstance(method, ChanceBounder):
        every = {name: (one, least, one) for name, (least, one) in method.badness_ends(summary, seed).items()}
    else:
        found = method.badness_draws(summary, seed)
        ends = (
            method.badness_bounds(summary, seed)
            if isinstance(method, GapBounder)
            else {name: (one, one) for name, one in found.items()}
        )
        every = {name: (one, *ends[name]) for name, one in found.items() if name in ends}
    fewest = min((len(one) for each in every.values() for one in each), default=0)
    return {name: np.array([one[:fewest] for one in each]) for name, each in every.items()}


def gaps_of(one: StoredRating) -> int:
    """How many texts of a rating are missing, or unread."""
    coverage = one.rating["coverage"]
    return int(coverage["planned"]) - int(coverage["answered"])


def _comparable_marks(method: Method, members: Sequence[StoredRating]) -> Iterator[pl.DataFrame]:
    """The answers of each member; of a method that bounds no gaps those that were read of every member.

    What was read of one of them only would be a difference of the texts, not of the services.
    """
    if isinstance(method, GapBounder) or not any(gaps_of(one) for one in members):
        yield from (one.marks for one in members)
        return
    common = reduce(lambda one, other: one.join(other, on=TEXT, how="semi"), map(read_texts, members))
    for one in members:
        yield one.marks.join(common, on=TEXT, how="semi", maintain_order="left")


def _group(
    members: Sequence[StoredRating], stood: GroupDraws, shown: RowBuilder, differs: list[str]
) -> GroupEntry:
    """One ranking: the newest rating of every service."""
    first: dict[str, StoredRating] = {}
    for one in members:
        first.setdefault(one.service, one)
    current = list(first.values())
    ranked = _ranked(current, stood)
    rows: list[ComparisonRow] = [{**shown.row(one), "rank": ranked.get(one.id)} for one in current]
    rows = _best_first(rows, levels(current[0].rating))
    by_id = {one.id: one for one in current}
    newest = members[0]
    notes = [*stood.notes, *_notes(rows, members, current, stood)]
    part = newest.parts[0] if newest.parts else None
    texts = probes_of(part, newest.run.probes[newest.experiment, part.task]).height if part else None
    return {
        "method": newest.key[0],
        "version": newest.key[1],
        "rule": newest.key[2],
        "attribute": newest.key[3],
        "inputs": newest.inputs,
        "texts": texts,
        "direction": newest.rating["overall"]["direction"],
        "margin": _margin(newest),
        "beyond_doubt": _beyond_doubt(newest),
        "ranked": bool(ranked),
        "rows": rows,
        "pairs": _pairs([by_id[row["id"]] for row in rows], stood),
        "notes": notes,
        "differs": differs,
    }


def _margin(one: StoredRating) -> float | None:
    return one.method.margin if not one.why and isinstance(one.method, MarginUser) else None


def _beyond_doubt(one: StoredRating) -> float:
    return one.method.worse if not one.why and isinstance(one.method, WorseThreshold) else BEYOND_DOUBT


def _ranked(current: Sequence[StoredRating], stood: GroupDraws) -> dict[str, RankEntry]:
    """Rank of every settled rating that has draws; of fewer than two there is no order."""
    able = [(one, draws) for one in current if (draws := stood.of(one)) is not None]
    able = [(one, draws) for one, draws in able if one.rating["state"] == "rated"]
    if len(able) < 2:
        return {}
    ends = [stood.ends_of(one) for one, _ in able]
    found = ranks(
        np.stack([draws for _, draws in able], axis=1),
        beyond_doubt=_beyond_doubt(current[0]),
        bounds=(np.stack([best for best, _ in ends], axis=1), np.stack([worst for _, worst in ends], axis=1)),
    )
    return {
        one.id: {
            "rank": int(found.rank[place]),
            "shown": found.as_text(place),
            "low": int(found.low[place]),
            "high": int(found.high[place]),
            "of": len(able),
            "badness": float(np.nanmedian(draws)),
        }
        for place, (one, draws) in enumerate(able)
    }


def _best_first(rows: Sequence[ComparisonRow], order: Sequence[str]) -> list[ComparisonRow]:
    """Ranked rows by rank, and before those of a worse level the others: settled first, then by id.

    So nobody who is ranked, but known to be bad, stands above who is not settled and looks better.
    """

    def level(row: ComparisonRow) -> int:
        found = row["rating"]["overall"]["level"]
        return order.index(found) if found in order else len(order)

    def state(row: ComparisonRow) -> int:
        states, found = ("rated", "inferred", "not settled"), row["rating"]["state"]
        return states.index(found) if found in states else len(states)

    ranked = [(rank["rank"], rank["badness"], row) for row in rows if (rank := row["rank"]) is not None]
    found = [row for *_, row in sorted(ranked, key=lambda one: one[:2])]
    for row in sorted((row for row in rows if row["rank"] is None), key=lambda row: (state(row), row["id"])):
        worse = (place for place, one in enumerate(found) if level(one) > level(row))
        found.insert(next(worse, len(found)), row)
    return found


def _pairs(current: Sequence[StoredRating], stood: GroupDraws) -> list[PairEntry]:
    """Every two ratings with draws, the better placed one second: its difference is the other's lead."""
    found: list[PairEntry] = []
    for place, one in enumerate(current):
        for other in current[place + 1 :]:
            apart = pair_difference(other, one, stood)
            if apart is not None:
                found.append({"first": other.id, "second": one.id, **apart})
    return found


def pair_difference(first: StoredRating, second: StoredRating, stood: GroupDraws) -> DifferenceEntry | None:
    """First minus second badness with its interval and verdict; None if one of them has no draws."""
    one, other = stood.of(first), stood.of(second)
    if one is None or other is None:
        return None
    (best, worst), (other_best, other_worst) = stood.ends_of(first), stood.ends_of(second)
    result = difference(one, other, _margin(first), (best - other_worst, worst - other_best))
    settled = first.rating["state"] == second.rating["state"] == "rated"
    return _difference(result, _beyond_doubt(first), settled=settled)


def _difference(one: Difference, beyond_doubt: float, *, settled: bool) -> DifferenceEntry:
    sign = "worse" if one.worse > beyond_doubt else "better" if one.better > beyond_doubt else "="
    return {
        "difference": one.value,
        "low": one.low,
        "high": one.high,
        "p_worse": one.worse,
        "p_better": one.better,
        "found": one.found,
        "verdict": one.verdict,
        "sign": sign,
        "settled": settled,
    }


def _notes(
    rows: Sequence[ComparisonRow],
    members: Sequence[StoredRating],
    current: Sequence[StoredRating],
    stood: GroupDraws,
) -> Iterator[RemarkEntry]:
    """What must be said beside a ranking."""
    names = {one.id: one.rating["service"]["name"] for one in current}
    open_ones = [names[row["id"]] for row in rows if row["rating"]["state"] == "not settled"]
    if open_ones:
        yield remark("compare.not-settled", services=open_ones)
    exchanging = [
        names[one.id] for one in current if any("exchanged" in part["flags"] for part in one.rating["parts"])
    ]
    if exchanging:
        yield remark("compare.exchanged", services=exchanging)
    none = [names[row["id"]] for row in rows if row["rating"]["state"] not in ("rated", "not settled")]
    if none:
        yield remark("compare.incomplete", services=none)
    if len(current) > 1 and stood.draws and not any(row["rank"] for row in rows):
        yield remark("compare.no-order")
    lost = [
        names[one.id]
        for one in current
        if stood.draws and stood.of(one) is None and one.rating["state"] == "rated"
    ]
    if lost:
        yield remark("compare.unknown-badness", services=lost)
    read = [names[one.id] for one in current if stood.of(one) is not None and one.labels]
    if read:
        yield remark("compare.labels-left-out", services=read)
    past = [row for row in rows if row["expired"]]
    if past:
        first = min(row["rating"]["expires"] for row in past)
        yield remark("compare.expired", services=[names[row["id"]] for row in past], expires=first)
    keys = {one.id: tuple(sorted({part.part for part in one.parts})) for one in current}
    if len(set(keys.values())) > 1:
        parts = {names[name]: [key for key in found if key] for name, found in keys.items()}
        yield remark("compare.parts-differ", parts=parts)
    older = [one.id for one in members if one not in current]
    if older:
        yield remark("compare.older", ratings=older)


def _differs(one: StoredRating, groups: Sequence[Sequence[StoredRating]]) -> list[str]:
    """In what a group is unlike the first group of its method and attribute; [] for that group."""
    like = next(
        members[0] for members in groups if (members[0].key[0], members[0].key[3]) == (one.key[0], one.key[3])
    )
    if like.key == one.key:
        return []
    differing = [name for name, place in (("version", 1), ("rule", 2)) if like.key[place] != one.key[place]]
    names = sorted({*like.settings, *one.settings})
    differing += [
        name for name in names if like.settings.get(name) != one.settings.get(name) and name not in differing
    ]
    return [*differing, "texts asked"] if like.inputs != one.inputs else differing


def _dates(kept: Sequence[StoredRating]) -> Iterator[tuple[StoredRating, StoredRating]]:
    """For every service that was rated in several runs: the last two of one address, the earlier one first.

    The last two of its key, if the last one was asked nowhere else.

    Talks and provisional ratings count only where there are no two fuller ones.
    """
    found: dict[tuple[str, str, str, str, int], list[StoredRating]] = {}
    for one in kept:
        identity = (one.service, one.key[0], one.key[2], one.key[3], one.experiment)
        if not one.why and all(other.run.id != one.run.id for other in found.get(identity, ())):
            found.setdefault(identity, []).append(one)
    for every in found.values():
        full = [one for one in every if not is_slight(one.rating)]
        members = full if len(full) > 1 else every
        if len(members) > 1:
            last, *before = members
            yield next((one for one in before if _is_same_place(one, last)), before[0]), last


def _is_same_place(one: StoredRating, other: StoredRating) -> bool:
    return is_same_place(one.rating["service"], other.rating["service"])


def _paired(
    stood: Mapping[tuple[str, ...], GroupDraws], before: StoredRating, after: StoredRating
) -> DifferenceEntry | None:
    """The paired difference of two dates, later minus earlier; None if they cannot be paired."""
    if before.key != after.key:
        return None
    apart = pair_difference(after, before, stood[after.key])
    return None if apart is None else {**apart, "margin": _margin(after)}
