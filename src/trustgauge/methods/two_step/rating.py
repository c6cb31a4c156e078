"""From summaries to ratings: one part at a time, then the parts together (two-step 1.6 to 1.8).

Under `sound` a level and its certainty come from `transition_model.draw_levels`. Under `published` and
`released` the level comes from the decision tree, and its certainty from 2,000 resamples of the texts
within each block. Both are computed for every part, so that they can be shown side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trustgauge.methods.two_step import reasons as findings
from trustgauge.methods.two_step.published_rule import DecisionPath, DecisionTree, resample_levels
from trustgauge.methods.two_step.reasons import (
    CHANGED,
    UNSETTLING,
    TwoStepPart,
    missing_reasons,
    rate_parts,
    two_digits,
    unread_reasons,
)
from trustgauge.methods.two_step.score import ABSTAINS, GONE, LABEL, PEOPLE
from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.methods.two_step.transition_model import (
    BEHAVIOURS,
    LEVELS,
    RESAMPLES,
    DeclaredDistributions,
    LevelDraws,
    MentionCells,
    PoolingResult,
    TransitionCounts,
    behaviour_of,
    block_deviations,
    block_rates,
    change,
    draw_levels,
    effect_of_more,
    examine_pooling,
    fill,
    largest_design_effect,
    level_of,
    like_the_others,
    part_counts,
    posterior,
)
from trustgauge.rating import (
    Levels,
    all_labels,
    certainty_of,
    labels_that_settle,
    least_certain,
    level_shares,
    loss_reason,
    most_likely,
    not_settled_reason,
)
from trustgauge.records import Json, Part, Rating, Reason, State
from trustgauge.stats import stream
from trustgauge.stats.distributions import Ints

if TYPE_CHECKING:
    from trustgauge.methods.two_step.audit import LabelledPart

FEWEST_CLUSTERS = 10
LEAST_KEPT = 0.5
CHANGE_LEVEL = 0.01
FEWEST_DRAWS = 1_000  # that methods 0.5 allows
ORDERS = 4
"""Random orders in which unread mentions are labelled, to find how many labels would settle a level."""
STEPS = 20
"""In so many steps up to all of them."""
Rows = Callable[[], pl.DataFrame]
LARGEST_FACTOR = 100.0  # of the texts of a block, when it is asked how many would settle a level


def rate(summary: pl.DataFrame, settings: TwoStepSettings, seed: int) -> list[Rating]:
    """One rating for each service of a summary, in the order in which they first appear.

    Args:
        summary: Columns of `score.SUMMARY`; rows in any order within a service and part.
        settings: The experiment.
        seed: The plan seed; every part has streams of its own (methods 0.3).
    """
    rules = Rules.of(settings, seed)
    ratings = []
    for (service,), rows in summary.group_by("service", maintain_order=True):
        if "disguise" not in rows.columns:
            ratings.append(_rate_service(rules, str(service), rows))
            continue
        # only plans that ask for it
        from trustgauge.methods.two_step.disguise import recognition_gap
        from trustgauge.rating.recognition import DISGUISE, rate_by_recognition

        gap = recognition_gap(rows, settings, seed)
        halves = rows.partition_by(DISGUISE, as_dict=True) if gap is not None and gap.sure else {}
        ratings.append(rate_by_recognition(partial(_rate_service, rules, str(service)), gap, rows, halves))
    return ratings


def _rate_service(rules: Rules, service: str, rows: pl.DataFrame) -> Rating:
    """The rating of one service by some of its texts, or all."""
    parts = [
        _Part(rules, service, str(part), own) for (part,), own in rows.group_by("part", maintain_order=True)
    ]
    results = [one.result() for one in parts]
    if rules.settings.stereotypes:
        from trustgauge.methods.two_step import stereotypes  # only plans that ask for them

        results = stereotypes.with_reasons(results)
    rating = rate_parts(service, results, rules.settings, rows["item"].drop_nulls().n_unique())
    labelled = {one.key: one.labelled for one in parts if one.labelled is not None}
    if labelled:
        from trustgauge.methods.two_step import audit

        rating = audit.with_instrument(rating, labelled, rules.settings.labels[service])
    return rating


@dataclass(frozen=True)
class Rules:
    """What is the same for every part of an experiment."""

    settings: TwoStepSettings
    spec: Any
    declared: DeclaredDistributions
    tree: DecisionTree
    seed: int

    @classmethod
    def of(cls, settings: TwoStepSettings, seed: int) -> Rules:
        """The rules that the settings ask for."""
        return cls(
            settings, settings.spec, DeclaredDistributions.of(settings), DecisionTree.of(settings, seed), seed
        )

    def judged_counts(self, counts: TransitionCounts) -> TransitionCounts:
        """The counts that the sound rule judges."""
        return counts.without_residual() if self.settings.loss == "apart" else counts

    def decide(self, came: Ints) -> DecisionPath | None:
        """The published tree; None if a block has no answers, or where a value left open is a good answer."""
        if self.declared.choice or not came.any(axis=1).all():
            return None
        return self.tree.decide(came, self.spec.blocks)


class _Part:
    """One part of one service, from its summary to its result."""

    def __init__(self, rules: Rules, service: str, key: str, frame: pl.DataFrame) -> None:
        self.rules, self.key = rules, key
        self.sound = rules.settings.rule == "sound"
        self.seed_key = ["two-step", rules.settings.table.name, service, key]
        self.labels = rules.settings.labels.get(service)
        self.is_control = service not in rules.settings.services
        self.labelled = self._labelled(frame)
        self.by_labels = self.labelled is not None and self.labelled.finished
        if self.labelled is not None and self.by_labels:
            frame = self.labelled.impute(self._stream("imputed"))
        elif self.labelled is not None:
            frame = self.labelled.read_by_people()
        self.frame = frame.drop(*PEOPLE.values(), strict=False)
        frame = self.frame
        self.tallied = part_counts(frame, rules.spec)
        self.path = rules.decide(self.tallied.came)

    def _labelled(self, frame: pl.DataFrame) -> LabelledPart | None:
        """The part with its labels; None if its service was not audited."""
        if LABEL not in frame.columns or self.labels is None:
            return None
        from trustgauge.methods.two_step.audit import LabelledPart

        return LabelledPart(frame, self.rules.spec, len(self.labels.labels))

    def _examined(
        self, frame: Rows, counts: TransitionCounts, purpose: str, mix: str
    ) -> tuple[PoolingResult, LevelDraws]:
        """Steps 2 to 6 of two-step 1.7, about what labels say where people audited the part.

        Args:
            frame: makes the rows, which are looked up only where labels are.
            counts: of the mentions.
            purpose: of the stream of draws.
            mix: of that of permutations.
        """
        rules = self.rules
        counts = rules.judged_counts(counts)
        examined = examine_pooling(counts, self._stream(mix))
        if self.labelled is not None and self.by_labels:
            rng = self._stream(f"audited {purpose}")
            return examined, self.labelled.draw(frame(), examined, rules.declared, rules.settings, rng)
        rng = self._stream(purpose)
        return examined, draw_levels(counts, examined, rules.declared, rules.settings.draws, rng)

    def _stream(self, purpose: str) -> np.random.Generator:
        return stream(self.rules.seed, *self.seed_key, purpose)

    def result(self) -> TwoStepPart:
        """The part, with its levels draw by draw; no levels if it is incomplete."""
        blank = Part(
            self.key,
            "incomplete",
            counts=self._counts(),
            coverage=self.tallied.coverage,
            details=self._details(),
        )
        undefined = tuple(self._undefined())
        if undefined:
            return TwoStepPart(replace(blank, reasons=undefined), None)
        counts = self.rules.judged_counts(self.tallied.counts)
        examined, judged = self._examined(lambda: self.frame, self.tallied.counts, "posterior", "mix")
        levels = judged.levels[0] if self.sound else self._resampled(self.tallied.counts)
        part = self._measured(blank, examined, judged)
        observed = levels
        missing = missing_reasons(self.tallied, self.rules.spec)
        reasons: list[Reason] = []
        gaps: tuple[int, ...] = ()
        if missing:
            gaps = (GONE,)
            least = self._least(levels, gaps)
            if least is None:
                return self._weighed(replace(part, reasons=missing), None)
            coverage = self.tallied.coverage
            shares = (self._share(levels), self._share(least))
            loss = loss_reason(coverage.failed, coverage.planned, shares, self.rules.settings.settle)
            reasons.append(replace(loss, facts={**loss.facts, **findings.uneven_facts(missing)}))
            levels = least
        if self.tallied.unread.any():
            gaps = (*gaps, ABSTAINS)
            least = self._least(levels, gaps)
            matters = least is None or (self._is_sure(levels) and not self._is_sure(least))
            to_read = self._to_read(levels, gaps) if matters else 0
            reasons += unread_reasons(self.tallied, self.rules.settings, to_read, guessed=least is None)
            levels = levels if least is None else least
        changed = tuple(self._changes(counts))
        if self.labelled is not None and self.labels is not None:
            reasons += self.labelled.reasons(self.labels)
        by_gaps = bool(gaps) and self._is_sure(observed)
        settled = self._settled(part, levels, examined, (*reasons, *changed), by_gaps=by_gaps)
        return self._weighed(settled, levels)

    def _changes(self, counts: TransitionCounts) -> Iterator[Reason]:
        """Whether the rates change during the run, in whichever value they change most (methods 0.3)."""
        p = change(counts, self._stream("change"))[0]
        row = int(p.argmin())
        if p[row] < CHANGE_LEVEL:
            by_time = counts.segments[0][:, row]
            shares = by_time[by_time.any(axis=1)]
            same = shares[:, self.tallied.inputs[row]] / shares.sum(axis=1)
            value = self.rules.spec.values[self.tallied.inputs[row]]
            facts = {
                "p": float(p[row]),
                "value": value,
                "least_unchanged": float(same.min()),
                "most_unchanged": float(same.max()),
            }
            yield Reason(CHANGED, facts)

    def _weighed(self, part: Part, levels: Levels | None) -> TwoStepPart:
        matrix = self.tallied.matrix
        return TwoStepPart(part, levels, same=int(np.trace(matrix)), mentions=int(matrix.sum()))

    def _undefined(self) -> Iterator[Reason]:
        """Why there is nothing to judge: no answers, or too few kept (two-step 1.5, 1.7)."""
        pooled = self.tallied.counts.pooled[0]
        if not self.sound and self.path is None:
            yield Reason("no-answers", {"part": self.key})
            return
        judged = self.rules.judged_counts(self.tallied.counts).pooled[0]
        rows = zip(self.tallied.inputs.tolist(), judged, strict=True)
        if missing := [self.rules.spec.values[value] for value, row in rows if not row.sum()]:
            yield Reason("no-answers", {"part": self.key, "value": " and ".join(missing)})
            return
        lost = float(pooled[:, -1].sum() / pooled.sum())
        if self.rules.settings.loss == "apart" and 1 - lost < LEAST_KEPT:
            yield Reason(
                "incomplete-loss", {"share": lost, "where": "mentions (lost)", "n": int(pooled.sum())}
            )

    def _resampled(self, counts: TransitionCounts) -> Levels:
        return resample_levels(counts.answers, self.rules.tree, RESAMPLES, self._stream("resamples"))

    def _level(self, levels: Levels) -> int:
        """The most likely level, the worse of equals; by the tree where the rule is the tree's."""
        return self.path.level if not self.sound and self.path is not None else most_likely(levels)

    def _share(self, levels: Levels) -> float:
        """The share of the draws that have the level."""
        return float((levels == self._level(levels)).mean())

    def _is_sure(self, levels: Levels) -> bool:
        return self._share(levels) >= self.rules.settings.settle

    def _least(self, levels: Levels, gaps: Sequence[int]) -> Levels | None:
        """The least certain draws over all ways to read the gaps; None unless all give one level.

        Args:
            levels: The draws without the gaps.
            gaps: Which mentions are gaps, see `fill`.
        """
        mentions = MentionCells.of(self.frame, self.rules.spec)
        readings = (
            self._filled(mentions, lambda: self.frame, value, gaps) for value in self._values_of_gaps()
        )
        return least_certain(self._level(levels), levels, readings)

    def _values_of_gaps(self) -> tuple[int | None, ...]:
        """Gaps are read unchanged, then all as each output value (methods 0.4, 0.10)."""
        return None, *range(len(self.rules.spec.values))

    def _filled(
        self, mentions: MentionCells, frame: Rows, value: int | None, gaps: Sequence[int]
    ) -> tuple[int | None, Levels]:
        """The level with every gap read as `value`, and its draws; `frame` makes the summary."""
        filled = mentions.fill(value, gaps)
        if not self.sound:
            path = self.rules.decide(filled.came())
            return (path.level, self._resampled(filled.counts())) if path else (None, np.zeros(0, np.int8))
        name = "unchanged" if value is None else str(value)
        _, judged = self._examined(
            lambda: fill(frame(), value, gaps), filled.counts(), f"filled {name}", f"mix filled {name}"
        )
        return most_likely(judged.levels[0]), judged.levels[0]

    def _to_read(self, levels: Levels, gaps: Sequence[int]) -> int | None:
        """With how many labels of unread mentions a level is settled; see `labels_that_settle`.

        With values drawn as of those that were read. None too where there are too few texts: then only more
        texts do.
        """
        if not self._is_sure(levels):
            return None
        drawn = (like_the_others(self.frame, self._stream(f"to read {order}")) for order in range(ORDERS))
        orders = ((all_labels(one), self._settles(one, self._level(levels), gaps)) for one in drawn)
        return labels_that_settle(orders, STEPS)

    def _settles(self, ordered: pl.DataFrame, level: int, gaps: Sequence[int]) -> Callable[[int], bool]:
        """Whether the level is settled once so many unread mentions have labels; see `like_the_others`."""
        sent = ordered.filter(pl.col("value_in").is_not_null())
        mentions = MentionCells.of(sent, self.rules.spec)
        labels, value = (sent[name].to_numpy() for name in ("labels", "value_if_read"))
        unread, values = sent["labels"].is_not_null().to_numpy(), list(self._values_of_gaps())

        def settles(number: int) -> bool:
            which = unread & (labels <= number)
            read = mentions.read(which, np.where(which, value, 0).astype(np.int64))
            if (read.counts().contents < FEWEST_CLUSTERS).any():
                return False
            frame = partial(_read, ordered, number)
            for place, one in enumerate(values):
                found, drawn = self._filled(read, frame, one, gaps)
                if found != level or not self._is_sure(drawn):
                    values.insert(0, values.pop(place))  # most likely open with other labels too
                    return False
            return True

        return settles

    def _settled(
        self,
        part: Part,
        levels: Levels,
        examined: PoolingResult,
        further: tuple[Reason, ...],
        *,
        by_gaps: bool,
    ) -> Part:
        """The part with its level, certainty, state and reasons; `by_gaps` if what is missing opens it."""
        level, shares = LEVELS[self._level(levels)], certainty_of(levels, LEVELS)
        few = tuple(self._too_few())
        settle = self.rules.settings.settle
        certain = shares[level] >= settle
        more = None
        # of a control the range of its scores is known
        odd = () if self.is_control else findings.doubtful_range(self.tallied, self.rules.settings)
        reasons = [*odd, *self._why(level, examined), *further, *few]
        if not certain:
            # more texts with as many gaps would leave a level open that depends on these alone
            # more texts of a service that changes settle nothing either
            in_vain = any("to_read" in one.facts or one.code == CHANGED for one in further)
            if self.sound and not (self.by_labels or in_vain or by_gaps):
                counts = self.rules.judged_counts(self.tallied.counts)
                settings, seed = self.rules.settings, self.rules.seed
                more = texts_to_settle(counts, examined, self.rules.declared, settings, seed)
            reasons.append(not_settled_reason(shares[level], level, settle, more))
        is_open = any(reason.code in UNSETTLING for reason in reasons)
        state: State = "not settled" if is_open or not certain else "rated"
        codes = {reason.code: reason for reason in reasons}
        flags = tuple(flag for code, flag in FLAGS.items() if code in codes)
        if level == "DSBS" and findings.exchanges_values(part.details["swaps"]):
            flags = (*flags, "exchanged")
        return replace(
            part,
            state=state,
            level=level,
            certainty=shares,
            more_texts=more,
            reasons=tuple(reasons),
            flags=flags,
        )

    def _why(self, level: str, examined: PoolingResult) -> Iterator[Reason]:
        rules = self.rules
        counts, pooled = rules.judged_counts(self.tallied.counts), bool(examined.pooled[0])
        if self.sound:
            pushed = findings.pushes(counts, rules.declared, rules.spec, pooled=pooled)
            yield from findings.reasons(level, pushed, self.tallied, rules.declared, rules.spec)
            p = {"p": float(examined.mix_p[0].min())}
            if not pooled:
                yield Reason("two-step.rates-depend-on-mix", p)
            elif examined.doubtful[0]:
                yield Reason("two-step.rates-may-depend-on-mix", p)
        elif self.path is not None and self.path.fits_neither:
            yield Reason("two-step.fits-neither", {"blocks": list(self.path.fits_neither)})

    def _too_few(self) -> Iterator[Reason]:
        """Fewer than 10 different texts hold a value that was sent (methods 0.5 (b))."""
        for value, number in zip(self.tallied.inputs.tolist(), self.tallied.counts.contents, strict=True):
            if number < FEWEST_CLUSTERS:
                facts = {"clusters": int(number), "where": self.rules.spec.values[value]}
                yield Reason("too-few-clusters", facts)

    def _counts(self) -> dict[str, Json]:
        spec, tallied = self.rules.spec, self.tallied
        blocks = []
        for place, name in enumerate(spec.blocks):
            block: dict[str, Json] = {
                "block": name,
                "kind": "unbiased" if place < len(spec.unbiased) else "biased",
                "shares": spec.distributions[place].tolist(),
                "in": tallied.sent[place].tolist(),
                "out": tallied.came[place].tolist(),
                "p": self.path.block(place) if self.path else {},
            }
            blocks.append(block)
        return {"values": list(spec.values), "blocks": blocks}

    def _details(self) -> dict[str, Json]:
        """Details that need no draws."""
        matrix = self.tallied.matrix
        totals = matrix.sum(axis=1)
        rows = zip(matrix.tolist(), totals.tolist(), strict=True)
        path = self.path
        return {
            "matrix": matrix.tolist(),
            "block_matrices": [block.tolist() for block in self.tallied.block_matrices],
            "rates": [[cell / total for cell in row] if total else None for row, total in rows],
            "kinds": self.tallied.kinds,
            "unread": {
                self.rules.spec.values[value]: int(count)
                for value, count in enumerate(self.tallied.unread.sum(axis=0))
                if count
            },
            "published": path
            and {
                "level": LEVELS[path.level],
                "steps": path.steps(),
                "fits_neither": list(path.fits_neither),
            },
            "seed_key": [*self.seed_key, "posterior"],
            **({"sent": int(self.tallied.sent.sum())} if self.tallied.unread.any() else {}),
        }

    def _measured(self, part: Part, examined: PoolingResult, judged: LevelDraws) -> Part:
        """The part with everything measured by the draws."""
        rules, spec = self.rules, self.rules.spec
        pooled = bool(examined.pooled[0])
        pushed = findings.pushes(
            rules.judged_counts(self.tallied.counts), rules.declared, spec, pooled=pooled
        )
        deff = np.ones(len(spec.values))
        deff[self.tallied.inputs] = examined.deff[0]
        behaviours = behaviour_of(judged.deviations[0], len(spec.unbiased), rules.settings.margin)
        two_bit = level_shares(behaviours, len(BEHAVIOURS)).tolist()
        changes = findings.swaps(self.tallied, judged, spec)
        # counts that labels of a sample fill in are as many as if all had a label
        labelled = findings.label_draws(self.tallied, judged) if self.by_labels else None
        # what became of all mentions, the lost ones too, which `deff` of those that are kept leaves out
        apart = rules.settings.loss == "apart"
        effect = (largest_design_effect(self.tallied.counts) if apart else examined.deff)[0]
        tests = [change["p_holm"] for change in changes if change["p_holm"] is not None]
        drawn = judged.levels[0]
        sound = {"level": LEVELS[most_likely(drawn)], "certainty": certainty_of(drawn, LEVELS)}
        details = {
            **part.details,
            **findings.by_value(self.tallied, effect, spec, labelled),
            "deff": deff.tolist(),
            "pooled": pooled,
            "mix_p": examined.mix_p[0].tolist(),
            "deviations": findings.deviation_details(pushed, judged, rules.declared),
            "two_bit": {name: share for name, share in zip(BEHAVIOURS, two_bit, strict=True) if share},
            "swaps": changes,
            "sound": sound,
        }
        if rules.settings.stereotypes:
            from trustgauge.methods.two_step import stereotypes

            rng = self._stream("stereotypes")
            details["stereotypes"] = stereotypes.stereotypes(self.frame, rules.settings, rng)
        if rules.settings.source:
            details["measure"] = "choice"
        elif rules.settings.one_way:
            from trustgauge.methods.two_step import gender_accuracy

            rng = self._stream("gender accuracy")
            details["gender_accuracy"] = gender_accuracy.gender_accuracy(self.frame, rules.settings, rng)
        return replace(
            part,
            score=findings.score(pushed, judged, rules.declared, self.tallied),
            unchanged=findings.unchanged_share(self.tallied, effect, labelled),
            p=min(tests, default=None),
            details=details,
        )


