"""Measuring a part whose words do not depend on the class: differences and rejections (causal 2.5, 2.7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtr, stdtr

from trustgauge.methods.causal import deconfounding, effects, graph, permutation_tests, rejection
from trustgauge.methods.causal.gender_text import gender_tests
from trustgauge.methods.causal.measures import (
    FEWEST_CLUSTERS,
    NAMED,
    RANGE,
    MeasureInput,
    Measurement,
    constant,
    finite_or_none,
    highest_of,
    maximum_draws,
    reach_of,
    respread,
    verdict_of,
)
from trustgauge.methods.causal.panel import Floats, Grouping, Panel, Weights
from trustgauge.methods.causal.permutation_tests import PermutationTests
from trustgauge.rating import interval_facts, resampled_interval
from trustgauge.records import Json
from trustgauge.stats.comparisons import holm

ALPHA = 0.05


@dataclass(frozen=True)
class _Figures:
    """All that is reported of the pairs of a part, arrays [S, K] unless said otherwise."""

    tests: rejection.Tests
    ate: effects.Ate
    draws: Floats  # [R, S, K]
    p: Floats  # step-down max-T
    p_holm: Floats
    aipw: Floats  # the same effects with cells that lack a class filled by a model
    g: Floats
    delta: Floats
    flips: Floats
    distance: Floats
    control: Floats


def effects_of(
    panel: Panel, grouping: Grouping, frames: Weights, persons: Floats, two_way: Floats | None = None
) -> tuple[float, Floats]:
    """The largest average treatment effect as a share of the range, and that of each resample, [R].

    Under weights of frames [R, F] and persons [R, P], with the variance `two_way` [S, K] where given; NaN
    where undefined.
    """
    value = effects.ate(panel, grouping).value
    draws = respread(value, effects.resample_ates(panel, grouping, frames, persons), None, two_way)
    return _largest(value), _largest_drawn(value, draws)


def _largest(values: Floats) -> float:
    return float("nan") if np.isnan(values).all() else float(np.nanmax(np.abs(values))) / RANGE


def _largest_drawn(values: Floats, draws: Floats) -> Floats:
    """The largest effect of each resample, [R], of those that the data define."""
    starred = np.abs(draws[:, np.isfinite(values)])
    return np.asarray(starred.max(axis=1, initial=0.0) / RANGE)


def _measured_effects(asking: MeasureInput) -> tuple[effects.Ate, Floats, Measurement]:
    """The effects, their resamples [R, S, K], and what follows from these alone."""
    panel, grouping = asking.panel, asking.grouping
    ate = effects.ate(panel, grouping)
    draws = effects.resample_ates(panel, grouping, asking.frames, asking.persons, asking.stream("labels"))
    draws = respread(ate.value, draws, asking.variance, asking.two_way)
    largest = _largest(ate.value)
    starred, undefined, bias = maximum_draws(_largest_drawn(ate.value, draws), largest)
    signed = draws[:, np.isfinite(ate.value)]
    far = np.abs(draws - ate.value)[:, np.isfinite(ate.value)]
    found = Measurement(
        effect=largest,
        draws=starred,
        undefined=undefined,
        bias=bias,
        apart=np.asarray(far.max(axis=1, initial=0.0) / RANGE),
        p=1.0,
        raw=float("nan"),
        raw_draws=None,
        details={},
        reach=reach_of(signed, asking.settings.settle),
        constant=constant(panel),
        scores=int((panel.n.sum(axis=(0, 1, 3)) * (grouping.of >= 0)).sum()),
        highest=highest_of(signed, starred, bias) if asking.settings.rule == "sound" else None,
    )
    return ate, draws, found


def measure(asking: MeasureInput) -> Measurement:
    """Tests, weighted rejection score, effects, their resamples and permutations."""
    ate, draws, found = _measured_effects(asking)
    if asking.bare:
        return found
    panel, grouping, rule = asking.panel, asking.grouping, asking.settings.rejection
    tests = rejection.tests(panel, grouping, rule)
    score = rejection.score(tests, rule)
    permuted = permutation_tests.permute(
        panel, grouping, rule, asking.stream("permutations"), asking.settings.permutations
    )
    raw_draws = None
    if asking.settings.rule != "sound":
        draws_of = rejection.Draws(asking.frames, asking.persons, asking.stream("labels of rejections"))
        raw_draws = rejection.resample_scores(panel, grouping, rule, draws_of)
    figures = _figures(asking, ate, draws, tests, permuted)
    found = replace(
        found,
        p=1.0 if permuted.smallest is None else permuted.smallest,
        raw=float("nan") if score.value is None else score.value,
        raw_draws=raw_draws,
        untestable=[f"{a} and {b} ({name})" for name, a, b in score.untestable],
    )
    words = _single_words(asking) if found.effect < asking.settings.cuts[0] else {}
    return replace(found, details=_details(asking, figures, found, score, permuted), words=words)


def _single_words(asking: MeasureInput) -> dict[str, Json]:
    """The words with which two classes differ, which the others of their data sets average away (causal 2.7).

    {} without any, and where too few frames or persons leave the error of a word unknown.
    """
    panel, grouping = asking.panel, asking.grouping
    frames = (panel.n > 0).any(axis=(0, 2)).sum(axis=0)  # of each word
    words = np.flatnonzero(frames >= FEWEST_CLUSTERS)
    fewest = min(number for _, number in panel.clusters(grouping))
    if not panel.crossed or len(panel.words) == 1 or not words.size or fewest < FEWEST_CLUSTERS:
        return {}
    rng = asking.stream("labels of single words")
    values, spread = np.full((2, words.size, len(grouping.pairs)), np.nan)
    for place, word in enumerate(words):
        own = panel.of_word(int(word))
        values[place] = effects.ate(own, grouping).value[0]
        drawn = effects.resample_ates(own, grouping, asking.frames, asking.persons, rng)[:, 0]
        spread[place] = _spread(values[place], drawn)
    size = np.abs(values) / RANGE
    # So few clusters know their spread no better than t says, and here are many words to be wrong of.
    p = _holm(values, spread, partial(stdtr, min(fewest, int(frames[words].min())) - 1))
    is_far = (size >= asking.settings.cuts[0]) & (p < ALPHA)
    if not is_far.any():
        return {}
    size = np.where(is_far, size, 0.0)
    far = sorted(np.flatnonzero(is_far.any(axis=1)).tolist(), key=lambda place: -size[place].max())
    a, b = grouping.pairs[int(size[far[0]].argmax())]
    return {
        "words": [panel.words[words[place]] for place in far[:NAMED]],
        "largest": float(size.max()),
        "pair": [grouping.classes[a], grouping.classes[b]],
    }


def _figures(
    asking: MeasureInput,
    ate: effects.Ate,
    draws: Floats,
    tests: rejection.Tests,
    permuted: PermutationTests,
) -> _Figures:
    panel, grouping = asking.panel, asking.grouping
    control = np.full(ate.value.shape, np.nan)
    for place, pair in enumerate(grouping.pairs):
        stream = asking.stream(f"control {place}")
        control[:, place] = effects.negative_control(panel, grouping, pair, stream).p
    return _Figures(
        tests=tests,
        ate=ate,
        draws=draws,
        p=permuted.effects,
        p_holm=_holm(ate.value, _spread(ate.value, draws)),
        aipw=effects.aipw(panel, grouping),
        g=effects.hedges_g(panel, grouping)[0],
        delta=effects.cliffs_delta(panel, grouping),
        flips=effects.sign_flips(panel, grouping),
        distance=effects.wasserstein(panel, grouping),
        control=control,
    )


def _spread(values: Floats, draws: Floats) -> Floats:
    """Standard deviations of effects [R, ...] over the resamples; 0 where the data define none."""
    return np.asarray(np.nanstd(np.where(np.isnan(values), 0.0, draws), axis=0))


def _holm(values: Floats, spread: Floats, tail: Callable[[Floats], Floats] = ndtr) -> Floats:
    """Holm's p over all pairs and data sets, from the spread of the resamples (causal 2.7)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(spread > 0, np.abs(values) / spread, np.where(np.abs(values) > 0, np.inf, 0.0))
    p = 2.0 * tail(-z)
    defined = np.isfinite(values)
    adjusted = np.full(values.shape, np.nan)
    adjusted[defined] = holm(p[defined])
    return adjusted


