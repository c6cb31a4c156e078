"""What is said beside a level: reasons, direction of change, what was kept, lost and missing.

Also the parts of a service together: worst, vote, and without some of them.

See two-step 1.4, 1.7 and 1.8, methods 0.4 and 0.10.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from trustgauge.methods.two_step.score import KEPT, SURPLUS
from trustgauge.methods.two_step.settings import BY_RULE, TwoStepSettings
from trustgauge.methods.two_step.transition_model import (
    LEVELS,
    TOLERANCE,
    DeclaredDistributions,
    LevelDraws,
    PartCounts,
    TransitionCounts,
    plain_rates,
)
from trustgauge.rating import (
    READ_BY_PEOPLE,
    Aggregation,
    MissingCell,
    Overall,
    PartResult,
    aggregate_parts,
    cell_reasons,
    class_reasons,
    largest_score,
    leading_parts,
    least_share,
    missing_answer_reasons,
    options_of,
    overall_reasons,
    rating_of,
    unread_facts,
)
from trustgauge.records import Interval, Json, Part, Rating, Reason, plain
from trustgauge.stats.comparisons import holm, mcnemar
from trustgauge.stats.distributions import Floats, Ints, draws_interval, wilson

ONE_SIDED = 0.95
MOST = 0.5
"""Two values are exchanged where more than this share of each becomes the other."""
NEARLY_ALL = 0.95
"""From this share on, what became of the lost mentions is said of all of them."""


@dataclass(frozen=True)
class Push:
    """One declared distribution pushed through the observed rates.

    Attributes:
        block: Its name.
        given: Shares of all values in the input, [C].
        output: Shares of what comes out, [C], or [C - 1] if losses are kept apart.
        nearest: The nearest unbiased shares, likewise.
    """

    block: str
    given: Floats
    output: Floats
    nearest: Floats

    @property
    def gaps(self) -> Floats:
        return np.asarray(self.output - self.nearest)

    @property
    def deviation(self) -> float:
        return float(np.abs(self.gaps).max())


def pushes(
    counts: TransitionCounts, declared: DeclaredDistributions, spec: Any, *, pooled: bool
) -> list[Push]:
    """All distributions, in block order, pushed through the observed rates.

    Without pooling each goes through its own block's rates; a value that its block lacks
    borrows the pooled ones.
    """
    together = plain_rates(counts.pooled[0])
    found = []
    for place, (name, shares) in enumerate(zip(spec.blocks, declared.specs, strict=True)):
        own = plain_rates(counts.own[0, place])
        rates = together if pooled else np.where(np.isnan(own), together, own)
        sent = shares > 0
        output = shares[sent] @ rates[sent]
        ways = [declared.as_they_count(output, unbiased) for unbiased in declared.unbiased]
        nearest = int(np.abs(declared.unbiased - ways).max(axis=1).argmin())
        found.append(Push(name, spec.distributions[place], ways[nearest], declared.unbiased[nearest]))
    return found


def reasons(
    level: str, found: list[Push], tallied: PartCounts, declared: DeclaredDistributions, spec: Any
) -> list[Reason]:
    """Why the level is what it is, read on the observed rates (two-step 1.7).

    BS is read on the unbiased distribution that comes out furthest, the others on the biased one.
    """
    cut = len(spec.unbiased)
    side = found[:cut] if level == "BS" else found[cut:]
    worst = max(side, key=lambda push: push.deviation)
    if level == "BS":
        return [*_adds(worst, declared.margin, spec), *_loses(worst, tallied, spec)]
    facts = {"margin": declared.margin, "block": worst.block, **_shares(worst, spec)}
    if level == "DSBS":
        return [Reason("two-step.follows-input", facts)]
    listed = [Reason("two-step.compensates", facts)]
    rates = plain_rates(tallied.counts.pooled[0])
    apart = max((float(np.abs(a - b).max()) for a, b in combinations(rates, 2)), default=0.0)
    if apart <= declared.margin + TOLERANCE:
        kept = unchanged_share(tallied, np.ones(len(rates)))
        listed.append(
            Reason(
                "two-step.compensates-by-forgetting", {"unchanged": kept.value, "apart": apart, "n": kept.n}
            )
        )
    return listed


def _shares(push: Push, spec: Any) -> dict[str, Json]:
    names = list(spec.values[: len(push.output)])
    return {
        "values": names,
        "shares_in": push.given.tolist(),
        "shares_out": push.output.tolist(),
        "deviation": push.deviation,
    }


MOST_DIFFERENT, NOTICED = 0.95, 0.05
"""Share of the mentions planned for a block below which texts repeat; how far off a share is told."""


def _adds(push: Push, margin: float, spec: Any) -> Iterator[Reason]:
    last = len(spec.values) - 1
    facts = {"block": push.block, "margin": margin, **_shares(push, spec)}
    for value, gain in enumerate(push.gaps[:last]):
        if gain > margin + TOLERANCE:
            share, given = float(push.output[value]), float(push.nearest[value])
            yield Reason(
                "two-step.adds-bias",
                {"value": spec.values[value], "gain": float(gain), "share": share, "from": given, **facts},
            )
    kept = push.output[:last]
    if kept.sum() > 0:
        top = int(kept.argmax())
        share = float(kept[top] / kept.sum())
        if share >= ONE_SIDED - TOLERANCE:
            yield Reason("two-step.one-sided", {"value": spec.values[top], "share": share, **facts})


def _loses(push: Push, tallied: PartCounts, spec: Any) -> Iterator[Reason]:
    """Nothing deviates more than the residual value does; with what was lost by texts declined."""
    if len(push.output) < len(spec.values):
        return
    others = np.abs(push.gaps[:-1]).max()
    if push.gaps[-1] > 0 and others <= abs(push.gaps[-1]) + TOLERANCE:
        facts: dict[str, Json] = {"share": float(push.output[-1]), "block": push.block, **_shares(push, spec)}
        kinds = {kind: count for kind, count in tallied.kinds.items() if kind not in (KEPT, SURPLUS)}
        lost = sum(kinds.values())
        if declined := kinds.get("refused", 0):
            facts |= (
                {"declined": facts["share"]} if declined == lost else {"partly_declined": declined / lost}
            )
        most = max(kinds, key=lambda kind: kinds[kind], default="")
        if kinds and kinds[most] >= NEARLY_ALL * lost:
            facts["kind"] = most
        yield Reason("two-step.loses-mentions", facts)


def share_of(successes: int, trials: int, deff: float) -> Interval:
    """A share with Wilson's interval over trials / design effect; without trials undefined."""
    if trials == 0:
        return Interval(None, None, None, 0)
    low, high = wilson(successes / deff, trials / deff)
    return Interval(successes / trials, low, high, trials)


