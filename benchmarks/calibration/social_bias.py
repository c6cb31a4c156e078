"""Chatbots of known bias, rated by the social-bias method on simulated verdicts.

The questions are those that the ready plan asks. Verdicts are drawn as `check` would give them and stand in
the summary as `summarise` would put them (a test holds both against the real path); rating is the method's
own, with all its resamples and permutations. Each run rates four attributes, so it counts four times as
"each attribute" and once as "the four together". The interval of a whole rating is that of its worst
attribute, where it is counted.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.calibration.chat_answers import Bot, Questions
from benchmarks.calibration.record import Setting, Trial
from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.records import Part, Rating
from trustgauge.stats import stream

PLAN = Path(__file__).parents[2] / "plans" / "social-bias.toml"
SMALLER = 10_000  # questions, a quarter of the plan's
SHARE = 8  # ratings take long: each attribute counts, so a run of the benchmark is a fraction of one here
POWERED = 4  # times as many where a promise is checked: it is to be known to within points
PROMISE = 0.80
BALANCE = 2  # what a bot speaks less well of a group it speaks ill of it: the balance moves by both
NEAR = 1e-9  # a truth this near to a cut lies on it
LEVELS = "LMH"

NOTES: dict[str, str] = {
    "known": "Gaps between 5 points and what the plan promises are mostly left open, and so is the excess of "
    "a bot that takes sides at random: its rates vary by 2 to 3 points, and low risk ends at 1.",
}


@dataclass(frozen=True)
class Service:
    """A bot, and what is drawn anew in each run.

    Attributes:
        name: in words of the table.
        kind: as of `Setting`.
        bot: how it answers.
        most: largest excess or gap that is drawn evenly in each attribute ("excess" or "gap" -> points).
        small: whether it is rated at the smaller size too.
    """

    name: str
    kind: str
    bot: Bot
    most: Mapping[str, float] | None = None
    small: bool = False

    def drawn(self, attributes: tuple[str, ...], rng: np.random.Generator) -> Bot:
        """The bot of one run."""
        if not self.most:
            return self.bot
        planted = {
            what: {name: float(rng.random() * most) for name in attributes}
            for what, most in self.most.items()
        }
        return replace(self.bot, **planted)  # type: ignore[arg-type]


def services(attributes: tuple[str, ...]) -> Iterator[Service]:
    """Every service that is rated."""

    def everywhere(value: float) -> dict[str, float]:
        return dict.fromkeys(attributes, value)

    one = attributes[0]
    yield Service("declines every question", "refusing", Bot(refuses=1.0))
    yield Service("declines half of the questions", "refusing", Bot(rate=0.7, refuses=0.5))
    yield Service("says no to all", "null", Bot(habit="no"))
    yield Service("says yes to all", "null", Bot(habit="yes"))
    yield Service("names whoever stands first", "null", Bot(habit="first"))
    yield Service("speaks well of every group in 7 of 10 answers", "null", Bot(rate=0.7), small=True)
    yield Service("tosses a coin for every answer", "noise", Bot(random=True, errors=False), small=True)
    yield Service("takes sides in 30 %, also between invented groups", "noise", Bot(takes=0.3, rate=0.7))
    yield Service("takes sides in 30 %, more for some properties", "clustered",
                  Bot(takes=0.3, rate=0.7, alike="property"), small=True)  # fmt: skip
    for excess, small in ((0.003, False), (0.05, True), (0.08, False), (0.12, False), (0.2, True)):
        bot = Bot(takes=0.02, excess=everywhere(excess))
        yield Service(f"favours real groups {100 * excess:g} points more", "effect", bot, small=small)
    yield Service("favours real groups 20 points more, more for some properties", "clustered",
                  Bot(takes=0.05, excess=everywhere(0.2), alike="property"))  # fmt: skip
    for gap, small in ((0.02, False), (0.1, True), (0.16, False), (0.26, False), (0.4, True)):
        bot = Bot(gap=everywhere(gap / BALANCE))
        yield Service(f"one group {100 * gap:g} points above the others", "effect", bot, small=small)
    yield Service("one group 40 points above the others, all forms alike", "clustered",
                  Bot(gap=everywhere(0.4 / BALANCE), alike="property"))  # fmt: skip
    yield Service(
        f"one group 40 points above the others, in {one} only",
        "effect",
        Bot(gap={one: 0.4 / BALANCE}),
        small=True,
    )
    yield Service("no bias, 1 % of the answers missing", "lost", Bot(lost=0.01))
    yield Service("no bias, 5 % of the answers missing", "lost", Bot(lost=0.05))
    yield Service("no bias, 10 % of the answers about one group missing", "lost",
                  Bot(lost=0.1, lost_of_one=True))  # fmt: skip
    yield Service(
        "one group 40 points above, 5 % of the answers missing",
        "lost",
        Bot(gap=everywhere(0.4 / BALANCE), lost=0.05),
    )
    yield Service("excess drawn evenly from 0 to 20 points", "effect", Bot(takes=0.05), {"excess": 0.2}, True)
    yield Service("gap drawn evenly from 0 to 40 points", "effect", Bot(), {"gap": 0.4 / BALANCE}, True)


def settings(runs: int, seed: int) -> Iterator[Setting]:
    """Every service at the size of the ready plan, some at a smaller one, and what the plans promise."""
    for recommended in (True, False):
        method = experiment() if recommended else experiment(questions=SMALLER)
        questions = Questions(method, seed)
        size = f"{method.texts:,} questions"
        for service in services(method.attributes):
            if recommended or service.small:
                many = max(2, runs // SHARE)
                yield from _settings(service, questions, (size, recommended), range(many), seed)
        yield from _promised(questions, (size, recommended), max(2, POWERED * runs // SHARE), seed)


@lru_cache(maxsize=4)
def experiment(questions: int | None = None) -> SocialBias:
    """The experiment of the ready plan for one service; with fewer questions if they are given."""
    told = tomllib.loads(PLAN.read_text("utf-8"))["experiments"][0] | {"services": ["bot"]}
    return SocialBias.model_validate(told | ({"questions": questions} if questions else {}))


def _settings(
    service: Service, questions: Questions, size: tuple[str, bool], runs: range, seed: int
) -> Iterator[Setting]:
    """One service at one size: attribute by attribute, and all together."""
    method = questions.method
    of_each, of_all = [], []
    for run in runs:
        rng = stream(seed, "calibration", "social-bias", service.name, size[0], run)
        bot = service.drawn(method.attributes, rng)
        (rating,) = method.rate(bot.summary(questions, rng), int(rng.integers(2**32)))
        of_each += [_of_part(one, bot, method) for one in rating.parts]
        of_all.append(_of_rating(rating, bot, method))
    varies = "varies" if service.most else ""
    levels = [true_level(service.bot, name, method) for name in method.attributes]
    worst = max(levels, key=LEVELS.index)
    alike = levels[0] if len(set(levels)) == 1 else "/".join(levels)
    for trials, who, truth in ((of_each, "each attribute", alike), (of_all, "the four together", worst)):
        yield Setting(
            "social-bias",
            f"{service.name}: {who}",
            service.kind,
            varies or truth,
            *size,
            tuple(trials),
        )


def _promised(questions: Questions, size: tuple[str, bool], runs: int, seed: int) -> Iterator[Setting]:
    """The smallest gap that the plan promises to settle, in one attribute, for both design effects."""
    method = questions.method
    for deff, alike in (("deff_1", ""), ("deff_2", "pairs")):
        gap = method.power(seed)[deff]
        if not isinstance(gap, float):
            continue
        planted = {method.attributes[0]: gap / BALANCE}
        name = f"{100 * gap:g} points in one attribute, design effect {deff[-1]}"
        service = Service(name, "effect", Bot(gap=planted, alike=alike))
        *_, of_all = _settings(service, questions, size, range(runs), seed)
        yield replace(of_all, promised=PROMISE)


def _of_part(part: Part, bot: Bot, method: SocialBias) -> Trial:
    """One attribute; its score is an excess or a gap, whichever is larger, and held against that one."""
    name = str(part.details["attribute"])
    covered = None
    if part.score is not None and part.score.low is not None and part.score.high is not None:
        sides = {
            "absolute": (part.details["absolute"]["excess"]["value"], bot.excess.get(name, 0.0)),
            "relative": (part.details["relative"]["gap"]["value"], BALANCE * bot.gap.get(name, 0.0)),
            "direction": (part.details["direction"]["value"], 0.0),
        }
        truth = next(due for value, due in sides.values() if value == part.score.value)
        covered = part.score.low - NEAR <= truth <= part.score.high + NEAR
    right = _right(part.level, [name], bot, method)
    certainty = part.certainty.get(part.level or "", float("nan"))
    return Trial(part.level, part.state == "rated", certainty, right, covered)


def _of_rating(rating: Rating, bot: Bot, method: SocialBias) -> Trial:
    right = _right(rating.level, list(method.attributes), bot, method)
    certainty = rating.certainty.get(rating.level or "", float("nan"))
    return Trial(rating.level, rating.state == "rated", certainty, right, None)


def _right(level: str | None, names: list[str], bot: Bot, method: SocialBias) -> bool | None:
    """Whether a level is that of the worst of these attributes."""
    if level is None:
        return False
    return level == max((true_level(bot, name, method) for name in names), key=LEVELS.index)


def true_level(bot: Bot, name: str, method: SocialBias) -> str:
    """The true level of an attribute: the worse of its excess and its gap."""
    sides = (
        (bot.excess.get(name, 0.0), method.absolute_cuts),
        (BALANCE * bot.gap.get(name, 0.0), method.relative_cuts),
    )
    places = [sum(planted >= cut - NEAR for cut in cuts) for planted, cuts in sides]
    return LEVELS[max(places)]
