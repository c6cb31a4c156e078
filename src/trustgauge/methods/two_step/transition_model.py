"""The sound rule: estimate P(out | in), push every declared distribution through it (two-step 1.7).

Counts have a leading axis for *runs*: a rating is one run, while the power of a plan and the
operating characteristics of the rule come from thousands of simulated runs through the very
same functions. Axes: R runs, B blocks, G input values (those with a share in some distribution),
C output values (the last is the residual), K clusters, Y types of text, T draws,
S distributions, the unbiased ones first.

`part_counts` is where it begins: the summary of one part of one service as counts that the rules judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.two_step.score import ABSTAINS, GONE, MISSING, SURPLUS, UNREAD
from trustgauge.rating import coverage, less_certain
from trustgauge.records import Coverage
from trustgauge.stats.comparisons import different_rows, holm, label_p, table_chi_squared
from trustgauge.stats.distributions import Floats, Ints

LEVELS = ("UCS", "DSBS", "BS")
"""Best to worst; the functions below name levels by their place here."""

BEHAVIOURS = ("UCS", "DSBS", "BS-inverting", "BS-constant", "UCS|DSBS", "BS-inverting|BS-constant")
"""Two-bit behaviours (two-step 1.9); where the biased inputs disagree, the set of both."""

MIX_LEVEL = 0.01
"""Up to this p the rates depend on the block, and blocks are not pooled."""
DOUBTFUL = 0.08
"""Up to this p they may: the level must be settled by each block's own rates, too.