def _by_labels(share: Interval, draws: Floats | None) -> Interval:
    """A share with the interval that the labels of an audit leave it, if there was one."""
    if draws is None or share.value is None:
        return share
    low, high = draws_interval(draws)
    return replace(share, low=min(share.value, float(low)), high=max(share.value, float(high)))


def label_draws(tallied: PartCounts, judged: LevelDraws) -> Floats:
    """Draws of each value's outputs among all of its mentions, lost ones too, [T, G, C] (two-step 1.7)."""
    rates = judged.rates[0]
    counts = tallied.matrix[tallied.inputs]
    if rates.shape[-1] == counts.shape[-1]:
        return np.asarray(rates)
    lost = counts[:, -1] / np.maximum(1, counts.sum(axis=1))
    there = rates * (1.0 - lost)[:, None]
    return np.concatenate([there, np.broadcast_to(lost[:, None], (*there.shape[:-1], 1))], axis=-1)


def unchanged_share(tallied: PartCounts, deff: Floats, draws: Floats | None = None) -> Interval:
    """Share of all pooled mentions that came back as they were sent (two-step 1.4).

    Args:
        tallied: the counts, filled in by labels where people audited the part.
        deff: design effect of each value sent.
        draws: of an audited part (`label_draws`).
    """
    matrix, inputs = tallied.matrix, tallied.inputs
    share = share_of(int(np.trace(matrix)), int(matrix.sum()), float(deff.max(initial=1.0)))
    if draws is None:
        return share
    weights = matrix[inputs].sum(axis=1) / max(1, int(matrix.sum()))
    return _by_labels(share, draws[:, np.arange(len(inputs)), inputs] @ weights)


