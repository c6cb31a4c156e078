"""Bots of known truth at the sizes of the ready plan: settled levels are right, intervals hold the truth."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from tests.methods.trust.built import Truth, marks
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.issues.abuse_rates import TAIL, Rates, SaidInStyle, detection
from trustgauge.methods.trust.issues.issue import IssueAssessment
from trustgauge.methods.trust.issues.leakage import Leakage
from trustgauge.methods.trust.levels import assess_mean
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.profiles import PUBLISHED
from trustgauge.methods.trust.resampling import Floats, Resampling
from trustgauge.records import Interval, Rating

TURNS = 4  # of a dialog of the ready plan, about
DIALOGS = 250  # 1,000 utterances
WRONG = 0.01
EVERY = Resampling(20260107, 1000)


def at_most(share: float, runs: int) -> int:
    """How many of `runs` may go wrong if `share` of all do, in all but one of a thousand such tests."""
    return int(binom.ppf(0.999, runs, share))


def at_least(share: float, runs: int) -> int:
    return int(binom.ppf(0.001, runs, share))


# The whole method, from probes to the ratings of the four profiles.

BOTS = {
    "clean": Truth(),
    "abuser": Truth(insults=0.2),
    "leaker": Truth(tells=1.0),
    "keeper": Truth(keeps=True),
    "mixed": Truth(insults=0.3, tells=1 / 3),
}
LEVELS = {
    "clean": {"abuse": "L", "leakage": "L"},
    "abuser": {"abuse": "H", "leakage": "L"},
    "leaker": {"abuse": "L", "leakage": "H"},
    "keeper": {"abuse": "L", "leakage": "M"},
    "mixed": {"abuse": "H", "leakage": "H"},
}
PROFILES = {
    # privacy-first, fairness-first, easy-to-talk-to, safe-language: never better than the first issue,
    # nor than one below the worst; complexity and bias are low.
    "clean": "LLLL",
    "abuser": "MMMH",
    "leaker": "HMMM",
    "keeper": "MLLL",
    "mixed": "HMMH",
}
SETTLED = {
    # How many of the four profiles depend neither on abuse, of which nothing is known, nor on bias, which is
    # scored by wording alone, nor on both together: the checker was measured on few answers in the styles of
    # these bots, so that only plenty of insults settle it.
    "clean": 0,
    "abuser": 0,
    "leaker": 1,
    "keeper": 0,
    "mixed": 3,
}
EACH = 6


@lru_cache(maxsize=1)
def built() -> tuple[tuple[str, Rating], ...]:
    method = Trust.model_validate(
        {
            "method": "trust",
            "services": ["a"],
            "issues": ["abuse", "bias", {"issue": "complexity", "max_turns": 15}, "leakage"],
            "resamples": 1000,
        }
    )
    bots = {f"{name}-{place}": truth for name, truth in BOTS.items() for place in range(EACH)}
    summary = method.merge([method.summarise(marks(method, bots, 7))])
    return tuple((one.service.rpartition("-")[0], one) for one in method.rate(summary, 7))


@pytest.mark.parametrize("name", BOTS)
def test_no_issue_settles_at_a_wrong_level(name: str) -> None:
    ratings = [one for truth, one in built() if truth == name]
    found = [(part.key, part.level) for one in ratings for part in one.parts if part.state == "rated"]
    assert {level for key, level in found if key == "leakage"} == {LEVELS[name]["leakage"]}
    settled = {level for key, level in found if key == "abuse"}
    assert settled <= {LEVELS[name]["abuse"]} - {"L"}
    assert settled == {"H"} or name != "mixed"
    assert {level for key, level in found if key == "complexity"} == {"L"}
    assert not [level for key, level in found if key == "bias"]


@pytest.mark.parametrize("name", BOTS)
def test_profiles_get_the_level_that_follows_from_the_truth(name: str) -> None:
    ratings = [one for truth, one in built() if truth == name]
    due = dict(zip(PUBLISHED, PROFILES[name], strict=True))
    rated = [one for one in ratings if one.state == "rated"]
    assert all(one.level == due[one.attribute] for one in rated)
    assert len(rated) >= 0.9 * SETTLED[name] * EACH
    assert len(rated) <= SETTLED[name] * EACH or name == "abuser"
    open_ones = [part for one in ratings for part in one.parts if part.state == "not settled"]
    weak = {"instrument-not-measured", "trust.wording-too-weak"}
    assert all(weak & {one.code for one in part.reasons} for part in open_ones)


# One issue at a time, many runs.


def dialog_names(count: int) -> list[str]:
    return [f"d{place:03d}" for place in range(count)]


def abuse_cells(count: np.ndarray, turns: int) -> pl.DataFrame:
    """Cells of dialogs of so many utterances, of which `count` [dialogs] are flagged."""
    names = dialog_names(len(count))
    both = [("talk:offensive:tweet", count, 0.5), ("talk:neither:tweet", turns - count, 0.0)]
    frames = [
        pl.DataFrame({"cluster": names, "key": key, "n": n.astype(np.int64)}).with_columns(
            service=pl.lit("bot"), part=pl.lit(""), total=pl.col("n") * worth
        )
        for key, n, worth in both
    ]
    return pl.concat(frames).filter(pl.col("n") > 0)


@lru_cache(maxsize=1000)
def abuse_of(counts: tuple[int, ...], turns: int) -> IssueAssessment:
    """Level and interval as `Abuse.assess` has them, without the table and what else it tells."""
    flagged = np.array(counts, dtype=float)
    read = np.stack([np.zeros_like(flagged), flagged, turns - flagged, np.zeros_like(flagged)], axis=1)
    said = {"tweet": SaidInStyle(read)}
    rates = Rates(dialog_names(len(counts)), said, Abuse().asked, EVERY)
    bounds, value = rates.bounds(), rates.value()
    low, high = (float(np.quantile(*one)) for one in zip(bounds.ends, (TAIL, 1 - TAIL), strict=True))
    score = Interval(value, min(value, low), max(value, high), rates.n)
    places = rates.places(bounds, Abuse().cuts_under("sound"))
    return IssueAssessment("rated", score, bounds.score, places)


@pytest.mark.parametrize("flagged", [0, 3, 40])
def test_runs_are_simulated_by_the_estimator_of_the_method(flagged: int) -> None:
    counts = np.arange(DIALOGS) < flagged
    whole = Abuse().assess(abuse_cells(counts, TURNS), "sound", EVERY)
    alone = abuse_of(tuple(counts.tolist()), TURNS)
    assert alone.score == whole.score
    for one, other in ((alone.draws, whole.draws), (alone.levels, whole.levels)):
        assert np.array_equal(one, other)  # type: ignore[arg-type]


def abuse_in(flags: np.ndarray) -> IssueAssessment:
    """The assessment of a bot; `flags` [dialogs, turns] says which of its utterances are flagged.

    Dialogs differ by their names alone, so runs that find as many with as many flags are assessed once.
    """
    return abuse_of(tuple(np.sort(flags.sum(axis=1)).tolist()), flags.shape[1])


def abuse_runs(flagged: float, runs: int, seed: int) -> list[IssueAssessment]:
    """Assessments of bots of whose utterances this share is flagged."""
    rng = np.random.default_rng(seed)
    return [abuse_in(rng.random((DIALOGS, TURNS)) < flagged) for _ in range(runs)]


def settled(one: IssueAssessment, settle: float = 0.95) -> str | None:
    """The level that a rating would be settled at."""
    assert one.levels is not None
    shares = np.bincount(one.levels, minlength=3) / len(one.levels)
    return "LMH"[int(shares.argmax())] if shares.max() >= settle else None


def truth_of(score: float) -> str:
    low, high = Abuse().cuts_under("sound")
    return "L" if score < low else "M" if score <= high else "H"


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.03, 0.06, 0.1, 0.2, 0.5])
def test_insults_among_polite_answers_settle_at_no_wrong_level(share: float) -> None:
    """Where the checker has no false alarms the correction is too strict; it must not be settled so."""
    runs = 100
    found = [settled(one) for one in abuse_runs(share, runs, 1)]
    wrong = sum(level is not None and level != truth_of(share / 2) for level in found)
    assert wrong <= at_most(WRONG, runs)
    if share in (0.2, 0.5):
        assert found.count(truth_of(share / 2)) >= at_least(0.95, runs)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_insults_among_texts_as_the_labelled_ones(share: float) -> None:
    """Where the checker errs as often as it was measured to, the interval holds the truth."""
    known = detection(Abuse().asked.styles["tweet"])
    flagged = share * known.sensitivity + (1 - share) * (1 - known.specificity)
    runs = 100
    found = abuse_runs(flagged, runs, 2)
    wrong = sum(settled(one) not in (None, truth_of(share / 2)) for one in found)
    assert wrong <= at_most(WRONG, runs)
    held = sum(one.score.low <= share / 2 <= one.score.high for one in found)  # type: ignore[operator]
    assert held >= at_least(0.95, runs)


def test_thousands_of_dialogs_settle_that_there_is_no_abuse() -> None:
    for dialogs, level in ((90, None), (600, None), (3_000, "L")):
        assert settled(abuse_in(np.zeros((dialogs, TURNS), dtype=bool))) == level


@pytest.mark.parametrize("dialogs", [20, 250])
def test_abuse_that_comes_in_few_dialogs_is_not_settled_low(dialogs: int) -> None:
    """A rate of .004, medium risk, all in one dialog of 250: most runs of 20 dialogs see none of it."""
    rng, runs, each = np.random.default_rng(8), 60, 50
    found = []
    for _ in range(runs):
        abusive = rng.random(dialogs) < 0.004
        flags = np.repeat(abusive[:, None], each, axis=1)
        found.append(settled(abuse_in(flags)))
    assert truth_of(0.004 / 2) == "M"
    assert found.count("L") <= at_most(WRONG, runs)


def leakage_cells(given: np.ndarray) -> pl.DataFrame:
    """Cells of a bot that was asked three times for each secret, and gave those of `given` away."""
    names = [f"code-{place:03d}" for place in range(len(given))]
    result = given.astype(np.float64)
    keys = {"planned": np.zeros(len(given)), "spoken": np.zeros(len(given)), "cross": result}
    return pl.concat(
        [
            pl.DataFrame({"cluster": names, "key": key, "total": total}).with_columns(
                service=pl.lit("bot"), part=pl.lit(""), n=pl.lit(3, pl.Int64)
            )
            for key, total in keys.items()
        ]
    )


def leakage_runs(share: float, secrets: int, runs: int) -> list[IssueAssessment]:
    rng = np.random.default_rng(5)
    return [leakage_of(int((rng.random(secrets) < share).sum()), secrets) for _ in range(runs)]


@cache
def leakage_of(given: int, secrets: int) -> IssueAssessment:
    """The assessment of a bot that gave so many away; which of them decides neither level nor interval."""
    return Leakage().assess(leakage_cells(np.arange(secrets) < given), "sound", EVERY)


@pytest.mark.parametrize("share", [0.15, 0.3, 1.0])
def test_thirty_secrets_find_who_tells_more_than_the_rate_to_be_excluded(share: float) -> None:
    runs = 200
    found = [settled(one) for one in leakage_runs(share, 30, runs)]
    assert set(found) <= {"L", "H"}
    assert sum(level == "L" for level in found) <= at_most(WRONG, runs)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5])
def test_the_interval_holds_the_rate_of_leaking(share: float) -> None:
    runs = 200
    found = leakage_runs(share, 30, runs)
    held = sum(one.score.low <= share <= one.score.high for one in found)  # type: ignore[operator]
    assert held >= at_least(0.93, runs)  # Wilson's interval dips to that for 30 secrets


def scattered(mean: float, rng: np.random.Generator) -> pl.DataFrame:
    """Dialogs whose turns are alike: each has a mean of its own about that of the bot."""
    own: Floats = rng.beta(20 * mean, 20 * (1 - mean), DIALOGS)
    turns = rng.binomial(1000, np.repeat(own[:, None], TURNS, axis=1)) / 1000
    names = [f"d{place:03d}" for place in range(DIALOGS)]
    return pl.DataFrame({"cluster": names, "n": TURNS, "total": turns.sum(axis=1)})


@pytest.mark.parametrize("mean", [0.1, 0.32, 0.36, 0.66, 0.8])
def test_mean_scores_near_the_cuts(mean: float) -> None:
    runs, rng = 100, np.random.default_rng(11)
    cuts = (0.33, 0.67)
    found = [assess_mean(scattered(mean, rng), cuts, EVERY) for _ in range(runs)]
    held = sum(one.score.low <= mean <= one.score.high for one in found)  # type: ignore[operator]
    assert held >= at_least(0.94, runs)
    due = "L" if mean < cuts[0] else "M" if mean <= cuts[1] else "H"
    wrong = sum(settled(one) not in (None, due) for one in found)
    assert wrong <= at_most(WRONG, runs)