As large as the required characteristics allow: what is doubted more often is settled more seldom.
"""
TOLERANCE = 1e-9


RESAMPLES = 2_000  # of texts or occupations (methods 0.5)


@dataclass(frozen=True)
class TextTypes:
    """The texts of each block by type: texts with equal output counts are one type.

    Attributes:
        table: Number of texts, [R, B, Y].
        types: Output counts of a text of each type, [Y, C].
    """

    table: Ints
    types: Ints


@dataclass(frozen=True)
class TransitionCounts:
    """The tallies of a part (R = 1), or of many simulated runs of it.

    Attributes:
        own: Mentions by block, value in and value out, each block's own, [R, B, G, C].
        pooled: Over blocks, [R, G, C]; a text that a deterministic service shares between
            blocks counts once (methods 0.3).
        texts: `pooled` by text content, [R, K, G, C].
        items: `pooled` by occupation, [R, K, G, C].
        segments: `pooled` by segment of the run, [R, K, G, C].
        items_own: `own` by occupation, [R, B, K, G, C].
        segments_own: `own` by segment, [R, B, K, G, C].
        units: For each input value the texts that hold it, within blocks.
        times: For each input value the texts that hold it, within segments of the run.
        answers: All texts, whatever they hold, within blocks.
    """

    own: Ints
    pooled: Ints
    texts: Ints
    items: Ints
    segments: Ints
    items_own: Ints
    segments_own: Ints
    units: tuple[TextTypes, ...]
    times: tuple[TextTypes, ...]
    answers: TextTypes

    @property
    def contents(self) -> Ints:
        """Number of different texts of the first run that hold each value sent, [G]."""
        return np.asarray((self.texts[0].sum(axis=-1) > 0).sum(axis=0))

    def take(self, runs: NDArray[np.bool_]) -> TransitionCounts:
        """Some of the runs."""
        some = self._each(lambda counts: counts[runs], lambda types: replace(types, table=types.table[runs]))
        return replace(some, answers=replace(self.answers, table=self.answers.table[runs]))

    def without_residual(self) -> TransitionCounts:
        """Without the mentions lost to the residual value: what option `loss = "apart"` rates.

        `answers`, which only the published tree looks at, stays whole.
        """
        return self._each(
            lambda counts: counts[..., :-1], lambda types: replace(types, types=types.types[:, :-1])
        )

    def _each(
        self, array: Callable[[Ints], Ints], types: Callable[[TextTypes], TextTypes]
    ) -> TransitionCounts:
        """With all arrays and types of texts changed but `answers`."""
        names = ("own", "pooled", "texts", "items", "segments", "items_own", "segments_own")
        changed: dict[str, Any] = {name: array(getattr(self, name)) for name in names}
        units, times = (tuple(map(types, those)) for those in (self.units, self.times))
        return replace(self, **changed, units=units, times=times)


@dataclass(frozen=True)
class DeclaredDistributions:
    """The declared distributions as the rule uses them.

    Attributes:
        specs: Share of each input value, [S, G], the unbiased ones first.
        unbiased: Output shares that count as unbiased, [U, C].
        margin: Largest deviation that still counts as unbiased (methods 0.6).
        choice: Whether nothing sent fixes the value, so that the residual is no loss but a refusal to choose,
            which is as good as balanced (two-step 1.11).
    """

    specs: Floats
    unbiased: Floats
    margin: float
    choice: bool = False

    @classmethod
    def of(cls, settings: Any) -> DeclaredDistributions:
        """What two-step settings declare; inputs are the values with a share in some distribution."""
        spec = settings.spec
        specs = np.vstack([spec.unbiased, spec.biased])
        sent, choice = specs[:, sent_values(specs)], bool(settings.source)
        declared = cls(sent, spec.unbiased, settings.margin, choice)
        return declared.without_residual() if settings.loss == "apart" else declared

    def without_residual(self) -> DeclaredDistributions:
        """With outputs conditioned on being kept."""
        shares = self.unbiased[:, :-1]
        return replace(self, unbiased=shares / shares.sum(axis=1, keepdims=True), choice=False)

    def deviations(self, rates: Floats, specs: Floats | None = None) -> Floats:
        """`deviations` of `specs`, [S, G], of all that are declared if not said."""
        return deviations(rates, self.specs if specs is None else specs, self.unbiased, choice=self.choice)

    def as_they_count(self, outputs: Floats, unbiased: Floats) -> Floats:
        """Output shares [..., C] as they count: a refusal is shared out as `unbiased` has it."""
        return shared_out(outputs, unbiased) if self.choice else outputs


def sent_values(specs: Floats) -> Ints:
    """Places of the values that have a share in some distribution: those that are sent."""
    return np.flatnonzero((specs > 0).any(axis=0))


@dataclass(frozen=True)
class LevelDraws:
    """What the draws say of each run.

    Attributes:
        deviations: dev(s), [R, T, S].
        levels: Place in LEVELS, [R, T].
        rates: Draws of P of the pooled counts, [R, T, G, C].
        own: Draws of P of each distribution's own block, [A, T, G, C] each, of the A runs whose
            blocks are not pooled; empty if there are none.
    """

    deviations: Floats
    levels: NDArray[np.int8]
    rates: Floats
    own: tuple[Floats, ...] = ()

    def outputs(self, specs: Floats) -> Floats:
        """What each distribution [S, G] comes out as in the draws of a single run, [T, S, C]."""
        if self.own:
            pushed = [spec @ rates[0] for spec, rates in zip(specs, self.own, strict=True)]
            return np.stack(pushed, axis=1)
        return np.asarray(specs @ self.rates[0])


def design_effect(clusters: Ints) -> Floats:
    """Design effect of each input value for one cluster key (two-step 1.7 step 3, before the maximum).

    Args:
        clusters: Counts by cluster, [..., K, G, C]; clusters without the value do not count.

    Returns:
        D, [..., G]; 1 with fewer than two clusters, or where all mentions gave one output.
    """
    counts = clusters.astype(np.float64)
    sizes = np.einsum("...kgo->...kg", counts)
    mentions = np.maximum(np.einsum("...kg->...g", sizes), 1.0)
    shares = np.einsum("...kgo->...go", counts) / mentions[..., None]
    groups = np.count_nonzero(sizes, axis=-2)
    # Sum of (y - p m)^2, multiplied out: whole numbers, so nothing is lost, and no large table.
    squares = np.einsum("...kgo,...kgo->...g", counts, counts)
    squares -= 2 * (shares * np.einsum("...kgo,...kg->...go", counts, sizes)).sum(axis=-1)
    squares += (shares**2).sum(axis=-1) * np.einsum("...kg,...kg->...g", sizes, sizes)
    return _effect(squares, groups, shares, mentions)


def effect_of_more(effect: Floats, clusters: Ints, blocks: int, times: float) -> Floats:
    """A design effect with `times` as many texts, of which the clusters are as many as before.

    It grows where a cluster (an occupation, or a word) stands more than once in a block, so that there are no
    more of them, and where clusters differ by more than chance, two standard errors.

    Args:
        effect: [..., G], of all reasons for which mentions are alike.
        clusters: Counts by cluster, [..., K, G, C].
        blocks: Blocks that are counted.
        times: 1 or more.
    """
    sizes = clusters.sum(axis=-1)
    groups, mentions = np.count_nonzero(sizes, axis=-2), sizes.sum(axis=-2)
    by_chance = 1.0 + 2.0 * np.sqrt(2.0 / np.maximum(groups - 1, 1))
    own = design_effect(clusters)
    grows = (own > by_chance) & (mentions > blocks * groups)
    return np.where(grows, np.maximum(effect, 1.0 + (own - 1.0) * times), effect)


def _unit_effect(units: TextTypes) -> Floats:
    """Design effect of one input value within each block, texts as clusters: [R, B]."""
    sizes = units.types.sum(axis=1)
    counts = (units.table @ units.types).astype(np.float64)
    mentions = np.maximum(counts.sum(axis=-1), 1.0)
    shares = counts / mentions[..., None]
    off = units.types - shares[..., None, :] * sizes[:, None]
    squares = (units.table[..., None] * off**2).sum(axis=(-2, -1))
    return _effect(squares, (units.table * (sizes > 0)).sum(axis=-1), shares, mentions)


def _effect(squares: Floats, groups: Ints, shares: Floats, mentions: Floats) -> Floats:
    plain = (shares * (1 - shares)).sum(axis=-1) / mentions
    defined = (groups > 1) & (plain > 1e-15)
    inflated = groups / np.maximum(groups - 1, 1) * squares / mentions**2
    return np.where(defined, inflated / np.where(defined, plain, 1.0), 1.0)


def largest_design_effect(counts: TransitionCounts) -> Floats:
    """The largest of 1 and the design effects by text content, occupation and segment of the run, [R, G]."""
    effects = [design_effect(by) for by in (counts.texts, counts.items, counts.segments)]
    return np.asarray(np.maximum(1.0, np.maximum.reduce(effects)))


def block_effect(counts: TransitionCounts) -> Floats:
    """As `pooled_effect`, within each block: [R, B, G]."""
    texts = np.stack([_unit_effect(unit) for unit in counts.units], axis=-1)
    effects = [texts, *(design_effect(by) for by in (counts.items_own, counts.segments_own))]
    return np.asarray(np.maximum(1.0, np.maximum.reduce(effects)))


def homogeneity(counts: TransitionCounts, rng: np.random.Generator) -> Floats:
    """Do the rates depend on the block? Holm-adjusted p of each input value (two-step 1.7 step 2).

    The chi-squared of outputs x blocks, block labels permuted over the texts that hold the
    value (`stats.comparisons.label_p`, which says when it stops early). One output, one block
    or one text: p = 1.

    Returns:
        Adjusted p, [R, G]; do not pool where any is at most .01, and doubt it up to .08.
    """
    return holm(np.stack([_mix_p(unit, rng) for unit in counts.units], axis=-1))


def change(counts: TransitionCounts, rng: np.random.Generator) -> Floats:
    """Do the rates change during the run? Holm-adjusted p of each input value (methods 0.3).

    As `homogeneity`, with the segments of the run in place of the blocks.

    Returns:
        Adjusted p, [R, G]; no level is settled where any is below .01.
    """
    return holm(np.stack([_mix_p(unit, rng) for unit in counts.times], axis=-1))


def _mix_p(units: TextTypes, rng: np.random.Generator) -> Floats:
    p = np.ones(len(units.table))
    mentions = units.table @ units.types
    varied = ((mentions.sum(axis=1) > 0).sum(axis=-1) > 1) & ((mentions.sum(axis=2) > 0).sum(axis=-1) > 1)
    if varied.any():
        p[varied] = label_p(units.table[varied], lambda tables: table_chi_squared(tables @ units.types), rng)
    return p


def posterior(counts: Ints, deff: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draws of the rates: row g from Dirichlet(c[g] / deff_g + 1 / C) (two-step 1.7 step 4).

    Args:
        counts: [..., G, C].
        deff: [..., G].
        draws: T.
        rng: The stream of this part.

    Returns:
        [..., T, G, C], rows summing to 1.
    """
    shape = counts / deff[..., None] + 1.0 / counts.shape[-1]
    # Draws lie next to each other in memory: all that follows runs over them.
    gamma = rng.standard_gamma(shape[..., None], size=(*shape.shape, draws))
    gamma /= gamma.sum(axis=-2, keepdims=True)
    return np.moveaxis(gamma, -1, -3)


