"""Effects of protected classes on scores, beside the rejection score (causal 2.7).

The average treatment effect compares classes within the same words; effect sizes say how large a
difference is beside the spread of the scores; the negative control asks whether other persons of
the same class differ as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from trustgauge.methods.causal.contrasts import (
    Contrasts,
    ContrastSide,
    by_cluster,
    is_assigned,
    mean_of_means,
    side,
)
from trustgauge.methods.causal.label_bootstrap import resample_labels
from trustgauge.methods.causal.panel import Floats, Grouping, Panel, Weights
from trustgauge.methods.causal.rejection import class_pairs, class_sums
from trustgauge.stats import means
from trustgauge.stats.comparisons import benjamini_hochberg, reaches

Bools = NDArray[np.bool_]

RANGE = 2.0  # width of the range of scores in a panel, -1 to 1
ROUNDING = 1e-12  # differences and errors below this are none
LEAST_PERSONS = 4  # of a class, to split it in two (causal 2.7)


@dataclass(frozen=True, slots=True)
class Ate:
    """Average treatment effects, arrays [S, K].

    Attributes:
        sets: names of the data sets.
        pairs: names of the classes a and b of each pair.
        value: effect of class a against class b, in units of the score; NaN if nothing can be compared.
        covered: share of the answers of both classes that lie in cells holding both; conversations
            compared as wholes are covered wholly.
        assigned: whether conversations were compared as wholes.
    """

    sets: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    value: Floats
    covered: Floats
    assigned: bool


def ate(panel: Panel, grouping: Grouping) -> Ate:
    """Average treatment effects of all pairs of classes (causal 2.7).

    Sum over cells (frame, word) holding both classes of P(cell) (mean_a - mean_b), P the share of
    the answers of the two classes in these cells. Where every conversation has one class only:
    the difference of the means of conversation means.
    """
    frames, persons = np.ones((1, len(panel.frames))), np.ones((1, len(panel.persons)))
    names = grouping.classes
    whole = is_assigned(panel, grouping)
    value = _resampled(panel, grouping, frames, persons)[0]
    return Ate(
        sets=panel.sets,
        pairs=tuple((names[a], names[b]) for a, b in grouping.pairs),
        value=value,
        covered=np.where(np.isfinite(value), 1.0, 0.0) if whole else _covered(panel, grouping),
        assigned=whole,
    )


def resample_ates(
    panel: Panel,
    grouping: Grouping,
    frame_weights: Weights,
    person_weights: Floats,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Average treatment effects in every resample, [R, S, K]; NaN where undefined in one.

    Args:
        panel: The answers.
        grouping: The classes compared.
        frame_weights: How often each frame was drawn, [R, F], as `Panel.weights` gives them.
        person_weights: How often each person was drawn, [R, P].
        rng: For the labels of people, which are resampled too if there are any; without a
            generator they stay as given.
    """
    if rng is None or not panel.labels.any():
        return _resampled(panel, grouping, frame_weights, person_weights)
    effects = np.empty((len(frame_weights), len(panel.sets), len(grouping.pairs)))
    whole = is_assigned(panel, grouping)
    for draws, n, y in resample_labels(panel, len(frame_weights), rng):
        if whole:
            sums = by_cluster(panel, grouping, n, y)
            of_class = mean_of_means(panel, *sums, frame_weights[draws])
            effects[draws] = _differences(of_class, grouping)
        else:
            effects[draws] = _within_cells(grouping, (n, y), frame_weights[draws], person_weights[draws])
    return effects


def _resampled(panel: Panel, grouping: Grouping, frame_weights: Weights, person_weights: Floats) -> Floats:
    if is_assigned(panel, grouping):
        sums = by_cluster(panel, grouping, panel.n, panel.y)
        return _differences(mean_of_means(panel, *sums, frame_weights), grouping)
    contrasts = Contrasts(panel.n, panel.y, frame_weights)
    sides = [side(grouping, label, person_weights) for label in range(len(grouping.classes))]
    effects = np.empty((len(frame_weights), len(panel.sets), len(grouping.pairs)))
    for place, (a, b) in enumerate(grouping.pairs):
        effects[:, :, place] = contrasts.between(sides[a], sides[b])
    return effects


