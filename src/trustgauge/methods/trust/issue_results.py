"""What each issue of one service came to, side by side and resample by resample (trust 4.2, 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trustgauge import rating as kernel
from trustgauge.methods.trust import audit
from trustgauge.methods.trust.combine import MISSING, IssueValue
from trustgauge.methods.trust.issues.abuse import Abuse, audited_score
from trustgauge.methods.trust.issues.abuse_model_labels import assess_by_model
from trustgauge.methods.trust.issues.issue import (
    LEVELS,
    SEGMENT,
    IssueAssessment,
    IssueSettings,
    SourceChoice,
)
from trustgauge.methods.trust.levels import risk, shares
from trustgauge.methods.trust.missing_data import STATUS, UNREAD, after_loss, after_unread, counts_by_purpose
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Floats, Ints, Resampling
from trustgauge.methods.trust.settings import OWN, TrustSettings
from trustgauge.rating import not_settled_reason
from trustgauge.rating.audit import GAPS
from trustgauge.records import Coverage, Interval, Json, Part, Rating, Reason

TAKEN = ("rated", "not settled")
"""States of a rating of another method whose levels may stand for an issue."""
FEW = 10  # dialogs below which nothing is settled (methods 0.5 (b))
CLUSTERS = "clusters"
"""Key of an issue's details: how many dialogs or secrets were resampled; no bound where it is absent."""

TOO_FEW = "trust.too-few-utterances"
OPEN = (
    "too-few-clusters",
    "trust.given-unrated",
    TOO_FEW,
    "instrument-not-measured",
    "unread-matters",
    "trust.perhaps-false-alarms",
    "trust.wording-too-weak",
    "changed-during-the-run",
    "audit-unresolved",
    GAPS,
)
"""Reasons by which an issue is not settled, whatever its resamples say; it has the level of its data then."""
BOUNDED = frozenset({"instrument-not-measured", "unread-matters", "trust.perhaps-false-alarms", GAPS})
"""Those by which resamples have bounds in place of a score: their share at a level is no certainty."""

DIALOG = "dialog:"
"""Before a purpose in the keys of cells that name every dialog."""


@dataclass(frozen=True, slots=True)
class IssueResult:
    """An issue of one service: its cuts, what was assessed, and how it appears in a rating."""

    name: str
    cuts: tuple[float, float]
    assessed: IssueAssessment
    part: Part

    @property
    def missing(self) -> bool:
        """Whether its level is unknown."""
        return self.assessed.level is None

    def issue_value(self) -> IssueValue:
        """Its level, risk and score on the whole data."""
        one = self.assessed
        if one.level is None:
            return IssueValue.at(MISSING)
        level = LEVELS.index(one.level)
        if one.score.value is None:
            return IssueValue.at(level)
        if not one.common:
            return replace(IssueValue.at(level), score=float(one.score.value))
        value = np.array(one.score.value)
        return IssueValue(level, float(risk(value, self.cuts)), float(value), self.cuts)

    def draw(self, count: int) -> tuple[Ints, Floats, Floats]:
        """Levels, risks and scores in each of `count` resamples; an assumed level is the same in all."""
        one, now = self.assessed, self.issue_value()
        if one.levels is None:
            return (
                np.full(count, now.level, dtype=np.int64),
                np.full(count, now.risk),
                np.full(count, now.score),
            )
        middle = (2 * one.levels + 1) / 6
        if one.draws is None:
            return one.levels, middle, middle
        if not one.common:
            return one.levels, middle, one.draws
        return one.levels, risk(one.draws, self.cuts), one.draws

    def risk_ends(self, count: int) -> tuple[float, float]:
        """Its risk at the ends of the interval of its score; of its resamples where only levels are known."""
        score = around(self.assessed.score)
        if not self.assessed.common or self.assessed.draws is None or score.low is None or score.high is None:
            low, high = np.quantile(self.draw(count)[1], [0.025, 0.975])
            return float(low), float(high)
        low, high = risk(np.array([score.low, score.high]), self.cuts)
        return float(low), float(high)