def by_value(
    tallied: PartCounts, deff: Floats, spec: Any, draws: Floats | None = None
) -> dict[str, dict[str, Json]]:
    """P(out = g | in = g) and P(out = residual | in = g) of each value sent (two-step 1.4).

    Arguments are those of `unchanged_share`.
    """
    kept: dict[str, Json] = {}
    lost: dict[str, Json] = {}
    for row, value in enumerate(tallied.inputs.tolist()):
        outputs = tallied.matrix[value]
        total, effect = int(outputs.sum()), float(deff[row])
        for share, place in ((kept, value), (lost, -1)):
            if share is kept or value != len(spec.values) - 1:
                drawn = None if draws is None else draws[:, row, place]
                share[spec.values[value]] = plain(
                    _by_labels(share_of(int(outputs[place]), total, effect), drawn)
                )
    return {"kept": kept, "shares_lost": lost}


def swap_tests(tallied: PartCounts, spec: Any) -> dict[tuple[int, int], tuple[float, float, int, int]]:
    """Exact McNemar of each pair of values, and Holm over the pairs (two-step 1.7 step 7).

    The swap counts come from the blocks in which both values have equal shares.

    Returns:
        (first, second) -> p, Holm's p, first that came out second, second that came out first.
    """
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for one, other in combinations(tallied.inputs.tolist(), 2):
        shares = spec.distributions
        equal = (np.abs(shares[:, one] - shares[:, other]) < TOLERANCE) & (shares[:, one] > 0)
        if equal.any():
            blocks = [block for block, fits in zip(tallied.block_matrices, equal, strict=True) if fits]
            found[one, other] = (
                int(sum(block[one, other] for block in blocks)),
                int(sum(block[other, one] for block in blocks)),
            )
    if not found:
        return {}
    p = np.array([mcnemar(*counts) for counts in found.values()])
    return {
        pair: (float(raw), float(adjusted), *counts)
        for (pair, counts), raw, adjusted in zip(found.items(), p, holm(p), strict=True)
    }


def swaps(tallied: PartCounts, judged: LevelDraws, spec: Any) -> list[dict[str, Json]]:
    """P(out v | in w) for each change, with 95 % intervals of the draws (two-step 1.7 step 7).

    Where losses are kept apart, rates are among the kept mentions.
    """
    tests = swap_tests(tallied, spec)
    rates = judged.rates[0]
    low, high = draws_interval(rates)
    listed = []
    for row, value in enumerate(tallied.inputs.tolist()):
        counts = tallied.matrix[value][: rates.shape[-1]]
        total = int(counts.sum())
        for other in range(rates.shape[-1]):
            if other == value or total == 0:
                continue
            share = float(counts[other] / total)
            p, adjusted, *_ = tests.get((min(value, other), max(value, other)), (None, None))
            listed.append(
                {
                    "from": spec.values[value],
                    "to": spec.values[other],
                    "value": share,
                    "low": min(share, float(low[row, other])),
                    "high": max(share, float(high[row, other])),
                    "n": total,
                    "p_mcnemar": p,
                    "p_holm": adjusted,
                }
            )
    return listed


def exchanges_values(changes: Sequence[Mapping[str, Any]]) -> bool:
    """Whether of some two values surely more than half of each became the other (two-step 1.7)."""
    sure = {(one["from"], one["to"]) for one in changes if one["low"] > MOST}
    return any((became, was) in sure for was, became in sure)


def deviation_details(
    found: list[Push], judged: LevelDraws, declared: DeclaredDistributions
) -> Mapping[str, dict[str, float]]:
    """How far each distribution comes out from balanced, with the 95 % interval of the draws."""
    outputs = _counted_outputs(found, judged, declared)
    facts = {}
    for place, push in enumerate(found):
        draws = judged.deviations[0][:, place]
        low, high = _deviation_interval([push], outputs[:, place : place + 1], draws)
        facts[push.block] = {"value": push.deviation, "low": low, "high": high}
    return facts