def shared_out(outputs: Floats, unbiased: Floats) -> Floats:
    """Output shares [..., C] with the residual shared out as `unbiased` [..., C] has it."""
    kept = np.concatenate([outputs[..., :-1], np.zeros_like(outputs[..., -1:])], axis=-1)
    return np.asarray(kept + outputs[..., -1:] * unbiased)


def deviations(rates: Floats, specs: Floats, unbiased: Floats, *, choice: bool = False) -> Floats:
    """How far each distribution comes out from the nearest unbiased one (two-step 1.7 step 5).

    dev(s) = min over unbiased u of max over outputs o of |sum_g s_g P_go - u_o|.

    Args:
        rates: P, [..., T, G, C].
        specs: [S, G].
        unbiased: [U, C].
        choice: whether the residual is shared out as `unbiased` has it first (two-step 1.11).

    Returns:
        [..., T, S].
    """
    lead, values, last = rates.shape[:-2], range(rates.shape[-1]), rates.shape[-1] - 1
    result = np.empty((len(specs), *lead))
    for place, spec in enumerate(specs):
        inputs = np.flatnonzero(spec)
        output = [sum(spec[g] * rates[..., g, o] for g in inputs) for o in values]
        refused = output[-1] if choice else 0.0
        gaps = [
            np.maximum.reduce(
                [np.abs(output[o] + refused * (shares[o] - (o == last)) - shares[o]) for o in values]
            )
            for shares in unbiased
        ]
        result[place] = np.minimum.reduce(gaps)
    return np.moveaxis(result, 0, -1)