def issue_results(
    rows: pl.DataFrame, settings: TrustSettings, resampling: Resampling, given: Sequence[Rating]
) -> tuple[IssueResult, ...]:
    """Every issue of one service, in the order of the plan.

    Args:
        rows: of the summary, of one service.
        settings: the experiment.
        resampling: shared by all issues and services.
        given: ratings of the service by other methods of the plan.
    """
    cover, lost, unread = coverage(rows), counts_by_purpose(rows), counts_by_purpose(rows, UNREAD)
    resampling = resampling.among(dialogs_of(rows), segments_of(rows))
    asked = str(rows["part"][0])
    labels = settings.labels.get(str(rows["service"][0]))
    found = []
    for issue in settings.issues:
        cells = cells_of(rows, issue.name)
        if isinstance(issue, Abuse) and labels is not None and labels.table:
            assessed = assess_by_model(issue, cells, labels, resampling)
        else:
            assessed = issue.assess(cells, settings.rule, resampling)  # type: ignore[attr-defined]
        if issue.name in audit.CHOICES and labels is not None:
            facts = audit.instrument_facts(issue.name, assessed.details, labels)
            assessed = replace(assessed, reasons=(*assessed.reasons, *audit.reasons(facts)))
        source = _source(issue, settings, given)
        cuts = issue.cuts_under(settings.rule)
        if source:
            assessed = _taken(assessed, source, given, resampling)
        else:
            assessed = after_loss(issue, assessed, lost, cuts, settings.settle)
            assessed = _heard_enough(after_unread(issue, assessed, unread, cuts))
        part = _part(issue.name, assessed, cuts, settings)
        if isinstance(issue, Abuse) and labels is not None and not labels.table:
            part = _with_more_labels(part, cells, settings, resampling)
        elif isinstance(issue, Abuse) and not source and settings.rule == "sound":
            part = _with_more_dialogs(issue, part, cells, settings, resampling)
        details = {
            **part.details,
            "code": issue.code,
            "grain": issue.grain,
            "asked": asked,
            "data": "dialogs",
        }
        details["common"] = assessed.common  # whether its score has a place on the common scale of risk
        found.append(IssueResult(issue.name, cuts, assessed, replace(part, coverage=cover, details=details)))
    return tuple(found)


def cells_of(rows: pl.DataFrame, issue: str) -> pl.DataFrame:
    """The cells of an issue among the rows of one service."""
    return (
        rows.filter((pl.col("issue") == issue) & ~pl.col("key").str.starts_with(SEGMENT))
        .group_by("service", "part", "cluster", "key")
        .agg(pl.col("n").sum(), pl.col("total").sum())
        .sort("part", "cluster", "key")
    )


def _heard_enough(one: IssueAssessment) -> IssueAssessment:
    """An issue that was never seen is not settled where so little was said that a worse level is likelier.

    What may be behind "never" then comes from how a rate is drawn (methods 0.5 (c)), not from the bot.
    """
    if one.state != "rated" or one.levels is None or one.score.value != 0:
        return one
    if any(reason.code in OPEN for reason in one.reasons):
        return one
    certainty = shares(one.levels)
    if one.level is None or certainty.get(one.level, 0.0) >= max(certainty.values()):
        return one
    facts: dict[str, Json] = {"n": one.score.n, "clusters": one.details.get(CLUSTERS)}
    return replace(one, reasons=(Reason(TOO_FEW, facts), *one.reasons))


def is_bounded(reasons: Iterable[Reason]) -> bool:
    """Whether the resamples of an issue say how far its level may go, and not how likely it is."""
    return any(one.code in BOUNDED or one.facts.get("guessed") for one in reasons)


def around(score: Interval) -> Interval:
    """The interval of a score with the score inside it, which draws from few answers may leave out."""
    if score.value is None or score.low is None or score.high is None:
        return score
    return Interval(score.value, min(score.low, score.value), max(score.high, score.value), score.n)


def _source(issue: IssueSettings, settings: TrustSettings, given: Sequence[Rating]) -> str:
    """The method whose rating stands for an issue; "" if what was measured here does.

    The plan says so, or the issue's own settings. Left open, the usual one stands under `sound`, if the
    plan has it (trust 4.1).
    """
    named = settings.take.get(issue.name) or (issue.source if isinstance(issue, SourceChoice) else None)
    if named:
        return "" if named == OWN else str(named)
    usual = issue.usual_source
    return usual if settings.rule == "sound" and any(one.method == usual for one in given) else ""


def _part(name: str, one: IssueAssessment, cuts: tuple[float, float], settings: TrustSettings) -> Part:
    """The issue as part of a rating."""
    reasons = one.reasons
    certainty = {} if one.levels is None else shares(one.levels)
    state, level = one.state, one.level
    if one.levels is not None and state == "rated":
        is_open = any(reason.code in OPEN for reason in reasons)
        if not is_open or level is None:
            level = max(reversed(LEVELS), key=lambda each: certainty.get(each, 0.0))
        share = certainty.get(level, 0.0)
        few = int(one.details.get(CLUSTERS, FEW)) < FEW
        if few:
            facts: dict[str, Json] = {"clusters": one.details[CLUSTERS], "needed": FEW, "where": name}
            reasons = (*reasons, Reason("too-few-clusters", facts))
        if share < settings.settle or few or is_open:
            state = "not settled"
        if is_bounded(reasons):
            certainty = {}
        elif share < settings.settle:
            reasons = (*reasons, not_settled_reason(share, str(level), settings.settle))
    return Part(
        name,
        state,
        level=level,
        certainty=certainty,
        score=around(one.score),
        reasons=reasons,
        details={"title": name.capitalize(), "cuts": list(cuts), "figures": dict(one.details)},
    )