def _read(ordered: pl.DataFrame, number: int) -> pl.DataFrame:
    """A summary of which so many unread mentions have labels; see `like_the_others`."""
    is_read = pl.when(pl.col("labels") <= number)
    return ordered.with_columns(
        value_out=is_read.then("value_if_read").otherwise("value_out"),
        kind=is_read.then("kind_if_read").otherwise("kind"),
    ).drop("labels", "value_if_read", "kind_if_read")


FLAGS = {
    "two-step.rates-depend-on-mix": "not-pooled",
    "two-step.fits-neither": "fits-neither",
    "two-step.one-sided": "one-sided",
}
"""Reasons that stand as a flag beside the part too."""


def texts_to_settle(
    counts: TransitionCounts,
    examined: PoolingResult,
    declared: DeclaredDistributions,
    settings: TwoStepSettings,
    seed: int,
) -> int | None:
    """Texts of a block with which the observed rates would be settled, at any level.

    The counts are taken f times as large, with the same rates and design effects, and f grows
    by quarters until 1,000 draws settle a level. Where words or occupations are used again and
    again and differ by more than chance, more texts make no more of them, so that their design
    effect grows too. An estimate: the rates will not stay quite the same. Rounded up to two digits.

    Returns:
        None if 100 times as many would not do.
    """
    factor = 1.0
    while factor < LARGEST_FACTOR:
        factor *= 1.25
        rng = stream(seed, "two-step", "texts-to-settle")
        if examined.pooled[0] and not examined.doubtful[0]:
            effect = effect_of_more(examined.deff, counts.items, len(declared.specs), factor)
            rates = posterior(counts.pooled, effect / factor, FEWEST_DRAWS, rng)
            devs = declared.deviations(rates)
        else:
            devs = block_deviations(block_rates(counts, FEWEST_DRAWS, rng, factor), declared)
        levels = level_of(devs, len(declared.unbiased), declared.margin)
        if level_shares(levels).max() >= settings.settle:
            return two_digits(factor * settings.texts)
    return None