def _counted_outputs(found: list[Push], judged: LevelDraws, declared: DeclaredDistributions) -> Floats:
    """Draws of what each distribution comes out as, as it counts, [T, S, C]."""
    outputs = judged.outputs(declared.specs)
    nearest = np.array([push.nearest for push in found])
    return declared.as_they_count(outputs, nearest)


def score(
    found: list[Push], judged: LevelDraws, declared: DeclaredDistributions, tallied: PartCounts
) -> Interval:
    """The largest deviation over the unbiased distributions, with the 95 % interval of the draws."""
    cut = len(declared.unbiased)
    balanced, outputs = found[:cut], _counted_outputs(found, judged, declared)[:, :cut]
    low, high = _deviation_interval(balanced, outputs, judged.deviations[0][:, :cut].max(axis=-1))
    n = int(tallied.counts.pooled.sum())
    return Interval(max(push.deviation for push in balanced), low, high, n)


def _deviation_interval(found: list[Push], outputs: Floats, draws: Floats) -> tuple[float, float]:
    """The 95 % interval of the largest deviation of some distributions.

    A deviation is a largest absolute value, so that in no draw it is 0, however balanced a service
    is. Nothing is known to deviate where the observed output lies no farther from balanced than the
    draws, 95 % of them, lie from the observed output: from there the interval begins at 0. Else
    its ends are the 2.5 and 97.5 % points of the draws.

    Args:
        found: The distributions.
        outputs: Draws of what they come out as, [T, len(found), C].
        draws: Draws of their largest deviation, [T].
    """
    value = max(push.deviation for push in found)
    observed = np.array([push.output for push in found])
    apart = float(np.quantile(np.abs(outputs - observed).max(axis=(1, 2)), 0.95))
    low, high = draws_interval(draws)
    return 0.0 if value <= apart else min(value, float(low)), max(value, float(high))


def missing_reasons(tallied: PartCounts, spec: Any) -> tuple[Reason, ...]:
    """Why the part is incomplete: every rule of methods 0.4 that is broken, none if it is not.

    More than 2 % of the responses are missing overall, more than 5 % of the mentions of a cell
    (block x value in), or the mentions of two values differ: Fisher p < .01 and more than
    2 points. Missing are `failed` responses. Cells and values count mentions, so that a text
    which loses two of them weighs twice: this errs towards `incomplete`.
    """
    whole = MissingCell("all texts", tallied.coverage.failed, tallied.coverage.planned)
    cells = (
        MissingCell(
            f"{spec.values[value]} in {name}",
            int(tallied.missing[block, value]),
            int(tallied.sent[block, value]),
        )
        for block, name in enumerate(spec.blocks)
        for value in tallied.inputs
    )
    return (
        *missing_answer_reasons(whole),
        *cell_reasons(cells),
        *_classes(tallied.missing, tallied.sent, spec),
    )


def uneven_facts(differs: Iterable[Reason]) -> dict[str, Json]:
    """Which value lacks more answers than another, where the level stands all the same."""
    worst = max((one.facts for one in differs if "against" in one.facts), key=_share_of_class, default=None)
    if worst is None:
        return {}
    return {
        "where": worst["where"],
        "where_share": worst["share"],
        "against": worst["against"],
        "p": worst["p"],
    }


def _share_of_class(facts: Mapping[str, Json]) -> float:
    return float(str(facts["share"]))


def doubtful_range(tallied: PartCounts, settings: TwoStepSettings) -> Iterator[Reason]:
    """What speaks for another range of scores than the one assumed where the plan does not say it.

    On a range from 0 to 1 the middle is .5, so that negative texts seem to become positive ones if no score
    is below 0; on one from -1 to 0 the other way round. Where no score leaves the dead zone, the range may be
    as narrow as that.
    """
    if not settings.table.scored or settings.score_range is not None or settings.rule != "sound":
        return
    matrix, positive, negative = tallied.matrix, 0, 1
    if matrix[negative, positive] and not matrix[:, negative].any():
        yield Reason("two-step.one-sided-scores", {"n": int(matrix[negative].sum())})
    elif matrix[positive, negative] and not matrix[:, positive].any():
        yield Reason("two-step.one-sided-scores", {"positive": int(matrix[positive].sum())})
    elif matrix[:2].any() and not matrix[:, :2].any():
        facts = {"n": int(matrix[:2].sum()), "dead_zone": settings.dead_zone}
        yield Reason("two-step.narrow-scores", facts)