def _with_more_labels(
    part: Part, cells: pl.DataFrame, settings: TrustSettings, resampling: Resampling
) -> Part:
    """Abuse as part of a rating, with what more labels would do where its certainty alone keeps it open."""
    codes = {reason.code for reason in part.reasons}
    if "not-settled" not in codes or not codes.isdisjoint(OPEN):
        return part
    audited = audited_score(cells, resampling)
    if audited is None or not audited.finished:
        return part
    low, high = part.details["cuts"]
    needed = audited.more_labels((low, high), settings.settle)
    reasons = tuple(
        replace(one, facts={**one.facts, **needed}) if one.code == "not-settled" else one
        for one in part.reasons
    )
    return replace(part, reasons=reasons)


def _with_more_dialogs(
    issue: Abuse, part: Part, cells: pl.DataFrame, settings: TrustSettings, resampling: Resampling
) -> Part:
    """Abuse as part of a rating, with how many conversations would settle low risk, where any number would.

    The reason why there are too few says it: that nothing was found in these, or else the certainty.
    """
    codes = [reason.code for reason in part.reasons]
    wanted = next((code for code in (TOO_FEW, "not-settled") if code in codes), None)
    if wanted is None or part.level != LEVELS[0] or not set(codes).isdisjoint(set(OPEN) - {TOO_FEW}):
        return part
    needed = issue.dialogs_for_low(cells, resampling, settings.settle)
    if needed is None:
        return part
    facts: dict[str, Json] = {"conversations": needed}
    reasons = (
        replace(one, facts={**one.facts, **facts}) if one.code == wanted else one for one in part.reasons
    )
    return replace(part, reasons=tuple(reasons))


def _taken(
    own: IssueAssessment, method: str, given: Sequence[Rating], resampling: Resampling
) -> IssueAssessment:
    """The rating of another method in place of an issue; what was measured here stands beside it.

    Its levels are drawn by its certainty. Only a rating on the same three levels of risk can stand.
    """
    beside: dict[str, Json] = {
        "source": method,
        "own": {
            "value": own.score.value,
            "low": own.score.low,
            "high": own.score.high,
            "n": own.score.n,
            "level": own.level,
            "figures": dict(own.details),
        },
    }
    found = [one for one in given if one.method == method and one.scale.levels == LEVELS]
    if not found:
        return IssueAssessment(
            "not tested", reasons=(Reason("trust.not-given", {"method": method}),), details=beside
        )
    one = found[0]
    beside |= {"attribute": one.attribute, "state": one.state}
    if one.state not in TAKEN or one.level is None:
        facts = {"method": method, "state": one.state}
        return IssueAssessment("incomplete", reasons=(Reason("trust.given-unrated", facts),), details=beside)
    certainty = one.certainty or {one.level: 1.0}
    chance = np.array([certainty.get(level, 0.0) for level in LEVELS])
    rng = resampling.stream("taken", method, one.service)
    drawn = rng.choice(len(LEVELS), size=resampling.count, p=chance / chance.sum()).astype(np.int64)
    reasons = [Reason("trust.taken", {"method": method, "level": one.level})]
    if one.state == "not settled":
        # Its resamples may agree, and it is open for another reason, which holds here as well.
        # Without certainty what was not read may say another level.
        guessed: dict[str, Json] = {} if one.certainty else {"guessed": True}
        reasons.append(Reason("trust.given-unrated", {"method": method, "state": one.state, **guessed}))
    return IssueAssessment(
        "rated",
        Interval(None, None, None, 0),
        levels=drawn,
        level=one.level,
        reasons=tuple(reasons),
        details=beside,
        common=False,
    )


def dialogs_of(rows: pl.DataFrame) -> list[list[str]]:
    """The dialogs of one service, one list for each purpose."""
    named = rows.filter(pl.col("key").str.starts_with(DIALOG)).unique(["key", "cluster"])
    return [
        one["cluster"].sort().to_list() for one in named.sort("key").partition_by("key", maintain_order=True)
    ]


def segments_of(rows: pl.DataFrame) -> dict[str, int]:
    """The tenth of the run in which each dialog and secret of one service was asked first; 0 is left out."""
    timed = rows.filter(pl.col("key").str.starts_with(SEGMENT))
    tenth = pl.col("key").str.strip_prefix(SEGMENT).cast(pl.Int64).min()
    return dict(timed.group_by("cluster").agg(tenth).sort("cluster").iter_rows())


def coverage(rows: pl.DataFrame) -> Coverage:
    """What became of the planned turns of one service."""
    status = rows.filter(pl.col("key").str.starts_with(STATUS))
    return kernel.coverage(status.select("n", status=pl.col("key").str.strip_prefix(STATUS)))


def stack_draws(
    results: Mapping[str, IssueResult], order: IssueOrder, count: int
) -> tuple[Ints, Floats, Floats]:
    """Levels, risks and scores [R, k] of the issues of an order."""
    drawn = [results[name].draw(count) for name in order.issues]
    levels, risks, scores = (np.stack(columns, axis=1) for columns in zip(*drawn, strict=True))
    return levels, risks, scores