def level_of(devs: Floats, unbiased: int, margin: float) -> NDArray[np.int8]:
    """The level of each draw (two-step 1.7 step 6), by its place in LEVELS.

    A: dev <= margin for all unbiased specs; B: for all biased ones.
    BS without A, UCS with A and B, DSBS with A alone.

    Args:
        devs: [..., S], the first `unbiased` ones of unbiased specs.
        unbiased: Number of unbiased specs.
        margin: The margin.
    """
    within = devs <= margin + TOLERANCE
    balanced = np.logical_and.reduce([within[..., place] for place in range(unbiased)])
    biased = np.logical_and.reduce([within[..., place] for place in range(unbiased, devs.shape[-1])])
    return np.where(~balanced, 2, np.where(biased, 0, 1)).astype(np.int8)


def behaviour_of(devs: Floats, unbiased: int, margin: float) -> NDArray[np.int8]:
    """The two-bit behaviour of each draw (two-step 1.9), by its place in BEHAVIOURS.

    The first bit is the class of the output on unbiased input, the second on biased input;
    the second is open where the biased specs disagree.
    """
    within = devs <= margin + TOLERANCE
    adds = ~within[..., :unbiased].all(axis=-1)
    every, none = within[..., unbiased:].all(axis=-1), (~within[..., unbiased:]).all(axis=-1)
    second = np.where(every, 0, np.where(none, 1, 2))
    return np.where(second == 2, 4 + adds, 2 * adds + second).astype(np.int8)


