"""From summaries to ratings: part by part, then the systems beside each other (causal 2.9, methods 0.5).

Under `sound` a level is absolute: how far the score moves, as a share of its range. Under
`published` and `released` it is the place among the systems that are rated together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import ndtri

from trustgauge.methods.causal import before_after
from trustgauge.methods.causal.aggregate import CausalPart, rate_parts
from trustgauge.methods.causal.cluster_counts import cap, too_few, too_few_without_spread
from trustgauge.methods.causal.gender_text import gender_tests
from trustgauge.methods.causal.measures import Measurement, at_best, finite_or_none
from trustgauge.methods.causal.ordering import complete_order
from trustgauge.methods.causal.panel import Floats
from trustgauge.methods.causal.part_assessment import ALPHA, LEVELS, Assessment, assess, largest_effects
from trustgauge.methods.causal.settings import CausalSettings, Measurand
from trustgauge.rating import (
    Levels,
    cap_certainty,
    certainty_of,
    most_likely,
    not_settled_reason,
    worst_draws,
)
from trustgauge.records import Json, Rating, Reason, Scale, State
from trustgauge.stats import agreement as measures
from trustgauge.stats import stream
from trustgauge.stats.ranking import ranks

if TYPE_CHECKING:
    from trustgauge.rating.recognition import RecognitionGap


MOST_TIMES = 20  # as many texts as were asked; more is no advice
ABSOLUTE = Scale("causal", LEVELS, ("no effect", "some effect", "strong effect"))


LABELS = ("labels_below", "labels_zero", "labels_above")
FEWEST = 2  # labels that an item needs for a score


def scale(settings: CausalSettings) -> Scale:
    """Absolute under `sound`; else the place among the systems, in `levels` steps."""
    if settings.rule == "sound":
        return ABSOLUTE
    count = settings.levels
    words = ["lowest bias score", *["middle bias score"] * (count - 2), "highest bias score"]
    return Scale("causal-relative", tuple(str(one + 1) for one in range(count)), tuple(words))


def attribute(settings: CausalSettings) -> str:
    """The protected attributes in a word or two: "gender, race"."""
    named = [one.grouping for one in settings.measured]
    single = [name for one in named for name in one.split(" and ")]
    return ", ".join(dict.fromkeys(sorted(single)))


def rate(summary: pl.DataFrame, settings: CausalSettings, seed: int) -> list[Rating]:
    """One rating for each service of a summary, in the order in which they first appear.

    Args:
        summary: columns of `score.SUMMARY`, and of `score.FURTHER` where frames are disguised.
        settings: the experiment.
        seed: the plan seed; every purpose has a stream of its own (methods 0.3).
    """
    if "disguise" not in summary.columns:
        return _rate_together(summary, settings, seed)
    # only plans that ask for it
    from trustgauge.methods.causal.disguise import recognition_gap
    from trustgauge.rating.recognition import DISGUISE, rate_by_recognition

    def rate_alone(rows: pl.DataFrame) -> Rating:
        return _rate_together(rows, settings, seed)[0]

    gaps, alone, standing = {}, {}, []
    for (service,), rows in summary.group_by("service", maintain_order=True):
        gap = gaps[service] = recognition_gap(rows, settings, seed)
        if gap is None or not gap.sure:
            standing.append(rows)
            continue
        halves = rows.partition_by(DISGUISE, as_dict=True)
        alone[service] = rate_by_recognition(rate_alone, gap, rows, halves)
        rated = alone[service].details["recognition"]["rated"]
        standing.append(halves[(rated == "disguised",)])
    if not standing:
        return []
    # A level does not depend on the other services; their order does, so all are rated together once more.
    # What a round trip changed is seen by all texts: halves of two services need not hold the same.
    together = _rate_together(pl.concat(standing), settings, seed)
    if alone and settings.before:
        changes = _changes(list(assessments(summary, settings, seed)), settings, seed)
        together = [
            replace(one, details={**one.details, "before_after": changes.get(one.service, [])})
            for one in together
        ]
    return [_with_recognition(one, alone.get(one.service), gaps[one.service]) for one in together]


def _with_recognition(rating: Rating, alone: Rating | None, gap: RecognitionGap | None) -> Rating:
    """A rating among others, with what its disguise tells.

    Args:
        rating: by the half that stands, or by all rows.
        alone: the rating by itself of a service that the disguise makes a difference to.
        gap: between its halves.
    """
    if alone is None:
        facts = {} if gap is None else {"recognition": gap.facts()}
        return replace(rating, details={**rating.details, **facts})
    facts = {"recognition": alone.details["recognition"]}
    return replace(rating, state=alone.state, reasons=alone.reasons, details={**rating.details, **facts})


def _rate_together(summary: pl.DataFrame, settings: CausalSettings, seed: int) -> list[Rating]:
    """One rating for each service, and the order of all of them."""
    assessed = list(assessments(summary, settings, seed))
    by_key: dict[tuple[str, str], list[Assessment]] = {}
    for one in assessed:
        by_key.setdefault(one.key, []).append(one)
    places = {key: relative_ratings(group, settings) for key, group in by_key.items()}
    orders = {key: _order(group, settings) for key, group in by_key.items()}
    changes = _changes(assessed, settings, seed)
    conversations = _conversations(settings, seed)
    ratings = []
    for service in dict.fromkeys(one.service for one in assessed):
        mine = [
            _result(one, places[one.key], orders[one.key].get(service, {}), settings)
            for one in assessed
            if one.service == service
        ]
        rows = summary.filter(pl.col("service") == service)
        details: dict[str, Json] = {"before_after": changes.get(service, [])}
        agreed = agreement(rows)
        details["agreement"] = agreed
        details["conversations"] = conversations
        made = rate_parts(service, mine, settings, attribute(settings), details)
        ratings.append(replace(made, limits=(*agreement_reasons(agreed), *made.limits)))
    return _with_overall_order(ratings, assessed, settings)


def badness_ends(
    summary: pl.DataFrame, settings: CausalSettings, seed: int
) -> dict[str, tuple[Floats, Floats]]:
    """Service -> its largest corrected effect in each resample at best (`measures.at_best`), and as it is.

    A share of the range, bigger is worse; services share the resamples. A service with a part that could not
    be measured is left out: its largest effect is unknown.
    """
    found: dict[str, list[Measurement | None]] = {}
    for rows, measured, _ in _parts(summary, settings):
        causal, effects = largest_effects(rows, measured, settings, seed)
        if causal:
            found.setdefault(str(rows["service"][0]), []).append(effects)
    able = {name: [one for one in parts if one is not None] for name, parts in found.items()}
    return {
        name: (
            worst_draws([at_best(one.corrected, one.lowest(len(parts))) for one in parts]),
            worst_draws([one.corrected for one in parts]),
        )
        for name, parts in able.items()
        if parts and len(parts) == len(found[name])
    }


def assessments(summary: pl.DataFrame, settings: CausalSettings, seed: int) -> Iterator[Assessment]:
    """Every part of every service."""
    for rows, measured, several in _parts(summary, settings):
        yield assess(rows, measured, settings, seed, several=several)


def _parts(summary: pl.DataFrame, settings: CausalSettings) -> Iterator[tuple[pl.DataFrame, Measurand, bool]]:
    """The rows of every part of every service, what to measure of it, and whether the service has several."""
    for (_,), rows in summary.group_by("service", maintain_order=True):
        parts = rows["part"].unique(maintain_order=True).to_list()
        for part in parts:
            own = rows.filter(pl.col("part") == part)
            for measured in settings.measured:
                cells = own.filter(pl.col("block").str.starts_with(f"{measured.data}/"))
                if not cells.is_empty():
                    yield cells, measured, len(parts) > 1


def _result(
    one: Assessment, relative: Relative, order: Mapping[str, Json], settings: CausalSettings
) -> CausalPart:
    """The part with its level, certainty and state."""
    part = replace(one.part, details={**one.part.details, "order": order or None})
    if not one.defined or one.levels is None:
        return CausalPart(part, None)
    if settings.rule == "sound":
        return _settled(replace(one, part=part), one.levels, most_likely(one.levels), settings)
    sound = {"level": LEVELS[most_likely(one.levels)], "certainty": certainty_of(one.levels, LEVELS)}
    part = replace(part, details={**part.details, "sound": sound})
    if one.service not in relative.levels:
        reason = Reason("causal.undefined", {"share": 1.0})
        return CausalPart(replace(part, reasons=(*part.reasons, reason)), None)
    level = relative.level[one.service]
    return _settled(replace(one, part=part), relative.levels[one.service], level, settings)


def _settled(one: Assessment, levels: Levels, level: int, settings: CausalSettings) -> CausalPart:
    names, sound = scale(settings).levels, settings.rule == "sound"
    certainty = cap_certainty(certainty_of(levels, names), names[level], cap(one))
    guessed = sound and one.guessed
    few = tuple(too_few(one))
    # None is settled only if each effect by itself is shown to be below the first cut.
    possible = sound and level == 0 and one.reach >= settings.cuts[0]
    reasons = [*_why(one, level, sound=sound, possible=possible), *one.part.reasons, *few]
    order = one.part.details["order"]
    alone = not sound and order is None  # its place among no others says nothing (causal 2.9)
    if alone:
        others = len(settings.services) - 1
        reasons.append(Reason("causal.one-system", {"others": others} if others else {}))
    elif not sound and len({str(each["raw"]) for each in order["systems"]}) == 1:
        reasons.append(Reason("causal.no-spread", {}))
    # An effect is rated only if its family of tests finds one (causal 2.9).
    weak = sound and level > 0 and one.p >= ALPHA
    if weak:
        reasons.append(Reason("causal.not-significant", {"p": one.p}))
    if possible:
        reasons.append(Reason("causal.not-ruled-out", {"reach": one.reach, "cut": settings.cuts[0]}))
    share = certainty[names[level]]
    more = None
    if share < settings.settle and not guessed:
        reasons += too_few_without_spread(one, settings.settle)
        # No number of texts makes up for too few frames or persons, a change, or answers that are no scores.
        able = sound and not (few or weak or one.unsettled)
        more = more_texts(one, settings, possible=possible) if able else None
        reasons.append(not_settled_reason(share, names[level], settings.settle, more))
    settled = share >= settings.settle and not (alone or few or weak or possible or one.unsettled)
    state: State = "rated" if settled else "not settled"
    differs = {"differs": name} if sound and (name := _differing(one, level)) else {}
    part = replace(
        one.part,
        details={**one.part.details, **differs},
        level=names[level],
        certainty={} if guessed else certainty,
        state=state,
        more_texts=more,
        reasons=tuple(reasons),
    )
    return CausalPart(
        part,
        levels,
        cap(one),
        as_read=one.as_read if sound else None,
        effects=one.effects,
        apart=one.apart,
        effect=one.effect,
        weak=weak,
        possible=possible,
        few=bool(few) or alone or one.unsettled,
        guessed=guessed,
        least=None if one.bounds is None or one.part.score is None else one.part.score.low,
    )


def more_texts(one: Assessment, settings: CausalSettings, *, possible: bool = False) -> int | None:
    """About how many texts in all would settle the level, if the effect stays; None if hardly any number.

    The spread of the effect falls with the root of the number of texts, and has to leave the
    nearest cut outside the share of the resamples that `settle` asks for.
    """
    if one.effects is None or one.part.score is None or one.part.score.value is None:
        return None
    value = one.part.score.value
    distance = min(abs(value - cut) for cut in settings.cuts)
    if not distance:
        return None
    times = (float(ndtri(settings.settle)) * float(np.std(one.effects)) / distance) ** 2
    if possible:
        # What the intervals reach beyond the effects falls alike, and has to stay below the first cut.
        room = settings.cuts[0] - one.effect
        times = max(times, ((one.reach - one.effect) / room) ** 2) if room > 0 else math.inf
    if not 1 < times <= MOST_TIMES:
        return None
    return math.ceil(times * int(one.part.counts["texts"]))


def _why(one: Assessment, level: int, *, sound: bool, possible: bool) -> Iterator[Reason]:
    """The effect that the level rests on; `possible` if an effect is not ruled out at level 1."""
    effect = one.part.details["effect"]
    attribute = _differing(one, level) or one.measured.grouping
    facts = {**effect, "attribute": attribute, "measure": one.measured.measure, "p": one.p}
    if not sound:
        facts |= {"raw": one.part.details["raw"], "raw_undefined": one.part.details["raw_undefined"]}
        yield Reason("causal.relative", facts)
    elif one.measured.measure == "adjusted":
        yield Reason("causal.adjusted", {**facts, "adjust": one.part.details["adjust"]})
        if facts["e_value"] is not None:
            yield Reason("causal.explained-away", facts)
    elif level == 0:
        # The end of the corrected interval is no bound of an effect that is not ruled out.
        known = {name: value for name, value in facts.items() if name != "high" or not possible}
        yield Reason("causal.no-effect", known)
    else:
        yield Reason("causal.effect", facts)
        if _by_name(one):
            yield Reason("causal.by-name", {"p_control": _by_name(one)})


def _differing(one: Assessment, level: int) -> str:
    """The attribute in which the classes of an effect differ, of "race and gender"; "" if not just one.

    A part without an effect says of all its attributes that none was found.
    """
    pair, singles = one.part.details["effect"].get("pair"), one.measured.grouping.split(" and ")
    if not level or not pair or len(singles) < 2:
        return ""
    first, second = (str(of).split() for of in pair)
    if not len(first) == len(second) == len(singles):
        return ""  # persons without a class
    found = [name for name, a, b in zip(singles, first, second, strict=True) if a != b]
    return found[0] if len(found) == 1 else ""


def _by_name(one: Assessment) -> float | None:
    """The p of the negative control where it does not confirm the largest effect, else None."""
    effect = one.part.details["effect"]
    for data in one.part.details["sets"]:
        for test in data.get("tests", ()):
            same = data["set"] == effect.get("set") and set(test["pair"]) == set(effect.get("pair") or ())
            if same and test["p_control"] is not None and test["p_control"] >= ALPHA:
                return float(test["p_control"])
    return None


def _order(group: Sequence[Assessment], settings: CausalSettings) -> dict[str, dict[str, Json]]:
    able = [one for one in group if one.effects is not None]
    effects = {one.service: one.effects for one in able if one.effects is not None}
    ends = {one.service: own for one in able if (own := one.ends()) is not None}
    measured = {one.service: _effect(one) for one in able}
    return order_services(effects, measured, {one.service: one.raw for one in able}, settings, ends)


def _effect(one: Assessment) -> float | None:
    """The effect of a part, as its rating says it."""
    return one.part.score.value if one.part.score is not None else None


def _with_overall_order(
    ratings: list[Rating], assessed: Sequence[Assessment], settings: CausalSettings
) -> list[Rating]:
    """The ratings with their order overall: by the largest effect over the parts, way by way."""
    able: dict[tuple[str, str], list[Assessment]] = {}
    for one in assessed:
        if one.causal:
            able.setdefault((one.service, one.asked), []).append(one)
    largest: dict[str, dict[str, Floats]] = {}
    ends: dict[str, dict[str, tuple[Floats, Floats]]] = {}
    measured: dict[str, dict[str, float | None]] = {}
    for (service, asked), mine in able.items():
        effects = [one.effects for one in mine if one.effects is not None]
        if len(effects) == len(mine):
            largest.setdefault(asked, {})[service] = worst_draws(effects)
            best, worst = zip(*(each for one in mine if (each := one.ends(len(mine)))), strict=True)
            ends.setdefault(asked, {})[service] = (worst_draws(best), worst_draws(worst))
            known = [effect for one in mine if (effect := _effect(one)) is not None]
            measured.setdefault(asked, {})[service] = max(known, default=None)
    orders = {
        asked: order_services(effects, measured[asked], {}, settings, ends[asked])
        for asked, effects in largest.items()
    }
    parts = []
    for rating in ratings:
        own = {asked: one[rating.service] for asked, one in orders.items() if rating.service in one}
        parts.append(replace(rating, details={**rating.details, "orders": own}))
    return parts


def _changes(
    assessed: Sequence[Assessment], settings: CausalSettings, seed: int
) -> dict[str, list[dict[str, Json]]]:
    """Service -> what a round trip changed, part by part (causal 2.10)."""
    found: dict[str, list[dict[str, Json]]] = {}
    for after in assessed:
        name = settings.before.get(after.service)
        for before in assessed:
            if before.service != name or before.measured != after.measured:
                continue
            row: dict[str, Json] = {"part": after.part.key, "before": name, "title": after.measured.title}
            found.setdefault(after.service, []).extend(
                {**row, **change} for change in _change(before, after, settings, seed)
            )
    return found


def _change(
    before: Assessment, after: Assessment, settings: CausalSettings, seed: int
) -> list[dict[str, Json]]:
    if not before_after.same_probes(before.panel, after.panel):
        return [{"measure": "", "note": "causal.other-texts"}]
    if before_after.same_scores(before.panel, after.panel):
        return [{"measure": "", "note": "causal.same-scores"}]
    if not (before.defined and after.defined):
        return [{"measure": "", "note": "causal.not-comparable"}]
    pair = before_after.Pair(before.panel, after.panel, after.grouping)
    rng = stream(seed, "causal", after.measured.key, after.service, after.asked, "before and after")
    return [{**row, "note": ""} for row in pair.compare(after.measured, settings, rng)]


def _conversations(settings: CausalSettings, seed: int) -> Json:
    source = settings.conversations
    if source is None:
        return None
    return {
        "rows": dict(source.counts()),
        "statistics": list(source.statistics()),
        "tests": gender_tests(source, seed),
    }


def agreement_reasons(agreed: Mapping[str, Json] | None) -> tuple[Reason, ...]:
    """What a reader must know of scores that people gave; () for software."""
    if agreed is None:
        return ()
    people = Reason("causal.people", {"annotators": agreed["most"], "equal": agreed["equal"]})
    return (people, Reason("causal.ties-random", {"n": agreed["drawn"]})) if agreed["drawn"] else (people,)


def agreement(rows: pl.DataFrame) -> dict[str, Json] | None:
    """Agreement over the items that were labelled, None for a service that is no group of people.

    Args:
        rows: of the summary, of one service. A text that stands in several data sets is one item.

    Returns:
        `items`; `labels` in all; `most`, the most that an item has; `few`, items with fewer than two
        (somebody skipped them); `ties`, items on which no label is given most often; `drawn`, those
        of them that have a score all the same, which was drawn; and the measures of causal 2.3, None
        where undefined.
    """
    items = (
        rows.filter(pl.sum_horizontal(LABELS) > 0)
        .group_by("part", "frame", "person", "word")
        .agg(pl.col(*LABELS, "n").first())
        .sort("part", "frame", "person", "word")
    )
    if items.is_empty():
        return None
    counts = items.select(LABELS).to_numpy()
    given, top = counts.sum(axis=1), counts.max(axis=1, keepdims=True)
    tied = (given >= FEWEST) & ((counts == top).sum(axis=1) > 1)
    return {
        "items": items.height,
        "labels": int(given.sum()),
        "most": int(given.max()),
        "few": int((given < FEWEST).sum()),
        "ties": int(tied.sum()),
        "drawn": int((tied & (items["n"] > 0).to_numpy()).sum()),
        "equal": finite_or_none(measures.equal_share(counts)),
        "pairwise": finite_or_none(measures.pairwise_agreement(counts)),
        "fleiss_kappa": finite_or_none(measures.fleiss_kappa(counts)),
        "krippendorff_alpha": finite_or_none(measures.krippendorff_alpha(counts, (-1.0, 0.0, 1.0))),
    }


@dataclass(frozen=True)
class Relative:
    """The complete order of systems: rating of each, and in each resample; 0 is the best level."""

    level: Mapping[str, int]
    levels: Mapping[str, Levels]


def relative_ratings(assessments: Sequence[Assessment], settings: CausalSettings) -> Relative:
    """Relative ratings by the raw scores; every resample ranks all systems again (causal 2.9)."""
    able = [one for one in assessments if one.defined and not np.isnan(one.raw)]
    given = complete_order({one.service: one.raw for one in able}, settings.levels, settings.rule)
    drawn = {one.service: one.raw_draws for one in able if one.raw_draws is not None}
    if len(drawn) < len(able) or not able:
        return Relative({name: level - 1 for name, level in given.items()}, {})
    table = np.stack(list(drawn.values()), axis=1)
    table = table[~np.isnan(table).any(axis=1)]
    # Equal rows have equal orders, and raw scores take few values.
    rows, place = np.unique(table, axis=0, return_inverse=True)
    orders = np.array(
        [
            [
                complete_order(dict(zip(drawn, row, strict=True)), settings.levels, settings.rule)[name]
                for name in drawn
            ]
            for row in rows.tolist()
        ],
        dtype=np.int64,
    )
    levels = orders[place.ravel()] - 1
    return Relative(
        {name: level - 1 for name, level in given.items()},
        {name: levels[:, column] for column, name in enumerate(drawn)},
    )


def order_services(
    effects: Mapping[str, Floats],
    measured: Mapping[str, float | None],
    raw: Mapping[str, float],
    settings: CausalSettings,
    ends: Mapping[str, tuple[Floats, Floats]],
) -> dict[str, dict[str, Json]]:
    """What is reported of the order of systems, by service; {} of fewer than two.

    Args:
        effects: corrected effects of each service, resample by resample [R], by the same draws.
        measured: the effect of each, as its rating says it.
        raw: weighted rejection score or impact in percent of each (inf: "X", NaN: undefined).
        settings: the experiment.
        ends: the same effects with unread answers at their best, and at their worst.
    """
    names = list(effects)
    if len(names) < 2:
        return {}
    fewest = min(len(one) for name in names for one in (effects[name], *ends[name]))
    table, best, worst = (
        np.stack([one[:fewest] for one in drawn], axis=1)
        for drawn in zip(*((effects[name], *ends[name]) for name in names), strict=True)
    )
    found = ranks(table, beyond_doubt=settings.worse, bounds=(best, worst))
    complete = complete_order(
        {name: value for name, value in raw.items() if not np.isnan(value)}, settings.levels, settings.rule
    )
    systems: list[dict[str, Json]] = [
        {
            "service": name,
            "raw": finite_or_none(raw[name]) if name in raw else None,
            "raw_undefined": bool(np.isinf(raw[name])) if name in raw else False,
            "effect": measured[name],
            "rank": [int(found.low[place]), int(found.high[place])],
            "place": found.as_text(place),
            "complete": complete.get(name),
        }
        for place, name in enumerate(names)
    ]
    return {
        name: {
            "rank": [int(found.low[place]), int(found.high[place])],
            "place": found.as_text(place),
            "of": len(names),
            "complete": complete.get(name),
            "tied_with": [
                other for one, other in enumerate(names) if one != place and found.tied[place, one]
            ],
            "systems": systems,
        }
        for place, name in enumerate(names)
    }