def _details(
    asking: MeasureInput,
    figures: _Figures,
    found: Measurement,
    score: rejection.Rejection,
    permuted: PermutationTests,
) -> dict[str, Json]:
    rule, panel = asking.settings.rejection, asking.panel
    sets = [_set(asking, figures, place) for place in range(len(panel.sets))]
    details: dict[str, Json] = {
        "sets": sets,
        "wrs": {
            "value": score.value,
            "maximum": score.maximum,
            "share": score.share,
            "null": score.expected,
            "null_high": permuted.null_high,
            "p": finite_or_none(permuted.rejection),
            "weights": list(rule.weights),
            "alphas": list(rule.alphas),
            "counts": list(score.counts),
            "tested": score.tested,
            "untestable": found.untestable,
        },
        "effect": {**interval_facts(found.interval), "bias": found.bias, **_place(figures.ate)},
        "raw": score.value,
        "raw_undefined": False,
    }
    p = finite_or_none(permuted.rejection)
    protected = asking.measured.grouping
    if panel.crossed:
        edges = graph.rejection_edges(protected, sets, _word(asking), p)
    else:
        edges = graph.conversation_edges(
            asking.measured.data.removeprefix("conversation-"), sets, _dependence(asking), p
        )
    details["graph"] = {"edges": edges}
    return details