def _differences(of_class: Floats, grouping: Grouping) -> Floats:
    """Differences of all pairs, [..., K], of a value of each class, [..., G]."""
    differences = [of_class[..., a] - of_class[..., b] for a, b in grouping.pairs]
    return np.stack(differences, axis=-1) if differences else np.empty((*of_class.shape[:-1], 0))


def _within_cells(
    grouping: Grouping, cells: tuple[Floats, Floats], frame_weights: Weights, person_weights: Floats
) -> Floats:
    """Effects [R, S, K] of cells n and y that differ from draw to draw, [R, S, F, P, W]."""
    sides = person_weights[:, None, None, None, :, None] * grouping.members  # [R, 1, 1, 1, P, G]
    n, y = ((of.swapaxes(-1, -2)[..., None, :] @ sides)[..., 0, :] for of in cells)  # [R, S, F, W, G]
    means_of = y / np.where(n > 0, n, 1.0)
    effects = []
    for a, b in grouping.pairs:
        both = (n[..., a] > 0) & (n[..., b] > 0)
        rows = np.where(both, frame_weights[:, None, :, None] * (n[..., a] + n[..., b]), 0.0)
        weight = rows.sum(axis=(2, 3))
        total = (rows * (means_of[..., a] - means_of[..., b])).sum(axis=(2, 3))
        effects.append(np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan))
    return np.stack(effects, axis=-1) if effects else np.empty((*n.shape[:2], 0))


def _by_class(cells: Floats, grouping: Grouping) -> Floats:
    """Sums over the persons of each class, [S, F, W, G]."""
    return np.asarray(cells.swapaxes(-1, -2) @ grouping.members)


def _covered(panel: Panel, grouping: Grouping) -> Floats:
    """Share of the answers of both classes that lie in cells holding both, [S, K]."""
    n = _by_class(panel.n, grouping)
    shares = np.zeros((len(panel.sets), len(grouping.pairs)))
    for place, (a, b) in enumerate(grouping.pairs):
        rows = n[..., a] + n[..., b]
        all_rows = rows.sum(axis=(1, 2))
        both = np.where((n[..., a] > 0) & (n[..., b] > 0), rows, 0.0).sum(axis=(1, 2))
        shares[:, place] = both / np.where(all_rows > 0, all_rows, 1.0)
    return shares


def aipw(panel: Panel, grouping: Grouping) -> Floats:
    """Augmented inverse-probability-weighted effects, [S, K]: a cross-check of `ate` (causal 2.7).

    The outcome model is additive in frame, word and class, fitted by least squares; the
    propensity of a class is its share in each cell. So a cell that lacks a class, which `ate`
    leaves out, counts here with what the model says of it. Equal to `ate` on complete cells. NaN
    where conversations are compared as wholes, or a class is missing.
    """
    n, y = _by_class(panel.n, grouping), _by_class(panel.y, grouping)
    effects = np.full((len(panel.sets), len(grouping.pairs)), np.nan)
    if is_assigned(panel, grouping):
        return effects
    for place, pair in enumerate(grouping.pairs):
        for one in range(len(panel.sets)):
            counts, sums = n[one][..., pair], y[one][..., pair]  # [F, W, 2]
            if not ((counts > 0).all(axis=-1)).any():
                continue
            seen = counts > 0
            observed = sums / np.where(seen, counts, 1.0)
            outcome = np.where(seen, observed, _additive(counts, observed))
            rows = counts.sum(axis=-1)
            effects[one, place] = (rows * (outcome[..., 0] - outcome[..., 1])).sum() / rows.sum()
    return effects


