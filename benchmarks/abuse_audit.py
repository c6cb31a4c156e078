"""Whether audited scores of abuse cover the truth (trust 4.1, methods 0.10 (4), 0.12).

    python -m benchmarks.abuse_audit --runs 300
    python -m benchmarks.abuse_audit --model    # labelled by a model that is wrong now and then
    python -m benchmarks.abuse_audit --advice   # how often labelling as many as is said settles the level
    python -m benchmarks.abuse_audit --levels   # how often a level is settled, rightly and wrongly

Bots are abusive in clusters: each dialog has a chance of its own (Beta with four pseudo-observations), and
four utterances. A checker finds some of the abuse and takes some of the rest for it. A sample is drawn as
`trustgauge audit` draws it and labelled as meant, or by a model with the errors `MODEL` that was tried on
`KNOWN` texts of each class. Printed are the share of runs whose 95 % interval holds the bot's true score,
with Wilson's interval, and the mean error of the score.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data.answer_style import STYLES
from trustgauge.methods.trust.abuse_checkers import ABUSE_CLASSES
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.issues.abuse_audit import AuditedScore
from trustgauge.methods.trust.issues.abuse_model_labels import score_by_model
from trustgauge.methods.trust.issues.issue import LEVELS
from trustgauge.methods.trust.levels import levels, shares
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Interval
from trustgauge.run.audit_sample import drawn_elements
from trustgauge.stats.distributions import wilson

TURNS, SPREAD = 4, 4
TWO_STYLES = {"prose": 0.7, "terse": 0.3}
OFFENSIVE, NEITHER, WORTH = "offensive", "neither", 0.5
SETTLE = 0.95


MODEL = ((0.75, 0.15, 0.1), (0.08, 0.82, 0.1), (0.01, 0.03, 0.96))
"""How often a labelling model says hate, offensive or neither of texts of each class."""
KNOWN = (60, 120, 300)


class Setting(NamedTuple):
    """A bot, a checker and an audit: shares of abuse, found, passed; dialogs; labelled utterances."""

    share: float
    sensitivity: float
    specificity: float
    dialogs: int
    labels: int


SETTINGS = (
    Setting(0.3, 0.4, 0.9, 150, 200),
    Setting(0.05, 0.4, 0.9, 150, 200),
    Setting(0.3, 0.8, 0.95, 60, 120),
    Setting(0.02, 0.9, 0.98, 300, 300),
    Setting(0.02, 0.5, 1.0, 300, 200),
    Setting(0.6, 0.1, 1.0, 150, 200),
    Setting(0.3, 0.3, 0.9, 250, 1000),
)
UNCLEAR = (
    Setting(0.012, 0.8, 0.98, 300, 200),
    Setting(0.03, 0.5, 0.9, 600, 200),
    Setting(0.0005, 0.9, 0.98, 600, 200),
)
"""Whose level is often left open by so few labels."""
RARE = tuple(
    Setting(share, *checker, 310, 200)
    for share in (0.0, 0.0072, 0.014, 0.04, 0.1)
    for checker in ((0.0, 1.0), (0.4, 0.95))
)
"""Whose abuse is rare, in answers of all styles, by a checker that sees none of it and by a better one."""


BOT = (
    "abuse {share:.2%}, found {sensitivity:.0%}, passed {specificity:.0%}, {dialogs} dialogs, {labels} labels"
)


def audited(
    setting: Setting, seed: int, *, model: bool = False, styles: Mapping[str, float] = TWO_STYLES
) -> AuditedScore:
    """One bot, read and audited, by people or by a model; `styles` has the shares of its answers."""
    rng = np.random.default_rng(seed)
    share = max(setting.share, 1e-12)  # Beta has no parameter of 0
    chance = rng.beta(share * SPREAD, (1 - share) * SPREAD, size=setting.dialogs)
    n = setting.dialogs * TURNS
    truth = rng.random(n) < np.repeat(chance, TURNS)
    found = np.where(truth, rng.random(n) < setting.sensitivity, rng.random(n) > setting.specificity)
    rows = pl.DataFrame(
        {
            "cluster": np.repeat([f"talk-{one:04}" for one in range(setting.dialogs)], TURNS),
            "read": np.where(found, OFFENSIVE, NEITHER),
            "style": rng.choice(list(styles), n, p=list(styles.values())),
            "means": _labels(truth, rng) if model else np.where(truth, OFFENSIVE, NEITHER),
        }
    ).with_row_index("element")
    frame = rows.select(
        pl.col("element").cast(pl.String),
        pl.format("{}/{}", "read", "style").alias("stratum"),
        pl.col("read").alias("class"),
        carries=pl.lit(value=True),
        unread=pl.lit(value=False),
    )
    drawn = [int(one) for one in drawn_elements(frame, setting.labels, seed)]
    label = pl.when(pl.col("element").is_in(drawn)).then("means").otherwise(pl.lit(""))
    columns = rows.select("cluster", "read", "style", label.alias("label"), n=pl.lit(1))
    return AuditedScore(columns, Resampling(seed, 500))


def _labels(truth: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.str_]:
    """What the model says of utterances."""
    chances = np.cumsum(np.array(MODEL)[np.where(truth, 1, 2)], axis=1)
    classes: NDArray[np.str_] = np.array(ABUSE_CLASSES)
    said: NDArray[np.str_] = classes[(rng.random(len(truth))[:, None] > chances).sum(axis=1)]
    return said


def interval(setting: Setting, seed: int, *, model: bool) -> Interval:
    """The score of one bot after its audit."""
    score = audited(setting, seed, model=model)
    if not model:
        return score.interval()
    rng = np.random.default_rng([seed, 1])
    table = np.stack([rng.multinomial(n, chances) for n, chances in zip(KNOWN, MODEL, strict=True)])
    return score_by_model(score, table.astype(np.float64), Resampling(seed, 500))[0]


def advice(setting: Setting, runs: int) -> dict[str, int]:
    """How many audits leave the level open, and whether labels then do what is said of them.

    Returns:
        open: runs that are not settled. named: of these, those that say how many labels would settle the
        level. settled: of these, those that so many settle. denied: those that say that no labels would.
        kept: of these, those that labels of all utterances leave open.
    """
    found = dict.fromkeys(("open", "named", "settled", "denied", "kept"), 0)
    cuts = Abuse().cuts_under("sound")
    for seed in range(runs):
        first = audited(setting, seed)
        if not first.finished or _settled(first, cuts):
            continue
        found["open"] += 1
        needed = first.more_labels(cuts, SETTLE)
        labels = needed.get("to_label", first.n)
        assert isinstance(labels, int)
        then = _settled(audited(setting._replace(labels=labels), seed), cuts)
        said, right = ("named", "settled") if "to_label" in needed else ("denied", "kept")
        found[said] += 1
        found[right] += then == (said == "named")
    return found


def settled_levels(setting: Setting, runs: int) -> dict[str, int]:
    """Of so many audited bots that answer in all styles, how many are settled rightly, wrongly, or not.

    `alone` are those that would be settled wrongly by the most that labels allow, alone.
    """
    cuts = Abuse().cuts_under("sound")
    due = LEVELS[int(levels(np.array(setting.share * WORTH), cuts))]
    found = dict.fromkeys(("right", "wrong", "open", "alone"), 0)
    for seed in range(runs):
        one = audited(setting, seed, styles=dict.fromkeys(STYLES, 1 / len(STYLES)))
        found[_outcome(one.places(cuts), due)] += 1
        found["alone"] += _outcome(levels(one.draws[1], cuts), due) == "wrong"
    return found


def _outcome(places: NDArray[np.int64], due: str) -> str:
    certainty = shares(places)
    level = max(certainty, key=certainty.__getitem__)
    return "open" if certainty[level] < SETTLE else "right" if level == due else "wrong"


def _settled(one: AuditedScore, cuts: tuple[float, float]) -> bool:
    return max(shares(one.places(cuts)).values()) >= SETTLE


def coverage(setting: Setting, runs: int, *, model: bool = False) -> dict[str, float]:
    """The share of runs whose interval holds the truth, its interval, and the mean error."""
    truth, hits, errors = setting.share * WORTH, 0, []
    for seed in range(runs):
        score = interval(setting, seed, model=model)
        assert score.value is not None
        assert score.low is not None
        assert score.high is not None
        hits += score.low <= truth <= score.high
        errors.append(score.value - truth)
    low, high = wilson(hits, runs)
    return {"covered": hits / runs, "low": low, "high": high, "error": float(np.mean(errors))}


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--model", action="store_true", help="labels of a model with errors")
    parser.add_argument(
        "--advice", action="store_true", help="what is said of more labels, and whether it holds"
    )
    parser.add_argument("--levels", action="store_true", help="levels of bots whose abuse is rare")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    if options.advice:
        told = [{**one._asdict(), **advice(one, options.runs)} for one in UNCLEAR]
        result = "{open} open, {settled} of {named} settled as said, {kept} of {denied} not, as said"
    elif options.levels:
        told = [{**one._asdict(), **settled_levels(one, options.runs)} for one in RARE]
        result = "{right} settled rightly, {wrong} wrongly, {open} open; by the most alone {alone} wrongly"
    else:
        told = [{**one._asdict(), **coverage(one, options.runs, model=options.model)} for one in SETTINGS]
        result = "{covered:.1%} ({low:.1%} to {high:.1%}), error {error:+.4f}"
    for one in told:
        print((BOT + ": " + result).format(**one))
    if options.json:
        print(json.dumps(told))


if __name__ == "__main__":
    main()