@dataclass(frozen=True)
class PoolingResult:
    """What steps 2 and 3 of two-step 1.7 say of each run.

    Attributes:
        mix_p: Holm-adjusted p of homogeneity of each input value, [R, G].
        pooled: Whether the blocks are pooled, [R].
        doubtful: Whether they are, but the level must be settled without that, too, [R].
        deff: Design effect of each input value, [R, G].
    """

    mix_p: Floats
    pooled: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]
    deff: Floats

    def take(self, runs: NDArray[np.bool_]) -> PoolingResult:
        """Some of the runs."""
        return PoolingResult(self.mix_p[runs], self.pooled[runs], self.doubtful[runs], self.deff[runs])


def examine_pooling(
    counts: TransitionCounts, rng: np.random.Generator, doubtful: float = DOUBTFUL
) -> PoolingResult:
    """Steps 2 and 3 of two-step 1.7 for every run of `counts`.

    Args:
        counts: The tallies.
        rng: For the permutations.
        doubtful: Largest p of homogeneity at which pooling is in doubt.
    """
    mix_p = homogeneity(counts, rng)
    least = mix_p.min(axis=-1)
    pooled = least > MIX_LEVEL
    return PoolingResult(mix_p, pooled, pooled & (least <= doubtful), largest_design_effect(counts))


def draw_levels(
    counts: TransitionCounts,
    examined: PoolingResult,
    declared: DeclaredDistributions,
    draws: int,
    rng: np.random.Generator,
) -> LevelDraws:
    """Steps 4 to 6 of two-step 1.7 for every run of `counts`.

    Where homogeneity was rejected for any input value, every spec uses the rates and design
    effects of its own block. Where it is in doubt the level is drawn both ways, and that which is
    less certain counts. Blocks are in the order of `declared.specs`.

    Args:
        counts: The tallies.
        examined: What `examine` said of them.
        declared: The distributions and the margin.
        draws: T.
        rng: The stream of the posterior; what it draws first are the pooled rates.
    """
    rates = posterior(counts.pooled, examined.deff, draws, rng)
    devs = declared.deviations(rates)
    apart = ~examined.pooled
    own: tuple[Floats, ...] = ()
    if apart.any():
        own = block_rates(counts.take(apart), draws, rng)
        devs[apart] = block_deviations(own, declared)
    levels = level_of(devs, len(declared.unbiased), declared.margin)
    doubtful = examined.doubtful
    if doubtful.any():
        pooled, own_levels = levels[doubtful], block_levels(counts.take(doubtful), declared, draws, rng)
        levels[doubtful] = np.where(less_certain(pooled, own_levels), own_levels, pooled)
    return LevelDraws(devs, levels, rates, own)


