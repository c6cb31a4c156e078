"""The smallest share of abusive utterances that a plan can settle, by simulation (methods 0.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trustgauge.methods import DESIGN_EFFECTS
from trustgauge.methods.trust import design
from trustgauge.methods.trust.abuse_checkers import ELSEWHERE, TWEET, WORTH, Checker, CheckerAccuracy
from trustgauge.methods.trust.abuse_words import HATE
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.issues.abuse_rates import (
    Bounds,
    Errors,
    Rates,
    SaidInStyle,
    audit_size,
    detection,
    detection_by_kind,
    hate_detection,
    usable,
)
from trustgauge.methods.trust.issues.issue import TALK
from trustgauge.methods.trust.levels import levels
from trustgauge.methods.trust.resampling import Floats, Ints, Resampling
from trustgauge.records import Json, Reason
from trustgauge.stats import stream

if TYPE_CHECKING:
    from trustgauge.methods.trust.settings import TrustSettings

RUNS = 500
DRAWS = 400  # resamples of a simulated run
POWER = 0.80
GRID = np.round(np.geomspace(0.001, 0.5, 250), 4)
STEPS = 25  # of the grid that are passed over where nothing is settled
WEIGHT = 0.5  # what an offensive utterance counts (trust 4.1)


def smallest_share(settings: TrustSettings, seed: int) -> Mapping[str, Json]:
    """The smallest share of offensive utterances that is settled at its level with probability .80.

    Simulated by the rule itself: what the checker flags, corrected for its errors, with these drawn again
    (methods 0.10). Answers offend independently of each other, at the planned number of turns that are read
    for abuse, that number divided by the design effect of answers within a conversation. The bot's harmless
    answers raise no false alarms: where they do as often as on the labelled texts, less is found.

    Returns:
        `deff_1`, `deff_2` and `deff_5`; None where no share up to one half is settled that often, abuse is
        not rated, or the checker's errors are known in no style of answers.
    """
    abuse = next((one for one in settings.issues if isinstance(one, Abuse)), None)
    if settings.rule != "sound" or abuse is None or not settings.conversations:
        return dict.fromkeys(f"deff_{deff}" for deff in DESIGN_EFFECTS)
    probes = pl.concat(design.design(settings, seed))
    turns = probes.filter(pl.col("purpose").is_in([TALK, abuse.name])).height
    cuts, checker = abuse.cuts_under(settings.rule), abuse.asked
    measured = _least_sensitive(checker)
    if measured is None:
        return dict.fromkeys(f"deff_{deff}" for deff in DESIGN_EFFECTS)
    return {
        f"deff_{deff}": search(
            PlannedUtterances(turns // deff, measured, checker.says, cuts, settings.settle, seed)
        )
        for deff in DESIGN_EFFECTS
    }


def too_few_conversations(settings: TrustSettings, seed: int) -> Reason | None:
    """That low risk of abuse cannot be settled by so few conversations, even if nothing is found in them.

    Of a bot whose answers are all in the style in which the checker finds most, none of them flagged or
    unread; with a checker that is usable in no style, of one of whom all answers are labelled.
    """
    abuse = next((one for one in settings.issues if isinstance(one, Abuse)), None)
    if settings.rule != "sound" or abuse is None:
        return None
    probes = pl.concat(design.design(settings, seed)).filter(pl.col("purpose").is_in([TALK, abuse.name]))
    sessions = probes["session"].unique().sort().to_list()
    if not sessions:
        return None
    cuts, checker = abuse.cuts_under(settings.rule), abuse.asked
    style = _most_sensitive(checker)
    dialogs = Resampling(seed, settings.resamples).among([sessions]).units(sessions)
    if style is None:
        needed, code = audit_size(0.0, WORTH[HATE], cuts), "trust.plan-too-small-unmeasured"
    else:
        said = SaidInStyle(np.tile([0.0, 0.0, 1.0, 0.0], (dialogs, 1)))
        names = [f"{number}" for number in range(dialogs)]
        rates = Rates(names, {style: said}, checker, Resampling(seed, settings.resamples))
        needed, code = rates.dialogs_for_low(cuts, settings.settle), "trust.plan-too-small"
    if needed is None or needed <= dialogs:
        return None
    facts: dict[str, Json] = {"issue": abuse.name, "needed": needed, "conversations": dialogs}
    if (scenes := len(sessions) - probes.filter(purpose=TALK)["session"].n_unique()) > 0:
        facts["scenes"] = scenes
    return Reason(code, facts | {"checker": checker.name})


def _most_sensitive(checker: Checker) -> str | None:
    """The style of answers in which a checker finds most, of those in which its errors are known."""
    known = _known_styles(checker)
    return max(known, key=lambda one: detection(known[one]).sensitivity, default=None)


def _known_styles(checker: Checker) -> dict[str, CheckerAccuracy]:
    """Styles of answers in which a checker's errors are known."""
    apart = (TWEET, ELSEWHERE)
    return {style: one for style, one in checker.styles.items() if style not in apart and usable(one)}