def _additive(counts: Floats, observed: Floats) -> Floats:
    """Fitted means [F, W, 2] of the model frame + word + class, weighted least squares.

    Frames, which may be thousands, are taken out first by centring within frames
    (Frisch, Waugh and Lovell).
    """
    frames, words, _ = counts.shape
    design = np.zeros((frames, words, 2, words))
    for word in range(1, words):
        design[:, word, :, word - 1] = 1.0
    design[:, :, 0, words - 1] = 1.0  # the class
    rows = counts.sum(axis=(1, 2))
    by_frame = np.where(rows > 0, rows, 1.0)
    centre = (counts[..., None] * design).sum(axis=(1, 2)) / by_frame[:, None]
    level = (counts * observed).sum(axis=(1, 2)) / by_frame
    root = np.sqrt(counts)
    left = (root[..., None] * (design - centre[:, None, None])).reshape(-1, words)
    right = (root * (observed - level[:, None, None])).ravel()
    slopes = np.linalg.lstsq(left, right, rcond=None)[0]
    return np.asarray(level[:, None, None] + (design - centre[:, None, None]) @ slopes)


def hedges_g(panel: Panel, grouping: Grouping) -> tuple[Floats, Bools]:
    """Hedges' g of each pair, [S, K], and where both classes are constant and differ (g is then NaN)."""
    first, second = class_pairs(class_sums(panel, grouping), grouping.pairs)
    return means.hedges_g(first, second)


def cliffs_delta(panel: Panel, grouping: Grouping) -> Floats:
    """Cliff's delta of each pair, [S, K]. Repeated answers to one text stand for their mean."""
    return _of_values(panel, grouping, means.cliffs_delta)


def wasserstein(panel: Panel, grouping: Grouping) -> Floats:
    """Wasserstein distance of each pair as a share of the range of scores, [S, K]."""
    return _of_values(panel, grouping, means.wasserstein) / RANGE


def _of_values(panel: Panel, grouping: Grouping, measure: Callable[..., float]) -> Floats:
    present = panel.n > 0
    # equal scores must stay equal when their sum is divided again
    scores = np.round(panel.y / np.where(present, panel.n, 1.0), 12)
    results = np.full((len(panel.sets), len(grouping.pairs)), np.nan)
    for one in range(len(panel.sets)):
        values, weights = [], []
        for label in range(len(grouping.classes)):
            mine = present[one] & (grouping.of == label)[:, None]
            values.append(scores[one][mine])
            weights.append(panel.n[one][mine])
        for place, (a, b) in enumerate(grouping.pairs):
            results[one, place] = measure(values[a], values[b], (weights[a], weights[b]))
    return results


def sign_flips(panel: Panel, grouping: Grouping) -> Floats:
    """Share of matched texts whose score is above 0 with one class and below 0 with the other, [S, K].

    Matched are all pairs of answers of both classes in the same cell (frame, word); NaN without any.
    """
    n, above, below = (_by_class(of, grouping) for of in (panel.n, panel.above, panel.below))
    shares = np.full((len(panel.sets), len(grouping.pairs)), np.nan)
    for place, (a, b) in enumerate(grouping.pairs):
        flipped = (above[..., a] * below[..., b] + below[..., a] * above[..., b]).sum(axis=(1, 2))
        matched = (n[..., a] * n[..., b]).sum(axis=(1, 2))
        shares[:, place] = np.where(matched > 0, flipped / np.where(matched > 0, matched, 1.0), np.nan)
    return shares


@dataclass(frozen=True, slots=True)
class Persons:
    """How far persons lie from all persons in the same cells (frame, word), arrays [Q].

    Attributes:
        place: of each person that can be compared, among those of the panel.
        difference: mean score minus that of all persons in the same cells, in units of the score.
        texts: number of texts that this rests on.
        p: two-sided, adjusted after Benjamini and Hochberg, as the list is explored (methods 0.7).
    """

    place: NDArray[np.int64]
    difference: Floats
    texts: Floats
    p: Floats