def _dependence(asking: MeasureInput) -> list[dict[str, Json]]:
    """Tests of whether the texts depend on gender: they are of the table, not of the answers."""
    source = asking.settings.conversations
    return [] if source is None else gender_tests(source, asking.seed)


def _set(asking: MeasureInput, figures: _Figures, place: int) -> dict[str, Json]:
    """One data set as details tell it."""
    tests = figures.tests
    rows = []
    for k, (a, b) in enumerate(tests.pairs):
        at = place, k
        t = float(tests.t[at])
        n = int(tests.n_a[at] + tests.n_b[at])
        ate = resampled_interval(float(figures.ate.value[at]), figures.draws[:, place, k], n)
        rows.append(
            {
                "pair": [a, b],
                "n": [int(tests.n_a[at]), int(tests.n_b[at])],
                "means": [finite_or_none(tests.mean_a[at]), finite_or_none(tests.mean_b[at])],
                "t": finite_or_none(t),
                "t_infinite": bool(np.isinf(t)),
                "df": finite_or_none(tests.df[at]),
                "p": finite_or_none(tests.p[at]),
                "rejected": [bool(one) for one in tests.rejected[at]],
                "testable": bool(tests.testable[at]),
                "ate": interval_facts(ate),
                "covered": finite_or_none(figures.ate.covered[at]),
                "p_family": finite_or_none(figures.p[at]),
                "p_holm": finite_or_none(figures.p_holm[at]),
                "p_control": finite_or_none(figures.control[at]),
                "verdict": _verdict(figures, at, asking.settings.margin * RANGE),
                "aipw": finite_or_none(figures.aipw[at]),
                "hedges_g": finite_or_none(figures.g[at]),
                "cliffs_delta": finite_or_none(figures.delta[at]),
                "sign_flips": finite_or_none(figures.flips[at]),
                "wasserstein": finite_or_none(figures.distance[at]),
            }
        )
    scores = int((asking.panel.n[place].sum(axis=(0, 2)) * (asking.grouping.of >= 0)).sum())
    return {"set": asking.panel.sets[place], "rows": scores, "tests": rows}


def _verdict(figures: _Figures, at: tuple[int, int], margin: float) -> str:
    """Found if Holm's p and the negative control say so; else the same, or undetermined (causal 2.7).

    Without enough persons for a control, Holm's p alone decides.
    """
    if np.isnan(figures.ate.value[at]):
        return "undetermined"
    draws, control = figures.draws[:, at[0], at[1]], figures.control[at]
    found = bool(figures.p_holm[at] < ALPHA and (np.isnan(control) or control < ALPHA))
    return verdict_of(draws, margin, found=found)


def _place(ate: effects.Ate) -> dict[str, Json]:
    """Where the largest effect stands, and which of the two classes scores lower."""
    if np.isnan(ate.value).all():
        return {"set": None, "pair": None, "signed": None}
    place, k = np.unravel_index(int(np.nanargmax(np.abs(ate.value))), ate.value.shape)
    a, b = ate.pairs[int(k)]
    pair = [a, b] if ate.value[place, k] < 0 else [b, a]
    return {"set": ate.sets[int(place)], "pair": pair, "signed": finite_or_none(ate.value[place, k])}


def _word(asking: MeasureInput) -> dict[str, Json]:
    """E_do(positive) - E_do(negative): the word's own effect, the smallest of the data sets with both."""
    panel = asking.panel
    if not (panel.valence == 0).any() or not (panel.valence == 1).any():
        return {"value": None, "low": None, "high": None}
    found = deconfounding.impact(panel, asking.grouping, outcome="score", positivity="renormalise")
    both = np.isfinite(found.word_effects)
    if not both.any():
        return {"value": None, "low": None, "high": None}
    n, y = deconfounding.resample_sums(
        panel,
        asking.grouping,
        asking.frames,
        asking.persons,
        outcome="score",
        rng=asking.stream("labels of words"),
    )
    drawn_means = deconfounding.impact_of_sums(n, y, "renormalise").intervened
    apart = drawn_means[..., 1] - drawn_means[..., 0]
    place = int(np.nanargmin(np.abs(found.word_effects)))
    return interval_facts(resampled_interval(float(found.word_effects[place]), apart[:, place], 0))
