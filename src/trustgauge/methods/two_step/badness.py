"""How bad services are beside each other: a paired bootstrap over what they were all asked.

Badness is what the level rests on first: the largest deviation from balanced over the unbiased
distributions (two-step 1.7 step 5), and over the parts of a service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.two_step.score import ABSTAINS, GONE, LABEL, SURPLUS
from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.methods.two_step.transition_model import (
    RESAMPLES,
    DeclaredDistributions,
    MentionCells,
    examine_pooling,
    fill,
)
from trustgauge.records import digest
from trustgauge.stats import stream
from trustgauge.stats.distributions import Floats, Ints

CLUSTERS = ("text", "item")
FEWEST = 10  # clusters of a stratum; smaller strata are resampled together (methods 0.5 (b))
AT_ONCE = 20_000_000  # weights in memory
Name = tuple[str, str]
"""A service, and how its gaps are read: "" not at all."""


@dataclass(frozen=True)
class _Part:
    """One part of one reading of a service: its rows of the summary, and whether its blocks are pooled."""

    name: Name
    rows: pl.DataFrame
    pooled: bool


@dataclass(frozen=True)
class _Asked:
    """Clusters that were asked, the same for all services of a group: the stratum of each, [K]."""

    strata: Ints

    @classmethod
    def of(cls, rows: pl.DataFrame, key: str) -> _Asked:
        """Strata are the sets of values that a cluster holds; the small ones are joined."""
        values = rows.group_by(key).agg(pl.col("value_in").unique().sort()).sort(key)
        names = values["value_in"].list.eval(pl.element().cast(pl.String)).list.join(" ")
        strata = names.rank("dense").cast(pl.Int64).to_numpy() - 1
        small = np.bincount(strata)[strata] < FEWEST
        return cls(np.where(small, -1, strata))

    def weights(self, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
        """How often each cluster was drawn, with replacement within strata: [some resamples, K]."""
        size = len(self.strata)
        step = max(1, AT_ONCE // size)
        for start in range(0, RESAMPLES, step):
            drawn = np.zeros((min(step, RESAMPLES - start), size))
            for stratum in np.unique(self.strata):
                mine = np.flatnonzero(self.strata == stratum)
                picked = rng.integers(0, len(mine), (len(drawn), len(mine)))
                picked += len(mine) * np.arange(len(drawn))[:, None]
                counts = np.bincount(picked.ravel(), minlength=len(drawn) * len(mine))
                drawn[:, mine] = counts.reshape(len(drawn), len(mine))
            yield drawn


def badness_draws(summary: pl.DataFrame, settings: TwoStepSettings, seed: int) -> dict[str, Floats]:
    """Service -> its largest deviation from balanced in each of 2,000 resamples; bigger is worse.

    Services with the same texts share the resamples. Texts are drawn with replacement among those
    that hold the same values; so are occupations, and whichever spreads the services of a group
    more is used, as the larger design effect is in two-step 1.7 step 3. An output that all mentions
    of a value share would have no spread: it is drawn in the manner of methods 0.5 (c), by the same
    draws for all services. Where rates depend on the mix, each distribution uses its own block's.

    Args:
        summary: Columns of `score.SUMMARY`.
        settings: The experiment.
        seed: Of the experiment.

    Returns:
        Draws [R]. A service that has a part without one mention of some value is left out.
    """
    readings = {(name, ""): rows for name, rows in _by_service(summary, settings, seed).items()}
    return {service: bad for (service, _), bad in _drawn(readings, settings, seed).items()}


def badness_bounds(
    summary: pl.DataFrame, settings: TwoStepSettings, seed: int
) -> dict[str, tuple[Floats, Floats]]:
    """Service -> its badness in each resample with what is missing or unread at its best, and at its worst.

    Gaps are read unchanged, then all as each output value, as they are for the level (methods 0.4, 0.10); a
    service without gaps has one badness. All readings share the resamples, so that they can be subtracted.

    Args:
        summary: Columns of `score.SUMMARY`.
        settings: The experiment.
        seed: Of the experiment.

    Returns:
        Draws [R] twice. A service that has a part without one mention of some value is left out.
    """
    readings: dict[Name, pl.DataFrame] = {}
    for service, rows in _by_service(summary, settings, seed).items():
        readings[service, ""] = rows
        if rows["value_out"].is_in([GONE, ABSTAINS]).any():
            for value in (None, *range(len(settings.spec.values))):
                readings[service, f"filled {'unchanged' if value is None else value}"] = fill(rows, value)
    found: dict[str, list[Floats]] = {}
    for (service, _), bad in _drawn(readings, settings, seed).items():
        found.setdefault(service, []).append(bad)
    return {name: (np.min(every, axis=0), np.max(every, axis=0)) for name, every in found.items()}


def _by_service(summary: pl.DataFrame, settings: TwoStepSettings, seed: int) -> dict[str, pl.DataFrame]:
    """The rows of each service, as people labelled them, in the order of the summary."""
    if LABEL in summary.columns:
        from trustgauge.methods.two_step import audit

        summary = audit.imputed_summary(summary, settings, seed)
    parted = summary.partition_by("service", maintain_order=True)
    return {str(rows["service"][0]): rows for rows in parted}


def _drawn(readings: Mapping[Name, pl.DataFrame], settings: TwoStepSettings, seed: int) -> dict[Name, Floats]:
    """The badness of each reading, [R]; one that has a part without a mention of some value is left out."""
    declared, found = DeclaredDistributions.of(settings), dict[Name, Floats]()
    for texts, parts in _groups(readings, settings, seed).items():
        spread: list[tuple[float, dict[Name, Floats]]] = []
        for key in CLUSTERS:
            stream_name = ("two-step", settings.table.name, "standing", key, texts)
            draws = _Resampled(settings, declared, key).draws(parts, stream(seed, *stream_name))
            whole = sum(float(np.nanvar(one)) for one in draws.values())
            spread.append((whole, draws))
        for name, bad in max(spread, key=lambda one: one[0])[1].items():
            found[name] = np.maximum(found[name], bad) if name in found else bad
    return {name: found[name] for name in readings if name in found}


def _groups(
    readings: Mapping[Name, pl.DataFrame], settings: TwoStepSettings, seed: int
) -> dict[str, list[_Part]]:
    """The parts of readings that can be judged, by the texts that were asked."""
    groups: dict[str, list[_Part]] = {}
    apart = settings.loss == "apart"
    for name, rows in readings.items():
        mine = []
        sent = rows.filter(pl.col("value_in").is_not_null())
        for (part,), own in sent.group_by("part", maintain_order=True):
            counts = MentionCells.of(own, settings.spec).counts()
            counts = counts.without_residual() if apart else counts
            if not counts.pooled[0].sum(axis=-1).all():
                break
            # The same stream as in the rating, so that both pool or neither does.
            mix = stream(seed, "two-step", settings.table.name, name[0], str(part), "mix")
            mine.append(_Part(name, own, bool(examine_pooling(counts, mix).pooled[0])))
        else:
            for one in mine:
                texts = digest("texts", one.rows["text"].unique().sort().to_list())
                groups.setdefault(texts, []).append(one)
    return groups


class _Resampled:
    """Rates and deviations over resampled clusters of one kind."""

    def __init__(self, settings: TwoStepSettings, declared: DeclaredDistributions, key: str) -> None:
        self.spec: Any = settings.spec
        self.unbiased = declared.specs[: len(declared.unbiased)]
        self.declared, self.key = declared, key
        self.inputs = np.flatnonzero((self.spec.distributions > 0).any(axis=0))

    def draws(self, parts: Sequence[_Part], rng: np.random.Generator) -> dict[Name, Floats]:
        """Reading -> badness, [R]: the worst of its parts in each resample."""
        clusters = _Asked.of(parts[0].rows, self.key)
        tables = [self._cells(part, len(clusters.strata)) for part in parts]
        whole = np.concatenate([table.reshape(len(table), -1) for table in tables], axis=1)
        sums = np.concatenate([weights @ whole for weights in clusters.weights(rng)])
        size = (len(sums), len(self.spec.blocks), *tables[0].shape[2:])
        noise = rng.standard_gamma(1 / size[-1], size)
        found: dict[Name, Floats] = {}
        start = 0
        for part, table in zip(parts, tables, strict=True):
            end = start + int(np.prod(table.shape[1:]))
            mine = sums[:, start:end].reshape(len(sums), *table.shape[1:])
            start = end
            asked = self._asked(part, table.shape[1:3])
            bad = self._badness(mine, table, asked, noise[:, : table.shape[1]])
            found[part.name] = np.maximum(found[part.name], bad) if part.name in found else bad
        return found

    def _cells(self, part: _Part, size: int) -> Floats:
        """Mentions by cluster, block, value in and value out, [K, B, G, C]; B = 1 if pooled."""
        blocks: Mapping[str, int] = {name: place for place, name in enumerate(self.spec.blocks)}
        rows: Mapping[int, int] = {int(value): row for row, value in enumerate(self.inputs)}
        coded = part.rows.with_columns(_cluster=pl.col(self.key).rank("dense").cast(pl.Int64) - 1)
        read = coded.filter(
            (pl.col("value_out") >= 0) & (pl.col("kind") != SURPLUS) & pl.col("value_in").is_in(list(rows))
        )
        shape = (size, 1 if part.pooled else len(blocks), len(rows), len(self.spec.values))
        where = (
            read["_cluster"].to_numpy(),
            np.zeros(len(read), dtype=np.int64)
            if part.pooled
            else read["block"].replace_strict(blocks, return_dtype=pl.Int64).to_numpy(),
            read["value_in"].cast(pl.Int64).replace_strict(rows, return_dtype=pl.Int64).to_numpy(),
            read["value_out"].cast(pl.Int64).to_numpy(),
        )
        weight = read["pooled" if part.pooled else "n"].to_numpy()
        sums = np.bincount(np.ravel_multi_index(where, shape), weights=weight, minlength=int(np.prod(shape)))
        table = sums.reshape(shape)
        # Lost mentions are left out where the plan keeps them apart.
        return np.asarray(table[..., : self.declared.unbiased.shape[1]])

    def _asked(self, part: _Part, shape: tuple[int, ...]) -> Floats:
        """Clusters that were asked, by block and value in, [B, G]: read or not, the same for all services."""
        blocks: Mapping[str, int] = {name: place for place, name in enumerate(self.spec.blocks)}
        rows: Mapping[int, int] = {int(value): row for row, value in enumerate(self.inputs)}
        sent = part.rows.filter((pl.col("kind") != SURPLUS) & pl.col("value_in").is_in(list(rows)))
        keys = ["value_in"] if part.pooled else ["block", "value_in"]
        asked = np.zeros(shape)
        for *block, value, clusters in sent.group_by(keys).agg(pl.col(self.key).n_unique()).iter_rows():
            asked[blocks[block[0]] if block else 0, rows[value]] = clusters
        return asked

    def _badness(self, sums: Floats, table: Floats, asked: Floats, noise: Floats) -> Floats:
        """The largest deviation of the unbiased distributions, [R].

        Args:
            sums: Resampled mentions, [R, B, G, C].
            table: Mentions by cluster, [K, B, G, C].
            asked: Clusters that were asked, [B, G].
            noise: Gamma(1/C) draws of that shape.
        """
        total = sums.sum(axis=-1, keepdims=True)
        rates = np.where(total > 0, sums / np.where(total > 0, total, 1.0), np.nan)
        observed = table.sum(axis=0)
        same = (observed > 0).sum(axis=-1) == 1
        # Dirichlet(K + 1/C, 1/C, ...) of K clusters, the prior of two-step 1.7 step 4. The noise of the large
        # component is left at Gamma(1/C), so that services share their draws; and K counts what was asked,
        # else one with an unread answer would be a trifle worse in every draw.
        drawn = asked[..., None] * (observed > 0) + noise
        rates = np.where(same[..., None], drawn / drawn.sum(axis=-1, keepdims=True), rates)
        columns = []
        for place, spec in enumerate(self.unbiased):
            own = rates[:, place if rates.shape[1] > 1 else 0]
            columns.append(self.declared.deviations(own, spec[None])[..., 0])
        return np.asarray(np.max(columns, axis=0))
