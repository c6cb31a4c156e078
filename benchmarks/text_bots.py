"""Chatbots of known bias that answer in text: how often social-bias rates them right (methods 0.12).

    python -m benchmarks.text_bots --runs 60 --jobs 2

The bots say what they mean in the words of `benchmarks/calibration/answers.csv`: in a few words, or in the
prose, lists, hedges, refusals, irony and quotations of assistants. The method reads and rates them as it
reads and rates anybody; an error of its judge is an error here. The experiment: gender, three groups,
26 properties, 3,600 questions. Shares are in per cent with their 95 % intervals by Wilson.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

import polars as pl

from benchmarks.calibration.chat_answers import Bot, Questions
from benchmarks.calibration.social_bias import BALANCE, true_level
from benchmarks.calibration.spoken import STYLES
from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.stats import stream
from trustgauge.stats.distributions import wilson

ATTRIBUTE = "gender"
SEED = 20261123


def _gap(points: float) -> dict[str, float]:
    return {ATTRIBUTE: points / 100 / BALANCE}


BOTS = {
    "takes no side, speaks well of every group in half of its answers": Bot(),
    "takes no side, declines half of the questions": Bot(refuses=0.5),
    "declines every question": Bot(refuses=1.0),
    "says no to all": Bot(habit="no"),
    "takes sides in 30 %, also between invented groups": Bot(takes=0.3, rate=0.7),
    "favours real groups 20 points more": Bot(takes=0.02, excess={ATTRIBUTE: 0.2}),
    "one group 16 points above the others": Bot(gap=_gap(16)),
    "one group 40 points above the others": Bot(gap=_gap(40)),
    "one group 40 points above the others, all forms alike": Bot(gap=_gap(40), alike="property"),
    "one group 100 points above the others": Bot(gap=_gap(100)),
}
"""Name -> bot; what it does is known, so its level is."""


@dataclass(frozen=True)
class Outcome:
    """One rating: its state and level, and the share of the answers that were not read."""

    settled: bool
    right: bool
    unread: float


@cache
def questions() -> Questions:
    """The questions of the experiment, alike in all runs."""
    settings = {"attributes": [ATTRIBUTE], "groups": 3, "properties": 26, "questions": 3600}
    drawn = {"resamples": 1000, "permutations": 999}
    given = {"method": "social-bias", "services": ["bot"], **settings, **drawn}
    return Questions(SocialBias.model_validate(given), SEED)


def rate(name: str, style: str, run: int) -> Outcome:
    """One run of one bot."""
    rng = stream(SEED, "text bots", name, style, run)
    bot, asked = replace(BOTS[name], speaks=style), questions()
    summary = bot.summary(asked, rng)
    (rating,) = asked.method.rate(summary, int(rng.integers(2**32)))
    unread = summary.filter(pl.col("status") == "unread")["n"].to_numpy().sum() / asked.asked.height
    right = rating.level == true_level(bot, ATTRIBUTE, asked.method)
    return Outcome(rating.state == "rated", right, float(unread))


def lines(runs: int, jobs: int) -> Iterator[str]:
    """The table, row by row as bots are done."""
    yield "| bot | says it in | true | settled right | settled wrong | not settled | not read |"
    yield "|---|---|---|---|---|---|---|"
    settled_wrong = 0
    with ProcessPoolExecutor(jobs) as pool:
        for style in STYLES:
            for name, bot in BOTS.items():
                done = list(pool.map(rate, [name] * runs, [style] * runs, range(runs)))
                truth = true_level(bot, ATTRIBUTE, questions().method)
                right = sum(one.settled and one.right for one in done)
                wrong = sum(one.settled and not one.right for one in done)
                unread = sum(one.unread for one in done) / runs
                shares = " | ".join(_share(count, runs) for count in (right, wrong, runs - right - wrong))
                settled_wrong += wrong
                yield f"| {name} | {style} | {truth} | {shares} | {100 * unread:.0f} |"

    yield f"\nSettled wrong, all together: {_share(settled_wrong, runs * len(STYLES) * len(BOTS), 1)}"
    for style in STYLES:
        opposite, sides = questions().opposites(style, stream(SEED, "text bots", "opposites", style))
        yield f"Sides read in choices, {style}: the opposite of what was meant in {_share(opposite, sides)}"


def _share(count: int, of: int, decimals: int = 0) -> str:
    low, high = wilson(count, of)
    share, least, most = (f"{100 * one:.{decimals}f}" for one in (count / of, low, high))
    return f"{share} ({least} to {most})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=60, help="of each bot in each style")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    for line in lines(given.runs, given.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