def _least_sensitive(checker: Checker) -> CheckerAccuracy | None:
    """The style of answers in which a checker finds least, of those in which its errors are known."""
    return min(_known_styles(checker).values(), key=lambda one: detection(one).sensitivity, default=None)


@dataclass(frozen=True)
class PlannedUtterances:
    """Utterances that are planned, and how they will be rated."""

    turns: int
    measured: CheckerAccuracy
    says: tuple[str, ...]
    cuts: tuple[float, float]
    settle: float
    seed: int

    def settling_probability(self, share: float) -> float:
        """How often a bot of this share is settled at its level, above low."""
        _, offences = detection_by_kind(self.measured)
        due = int(levels(np.array(WEIGHT * share), self.cuts))
        if not due:
            return 0.0
        rng = stream(self.seed, "trust", "power", self.turns, str(share))
        flagged = rng.binomial(self.turns, share * offences.sensitivity, size=RUNS)
        hate = rng.binomial(flagged, 1 - hate_detection(self.measured).specificity)
        drawn = self._bounds(flagged, hate, rng).places(self.cuts)
        return float(((drawn == due).mean(axis=0) >= self.settle).mean())

    def _bounds(self, flagged: Ints, hate: Ints, rng: np.random.Generator) -> Bounds:
        """The corrected score of runs with such counts in each resample, [DRAWS, RUNS]."""
        rate = _resampled(flagged, np.full_like(flagged, self.turns), rng)
        called = _resampled(hate, flagged, rng) if HATE in self.says else np.zeros_like(rate)
        errors = Errors.draw(self.measured, self.says, DRAWS, lambda *_: rng)
        columns = {name: value[:, None] for name, value in vars(errors).items() if name != "knows_hate"}
        errors = replace(errors, **columns)
        score = errors.score(rate, called)
        within = errors.within(rate) & (flagged > 0)
        least = np.where(within, 0.0, score)
        most = np.where(within, np.maximum(score, errors.score_without_alarms(rate, called)), score)
        return Bounds(score, least, most, (least, most))


def _resampled(k: Ints, n: Ints, rng: np.random.Generator) -> Floats:
    """Shares k / n with their units resampled, from Beta where they are 0 or 1, [DRAWS, RUNS]."""
    many = np.maximum(n, 1)
    drawn = rng.binomial(many, k / many, size=(DRAWS, len(k))) / many
    extreme = (k == 0) | (k == n)
    drawn[:, extreme] = rng.beta(k[extreme] + 0.5, n[extreme] - k[extreme] + 0.5, (DRAWS, extreme.sum()))
    return np.asarray(drawn)


def search(planned: PlannedUtterances) -> float | None:
    """The first share of the grid that is settled often enough: in long steps, then by halves of one."""
    low = high = 0
    while planned.settling_probability(float(GRID[high])) < POWER:
        if high == len(GRID) - 1:
            return None
        low, high = high, min(high + STEPS, len(GRID) - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if planned.settling_probability(float(GRID[middle])) >= POWER else (middle, high)
        )
    return float(GRID[high])
