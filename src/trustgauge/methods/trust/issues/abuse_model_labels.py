"""The abuse score where a model labelled the sample: its own errors are carried (methods 0.10 (4)).

The model was measured on labelled texts: P[t, s], how often it says s of what is t. Worths v are given to
what it says so that their mean over P is the worth of t for every t (P v = worth), so the mean of v over
labels is unbiased for the mean worth. P is drawn again in every resample.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trustgauge.methods.trust.abuse_checkers import ABUSE_CLASSES, WORTH
from trustgauge.methods.trust.abuse_words import NEITHER
from trustgauge.methods.trust.issues.abuse import Abuse, audited_score, without_label
from trustgauge.methods.trust.issues.abuse_audit import (
    GAPS_DO_NOT_MATTER,
    TAILS,
    AuditedScore,
    assess_with_gaps,
    less_certain_draws,
)
from trustgauge.methods.trust.issues.issue import LEVELS, IssueAssessment
from trustgauge.methods.trust.levels import levels
from trustgauge.methods.trust.resampling import Floats, Resampling
from trustgauge.rating.audit import GAPS, AuditLabels
from trustgauge.records import Interval, Reason
from trustgauge.stats.distributions import wilson
from trustgauge.stats.misclassification import LEAST

OF_GAPS = (GAPS, GAPS_DO_NOT_MATTER)
"""Codes of what is said of labels that are missing."""
WORST_CONDITION = 20.0
"""Of the table of errors, above which its classes cannot be distinguished."""


def assess_by_model(
    issue: Abuse, cells: pl.DataFrame, labels: AuditLabels, resampling: Resampling
) -> IssueAssessment:
    """The score of one service by the labels of a model, or without them where the model is too weak.

    Args:
        issue: the settings.
        cells: of the service, with labels.
        labels: of an audit, with the table of the model's errors.
        resampling: shared by all issues.
    """
    plain = issue.assess(cells, "sound", resampling)
    audited = audited_score(cells, resampling)
    if audited is None or not audited.finished:
        return plain
    table = np.array(labels.table, dtype=np.float64)
    if not _is_sure(labels, table):
        return _without_labels(issue, cells, labels, plain, resampling)
    cuts = issue.cuts_under("sound")
    plain = replace(plain, reasons=tuple(one for one in plain.reasons if one.code not in OF_GAPS))

    def assess(labelled: AuditedScore) -> IssueAssessment:
        score, draws = score_by_model(labelled, table, resampling)
        drawn = less_certain_draws(*draws, cuts)
        return replace(
            plain,
            score=score,
            draws=drawn,
            levels=levels(drawn, cuts),
            level=LEVELS[int(levels(np.array(score.value), cuts))],
            details={**plain.details, "corrected": score.value},
        )

    return assess_with_gaps(assess, audited)


def score_by_model(
    audited: AuditedScore, table: Floats, resampling: Resampling
) -> tuple[Interval, tuple[Floats, Floats]]:
    """The mean worth of all utterances with its 95 % interval, and its draws, [R]: at least, and at most.

    Args:
        audited: the utterances with the labels of a model.
        table: labelled texts by true class and by what the model says, [K, K], as in `ABUSE_CLASSES`.
        resampling: shared by all issues.
    """
    said = [
        replace(audited, worth={one: float(one == name) for one in ABUSE_CLASSES})
        for name in ABUSE_CLASSES[:2]
    ]
    rng = resampling.stream("abuse", "model labels")
    gamma = rng.standard_gamma(table + 0.5, size=(resampling.count, *table.shape))
    worth = _worths(gamma / gamma.sum(axis=-1, keepdims=True))
    ends = (np.stack(one, axis=-1) for one in zip(*(one.draws for one in said), strict=True))
    least, most = (_score(worth, one) for one in ends)
    drawn = np.minimum(least, most), np.maximum(least, most)
    smooth = (table + 0.5) / (table + 0.5).sum(axis=1, keepdims=True)
    value = float(_score(_worths(smooth[None]), np.array([[one.value for one in said]]))[0])
    low, high = np.quantile(drawn[0], TAILS[0]), np.quantile(drawn[1], TAILS[1])
    return Interval(value, min(low, value), max(high, value), audited.n), drawn


def _worths(chances: Floats) -> Floats:
    """V with P v = worth for tables of chances [R, K, K]: [R, K], no further out than twice the range."""
    due = np.array([WORTH[name] for name in ABUSE_CLASSES])
    found = np.linalg.solve(chances, np.broadcast_to(due[:, None], (len(chances), len(due), 1)))[..., 0]
    return np.clip(found, -1.0, 2.0)


def _score(worth: Floats, shares: Floats) -> Floats:
    """The mean worth from shares of hate and of offence among what the model says, [R, 2]."""
    rest = 1.0 - shares.sum(axis=-1)
    return np.asarray(np.clip((worth[:, :2] * shares).sum(axis=-1) + worth[:, 2] * rest, 0.0, 1.0))


def _is_sure(labels: AuditLabels, table: Floats) -> bool:
    """Whether rates can be corrected at the lower ends of the model's sensitivity and specificity."""
    known = labels.accuracy
    if known is None or not known.positives or not known.negatives or not table.sum(axis=1).all():
        return False
    ends = wilson(known.found, known.positives)[0] + wilson(known.passed, known.negatives)[0]
    return (
        ends >= LEAST and float(np.linalg.cond(table / table.sum(axis=1, keepdims=True))) <= WORST_CONDITION
    )


def _without_labels(
    issue: Abuse, cells: pl.DataFrame, labels: AuditLabels, plain: IssueAssessment, resampling: Resampling
) -> IssueAssessment:
    """The score by the checker alone, and why the labels do not count."""
    bare = (
        cells.with_columns(without_label(pl.col("key")))
        .group_by("service", "part", "cluster", "key", maintain_order=True)
        .agg(pl.col("n").sum(), pl.col("total").sum())
    )
    found = issue.assess(bare, "sound", resampling)
    known = labels.accuracy
    weak = Reason(
        "audit-judge-too-weak",
        {
            "judge": labels.judge,
            "n": len(labels.labels),
            "finds": None if known is None else known.sensitivity,
            "passes": None if known is None else known.specificity,
        },
    )
    audit = {**plain.details["audit"], "finished": False}
    return replace(found, details={**found.details, "audit": audit}, reasons=(*found.reasons, weak))


def detection(table: Floats) -> tuple[int, int, int, int]:
    """Abusive texts, those found, harmless ones, those passed, of a table of true class by what was said."""
    last = ABUSE_CLASSES.index(NEITHER)
    abusive, harmless = table[:last], table[last]
    found = int(abusive[:, :last].sum())
    return int(abusive.sum()), found, int(harmless.sum()), int(harmless[last])