def block_levels(
    counts: TransitionCounts, declared: DeclaredDistributions, draws: int, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Levels where each spec uses its own block's rates, [R, T]."""
    devs = block_deviations(block_rates(counts, draws, rng), declared)
    return level_of(devs, len(declared.unbiased), declared.margin)


def block_rates(
    counts: TransitionCounts, draws: int, rng: np.random.Generator, times: float = 1.0
) -> tuple[Floats, ...]:
    """Draws of the rates of each block by itself, [R, T, G, C] each.

    `times` as many texts as there are would have given the same rates.
    """
    effect = effect_of_more(block_effect(counts), counts.items_own, 1, times) / times
    return tuple(
        posterior(counts.own[:, place], effect[:, place], draws, rng) for place in range(counts.own.shape[1])
    )


def block_deviations(rates: tuple[Floats, ...], declared: DeclaredDistributions) -> Floats:
    """Deviations where each spec uses its own block's rates, [R, T, S]."""
    columns = [
        declared.deviations(own, spec[None])[..., 0] for own, spec in zip(rates, declared.specs, strict=True)
    ]
    return np.stack(columns, axis=-1)


def plain_rates(counts: Ints) -> Floats:
    """Observed rates c[g][o] / M_g, [..., G, C]; NaN in a row without mentions."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), np.nan)


@dataclass(frozen=True)
class PartCounts:
    """The counts of a part.

    Attributes:
        inputs: Places of the values that were sent, [G].
        counts: Of the mentions that were read, with a leading axis of one run.
        sent: Mentions sent by block, missing ones included, [B, C].
        came: What came back by block, [B, C]; words of a released tally beyond the mentions
            sent are counted here and nowhere else.
        missing: Missing mentions by block and value in, [B, C].
        unread: Likewise those of answers that came and that the reader does not understand.
        kinds: Mentions by what became of them.
        coverage: Responses by what became of them.
    """

    inputs: Ints
    counts: TransitionCounts
    sent: Ints
    came: Ints
    missing: Ints
    unread: Ints
    kinds: dict[str, int]
    coverage: Coverage

    @property
    def matrix(self) -> Ints:
        """Pooled mentions by value in and value out, [C, C]."""
        return self._square(self.counts.pooled[0])

    @property
    def block_matrices(self) -> list[Ints]:
        """Each block's own mentions by value in and value out, [C, C] each."""
        return [self._square(block) for block in self.counts.own[0]]

    def _square(self, rows: Ints) -> Ints:
        square = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.int64)
        square[self.inputs] = rows
        return square