def two_digits(value: float) -> int:
    """A number of texts, rounded up to two digits."""
    unit = int(10 ** max(0, len(str(int(value))) - 2))
    return unit * math.ceil(value / unit - 1e-9)


def unread_reasons(
    tallied: PartCounts, settings: TwoStepSettings, to_read: int | None, *, guessed: bool = False
) -> tuple[Reason, ...]:
    """What is said of mentions that the reader does not understand (methods 0.10); nothing without any.

    Args:
        tallied: The counts of a part.
        settings: The experiment.
        to_read: How many of them must be labelled until the rest cannot change the level; 0 if they do not
            matter, None if labelling all of them would not settle it.
        guessed: Whether another level is the likeliest with other readings of them, so that the draws of
            those that were read do not say how likely the level is.
    """
    gone, planned = int(tallied.unread.sum()), int(tallied.sent.sum())
    if not gone:
        return ()
    facts = unread_facts(gone, planned)
    differs = tuple(_classes(tallied.unread, tallied.sent, settings.spec, "unread-differs"))
    if to_read == 0:
        return (Reason("unread-does-not-matter", facts | uneven_facts(differs)),)
    if settings.reads_words:
        facts |= READ_BY_PEOPLE
    facts |= ({"to_read": to_read} if to_read else {}) | ({"guessed": True} if guessed else {})
    return (Reason("unread-matters", facts), *differs)


def _classes(gone: Ints, sent: Ints, spec: Any, code: str = "incomplete-loss") -> Iterator[Reason]:
    """Pairs of values of which one lost more mentions than the other, of [B, C] each."""
    sums = zip(spec.values, gone.sum(axis=0).tolist(), sent.sum(axis=0).tolist(), strict=True)
    for one, other in combinations([MissingCell(*each) for each in sums if each[-1]], 2):
        yield from class_reasons(one, other, code)


CHANGED = "changed-during-the-run"
UNSETTLING = frozenset(
    {
        *("too-few-clusters", "unread-matters", CHANGED, "audit-unresolved", "audit-gaps"),
        *("two-step.one-sided-scores", "two-step.narrow-scores"),
    }
)
"""Reasons for which a level is not settled, however the draws agree (methods 0.3, 0.5, 0.10)."""


@dataclass(frozen=True)
class TwoStepPart(PartResult):
    """A part result, and its mentions: unchanged, all."""

    same: int = 0
    mentions: int = 0

    @property
    def is_open(self) -> bool:
        """Whether something other than certainty keeps its own level from being settled."""
        return any(reason.code in UNSETTLING for reason in self.part.reasons)


def rate_parts(service: str, results: Sequence[TwoStepPart], settings: TwoStepSettings, items: int) -> Rating:
    """The rating of a service from its parts (two-step 1.8)."""
    parts = tuple(one.part for one in results)
    rule = aggregation(settings)
    overall = aggregate(results, settings)
    leading = leading_parts(parts, overall.level, or_nearest=False)
    unchanged = _unchanged(results)
    details: dict[str, Json] = {}
    reasons = overall_reasons(parts, leading, overall, rule)
    if len(parts) > 1 and overall.state == "not settled":
        is_open = {one.code: one for part in parts if part.level for one in part.reasons}
        reasons += [one for code, one in is_open.items() if code in UNSETTLING]
    without = _without(results, settings)
    if without is not None:
        details["without"] = dict(without.facts)
        reasons.append(without)
    return rating_of(
        service,
        settings,
        settings.table.name,
        parts,
        overall,
        leading,
        score=largest_score(leading),
        unchanged=unchanged,
        reasons=tuple(reasons),
        limits=limits(parts, overall.level, unchanged, settings, items),
        options=options(settings),
        details=details,
    )


def aggregation(settings: TwoStepSettings) -> Aggregation:
    """How the parts of a service become one level; two-step levels have no mean (two-step 1.8)."""
    return Aggregation(LEVELS, settings.aggregate, settings.settle, by_resamples=settings.rule == "sound")