def person_differences(panel: Panel, grouping: Grouping) -> Persons:
    """Persons beside all others in the same cells; a class can be at 0 while single persons are far from it.

    A text counts once, however many data sets share it: repeats are no further evidence of a person.
    The error is that of the residuals of all persons, by text and by frame, whichever is larger, since
    the words of a frame need not be independent (methods 0.3).
    """
    present = (panel.n > 0) & (grouping.of >= 0)[:, None]
    n, y = (np.where(present, cells, 0.0).sum(axis=0) for cells in (panel.n, panel.y))
    known = n > 0
    score = np.where(known, y / np.where(known, n, 1.0), 0.0)  # [F, P, W]
    many = known.sum(axis=1, keepdims=True)
    known &= many > 1
    score = np.where(known, score - score.sum(axis=1, keepdims=True) / np.maximum(many, 1), 0.0)
    texts = known.sum(axis=(0, 2)).astype(np.float64)
    place = np.flatnonzero(texts > 1)
    if not place.size:
        return Persons(place, *np.empty((3, 0)))
    score, known, texts = score[:, place], known[:, place], texts[place]
    difference = np.round(score.sum(axis=(0, 2)) / texts, 12)
    residual = np.where(known, score - difference[:, None], 0.0)
    # A residual has (1 - 1 / persons) of the variance of a score, as the mean of its cell holds it too.
    room = np.where(known, 1.0 - 1.0 / np.maximum(many, 2), 0.0).sum(axis=(0, 2))
    frames = known.any(axis=2).sum(axis=0)
    of_text = (residual**2).sum() / max(1.0, float((texts - 1).sum()))
    of_frame = (residual.sum(axis=2) ** 2).sum() / (texts * (frames - 1) / np.maximum(frames, 1)).sum().clip(
        1e-9
    )
    spread = max(of_text, of_frame) * texts.sum() / max(1e-9, float(room.sum()))
    error = np.sqrt(spread * room) / texts
    sure = error > ROUNDING
    # Without any spread a difference is exact, and there is no error to hold it against.
    z = np.where(sure, np.abs(difference) / np.where(sure, error, 1.0), 0.0)
    z = np.where(~sure & (np.abs(difference) > ROUNDING), np.inf, z)
    return Persons(place, difference, texts, benjamini_hochberg(2.0 * ndtr(-z)))


@dataclass(frozen=True, slots=True)
class NegativeControl:
    """The negative control of one pair of classes.

    Attributes:
        p: share of splits within classes that differ as much as the classes do, [S]; NaN where no
            class has four persons, or the effect is undefined.
        split: names of the classes whose persons were split.
        draws: number of splits.
    """

    p: Floats
    split: tuple[str, ...]
    draws: int


def negative_control(
    panel: Panel, grouping: Grouping, pair: tuple[int, int], rng: np.random.Generator, draws: int = 999
) -> NegativeControl:
    """Whether persons of one class differ among themselves as much as the classes do (causal 2.7).

    The persons of every class of the pair that has at least four are split at random in two. The
    null effect is the mean, over these classes, of the effect of one half against the other: with
    both classes split it rests on as many persons as the effect itself, and so varies as that does
    where only the persons matter. p = (1 + #{|null| >= |ATE|}) / (1 + draws).
    """
    large = [label for label in pair if panel.crossed and (grouping.of == label).sum() >= LEAST_PERSONS]
    contrasts = Contrasts(panel.n, panel.y, np.ones((1, len(panel.frames))))
    persons = np.ones((1, len(panel.persons)))
    effect = contrasts.between(*(side(grouping, label, persons) for label in pair))[0]
    if not large:
        return NegativeControl(np.full_like(effect, np.nan), (), 0)
    contrasts = Contrasts(panel.n, panel.y, np.ones((draws, len(panel.frames))))
    null = np.zeros((draws, len(panel.sets)))
    for label in large:
        mine = np.flatnonzero(grouping.of == label)
        half = rng.permuted(np.tile(np.arange(len(mine)) < len(mine) // 2, (draws, 1)), axis=1).astype(
            np.float64
        )
        null += contrasts.between(ContrastSide(mine, half), ContrastSide(mine, 1.0 - half)) / len(large)
    hits = reaches(np.abs(null), np.abs(effect)).sum(axis=0)
    p = np.where(np.isfinite(effect) & np.isfinite(null).all(axis=0), (1 + hits) / (1 + draws), np.nan)
    return NegativeControl(p, tuple(grouping.classes[label] for label in large), draws)