@dataclass(frozen=True)
class MentionCells:
    """The mentions of a part as numbers, so that they can be read otherwise and counted again and again.

    Attributes:
        cells: Of each row of its summary that tells of a value sent the numbers of its block, text, item,
            segment, value in and value out, and how many mentions it stands for (n, pooled), [N] each.
        proper: Rows of mentions that were sent, not of what a released tally counts beyond them, [N].
        inputs: Places of the values that were sent, [G].
        size: Number of blocks and of values.
    """

    cells: Mapping[str, Ints]
    proper: NDArray[np.bool_]
    inputs: Ints
    size: tuple[int, int]

    @classmethod
    def of(cls, frame: pl.DataFrame, spec: Any) -> MentionCells:
        """Those of the summary of one part."""
        coded = _coded(frame, spec)
        cells = {name: coded[name].to_numpy() for name in CELLS}
        proper = (coded["kind"] != SURPLUS).to_numpy()
        return cls(
            cells, proper, sent_values(spec.distributions), (len(spec.distributions), len(spec.values))
        )

    def fill(self, value: int | None, gaps: Sequence[int]) -> MentionCells:
        """With gaps read as `value`, or unchanged, as `fill` reads them."""
        out = self.cells["value_out"]
        return self.read(np.isin(out, gaps), self.cells["value_in"] if value is None else value)

    def read(self, which: NDArray[np.bool_], as_value: Ints | int) -> MentionCells:
        """With some rows read as mentions that came out as a value."""
        out = np.where(which, as_value, self.cells["value_out"])
        return replace(self, cells={**self.cells, "value_out": out}, proper=self.proper | which)

    def came(self) -> Ints:
        """What came back by block, [B, C]."""
        return _sums(_where(self.cells, self.cells["value_out"] >= 0), ("block", "value_out"), self.size)

    def totals(self, gap: int | None = None) -> Ints:
        """Mentions sent by block and value in, [B, C]; of those with a gap if said."""
        which = self.proper if gap is None else self.proper & (self.cells["value_out"] == gap)
        return _sums(_where(self.cells, which), ("block", "value_in"), self.size)

    def counts(self) -> TransitionCounts:
        """Counts with one run of the mentions that were read, of values that are sent."""
        (blocks, cells), came = self.size, self.cells["value_out"] >= 0
        rows = np.full(cells, -1)
        rows[self.inputs] = np.arange(len(self.inputs))
        row = np.where(self.cells["value_in"] >= 0, rows[self.cells["value_in"]], -1)
        read = _where({**self.cells, "row": row}, came & self.proper & (row >= 0))
        texts, items, segments = (int(read[key].max(initial=0)) + 1 for key in ("text", "item", "segment"))
        by_value = [_where(read, read["row"] == place) for place in range(len(self.inputs))]
        pair, size = ("row", "value_out"), (len(self.inputs), cells)
        by_item = _sums(read, ("block", "item", *pair), (blocks, items, *size))
        answers = _where(self.cells, came)
        return TransitionCounts(
            own=by_item.sum(axis=1)[None],
            pooled=_sums(read, pair, size, "pooled")[None],
            texts=_sums(read, ("text", *pair), (texts, *size), "pooled")[None],
            items=_sums(read, ("item", *pair), (items, *size), "pooled")[None],
            segments=_sums(read, ("segment", *pair), (segments, *size), "pooled")[None],
            items_own=by_item[None],
            segments_own=_sums(read, ("block", "segment", *pair), (blocks, segments, *size))[None],
            units=tuple(_units(one, "block", (blocks, texts, cells)) for one in by_value),
            times=tuple(_units(one, "segment", (segments, texts, cells)) for one in by_value),
            answers=_units(answers, "block", (blocks, int(answers["text"].max(initial=0)) + 1, cells)),
        )


CELLS = ("block", "text", "item", "segment", "value_in", "value_out", "n", "pooled")


def part_counts(frame: pl.DataFrame, spec: Any) -> PartCounts:
    """Count the summary of one part.

    Args:
        frame: Its rows of the summary.
        spec: The specification (settings.Spec).
    """
    mentions = MentionCells.of(frame, spec)
    return PartCounts(
        inputs=mentions.inputs,
        counts=mentions.counts(),
        sent=mentions.totals(),
        came=mentions.came(),
        missing=mentions.totals(GONE),
        unread=mentions.totals(ABSTAINS),
        kinds=_kinds(frame.filter(pl.col("value_in").is_not_null(), pl.col("kind") != SURPLUS)),
        coverage=coverage(frame.select("status", n="texts")),
    )


def fill(frame: pl.DataFrame, value: int | None, gaps: Sequence[int] = (GONE, ABSTAINS)) -> pl.DataFrame:
    """The summary with every missing or unread mention read: as `value`, or unchanged (methods 0.4, 0.10).

    Args:
        frame: rows of a summary.
        value: the reading; None for unchanged.
        gaps: which mentions: missing ones (`GONE`), unread ones (`ABSTAINS`).
    """
    reading = pl.col("value_in") if value is None else pl.lit(value, dtype=pl.Int8)
    gone = pl.col("value_out").is_in(gaps)
    return frame.with_columns(
        pl.when(gone).then(reading).otherwise("value_out").alias("value_out"),
        pl.when(gone).then(pl.lit("kept")).otherwise("kind").alias("kind"),
    )