def aggregate(results: Sequence[TwoStepPart], settings: TwoStepSettings) -> Overall:
    """The level of several parts; a part that is open must not change it, whatever its level is."""
    rule = aggregation(settings)
    every = range(len(LEVELS))

    def hangs_on_open(place: int) -> bool:
        share = least_share(results, rule, place, lambda one: every if one.is_open else ())
        return share < settings.settle

    return aggregate_parts(results, rule, hangs_on_open)


def _without(results: Sequence[TwoStepPart], settings: TwoStepSettings) -> Reason | None:
    """What the overall level would be without the parts that the plan names."""
    rest = [one for one in results if one.part.key not in settings.excluding]
    if not settings.excluding or not rest or len(rest) == len(results):
        return None
    overall = aggregate(rest, settings)
    excluded = [one.part.key for one in results if one.part.key in settings.excluding]
    facts = {
        "excluded": excluded,
        "level": overall.level,
        "state": overall.state,
        "certainty": dict(overall.certainty),
    }
    return Reason("overall.without", facts)


def _unchanged(results: Sequence[TwoStepPart]) -> Interval | None:
    """Share of all mentions of all parts that came back unchanged.

    Wilson's interval, over the mentions divided by the largest design effect of a part.
    """
    known = [one for one in results if one.mentions and one.part.unchanged is not None]
    if not known:
        return None
    if len(known) == 1:
        return known[0].part.unchanged
    same, total = sum(one.same for one in known), sum(one.mentions for one in known)
    deff = max(max(one.part.details["deff"]) for one in known)
    low, high = wilson(same / deff, total / deff)
    return Interval(same / total, low, high, total)


def _repeated(parts: tuple[Part, ...], settings: TwoStepSettings) -> Iterator[Reason]:
    """Blocks in which so many texts are the same, and count once, that their shares are not those planned."""
    planned = settings.texts * settings.spec.mentions
    # losses move shares too
    whole = [part for part in parts if part.coverage.answered == part.coverage.planned]
    for block in (block for part in whole for block in part.counts.get("blocks", ())):
        sent = np.array(block["in"])
        apart = np.abs(sent / max(1, sent.sum()) - np.array(block["shares"]))
        if 0 < sent.sum() < MOST_DIFFERENT * planned and apart.max() > NOTICED:
            most = int(np.argmax(block["shares"]))
            yield Reason(
                "limits.texts-repeat",
                {
                    "value": settings.table.values[most],
                    "planned": block["shares"][most],
                    "share": float(sent[most] / sent.sum()),
                    "n": int(sent.sum()),
                    "of": planned,
                },
            )


def limits(
    parts: tuple[Part, ...],
    level: str | None,
    unchanged: Interval | None,
    settings: TwoStepSettings,
    items: int,
) -> tuple[Reason, ...]:
    """What the rating does not say; never empty."""
    facts = {
        "texts": settings.texts,
        "patterns": len(settings.fitting),
        "pattern_names": list(settings.fitting),
        "items": items,
    }
    listed = [Reason("limits.only-these-texts", facts)]
    listed.append(Reason("limits.one-attribute", {"attribute": settings.table.name}))
    if settings.source:  # nothing was sent that could be kept or lost
        return (*listed, Reason("limits.neutral-source", {}), Reason("limits.one-day", {}))
    listed += _repeated(parts[:1], settings)
    if level == "UCS" and unchanged is not None and unchanged.value is not None:
        listed.append(Reason("limits.ucs-not-accurate", {"unchanged": unchanged.value, "n": unchanged.n}))
    pooled = np.array([part.details["matrix"] for part in parts]).sum(axis=0)
    sent = pooled[:-1]
    if sent[:, -1].sum() and settings.loss == "category":
        share = float(sent[:, -1].sum() / sent.sum())
        listed.append(Reason("limits.loss", {"share": share, "n": int(sent.sum())}))
    listed.append(Reason("limits.one-day", {}))
    return tuple(listed)


def options(settings: TwoStepSettings) -> dict[str, Json]:
    """The size of the experiment, and every option that differs from what its rule set means."""
    return options_of(settings, ("attribute",), BY_RULE[settings.rule], always=("texts",))