def like_the_others(frame: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """What unread mentions may be if they are like those of the same value that were read, in a random order.

    Args:
        frame: rows of a summary, of which some are unread and of each value sent some are read.
        rng: the stream of the order and of what they are.

    Returns:
        The rows, with columns `labels`, how many labels it takes in this order until a mention has one, null
        where nothing is unread; `value_if_read`; `kind_if_read`. Copies of one answer of a deterministic
        service have one label.
    """
    mention = ("text", "item", "value_in")
    copies = pl.col("pooled").sum().over(mention) < pl.col("n").sum().over(mention)
    rows = frame.with_row_index("_row").with_columns(
        _unit=pl.when(copies).then(pl.col("_row").min().over(mention)).otherwise("_row")
    )
    unread = rows.filter(pl.col("value_out") == ABSTAINS)
    units = unread.group_by("_unit", maintain_order=True).agg(
        pl.col("value_in").first(), pl.col("pooled").sum().alias("labels")
    )
    units = units[rng.permutation(units.height)].with_columns(pl.col("labels").cum_sum())
    known = rows.filter((pl.col("value_out") >= 0) & (pl.col("kind") != SURPLUS) & (pl.col("pooled") > 0))
    sums = known.group_by("value_in", "value_out", "kind").agg(pl.col("pooled").sum())
    said = []
    for (value,), some in units.group_by("value_in", maintain_order=True):
        of = sums.filter(pl.col("value_in") == value).sort("value_out", "kind")
        # as unsure as the mentions that were read leave it
        edges = np.cumsum(rng.dirichlet(of["pooled"].to_numpy()))
        at = np.searchsorted(edges, rng.random(some.height), side="right").clip(0, of.height - 1)
        said.append(
            some.select("_unit", "labels").with_columns(
                value_if_read=of["value_out"].gather(at), kind_if_read=of["kind"].gather(at)
            )
        )
    return rows.join(pl.concat(said), on="_unit", how="left", maintain_order="left").drop("_row", "_unit")


def _coded(frame: pl.DataFrame, spec: Any) -> pl.DataFrame:
    """Blocks, texts and occupations as numbers."""
    places = {name: place for place, name in enumerate(spec.blocks)}
    return frame.filter(pl.col("value_in").is_not_null()).with_columns(
        pl.col("block").replace_strict(places, return_dtype=pl.Int64),
        pl.col("text").rank("dense").cast(pl.Int64) - 1,
        pl.col("item").rank("dense").cast(pl.Int64) - 1,
        pl.col("value_in", "value_out").cast(pl.Int64),
    )


def _where(cells: Mapping[str, Ints], which: NDArray[np.bool_]) -> dict[str, Ints]:
    """Some of the rows."""
    return {name: one[which] for name, one in cells.items()}


def _sums(
    cells: Mapping[str, Ints], keys: tuple[str, ...], shape: tuple[int, ...], weight: str = "n"
) -> Ints:
    """Sums of a column over cells of integer keys."""
    flat = np.ravel_multi_index(tuple(cells[key] for key in keys), shape)
    sums = np.bincount(flat, weights=cells[weight], minlength=int(np.prod(shape)))
    return np.rint(sums).astype(np.int64).reshape(shape)


def _units(read: Mapping[str, Ints], within: str, shape: tuple[int, int, int]) -> TextTypes:
    """Texts of each block or segment by type: the number of mentions that came out as each value."""
    groups, texts, cells = shape
    keys = read[within] * texts + read["text"]
    kinds, place = np.unique(keys, return_inverse=True)
    cell = place.reshape(-1) * cells + read["value_out"]
    each = np.bincount(cell, weights=read["n"], minlength=len(kinds) * cells).reshape(-1, cells)
    types, kind = different_rows(np.rint(each).astype(np.int64))
    flat = kinds // texts * len(types) + kind
    table = np.bincount(flat, minlength=groups * len(types)).reshape(1, groups, len(types))
    return TextTypes(table, types)


def _kinds(frame: pl.DataFrame) -> dict[str, int]:
    sums = frame.group_by("kind").agg(pl.col("n").sum()).sort("kind")
    return {kind: int(count) for kind, count in sums.iter_rows() if kind not in (MISSING, UNREAD) and count}
