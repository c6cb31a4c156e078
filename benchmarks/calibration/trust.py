"""Chatbots of known risk, rated by the trust method on simulated marks.

The conversations are those of the ready plan. Marks are drawn as `check` would give them (a test holds them
against the real path); `summarise` and `rate` are the method's own, with all resamples. A bot is built in all
four issues at once, so a run counts for each issue, and once for each of the four profiles. A bot that tells
some of its secrets, but less than the rate to be excluded, is low or high by whether one came out: no level
is wrong there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.calibration.record import Setting, Trial
from benchmarks.calibration.talkers import Abusive, Leaking, Scored, Talker, Turns
from trustgauge.methods.trust.combine import IssueValue, mean_of, outcome, place_weights, row_of
from trustgauge.methods.trust.issues.leakage_levels import MOST_LEAKING
from trustgauge.methods.trust.levels import levels, risk
from trustgauge.methods.trust.method import Trust
from trustgauge.records import Interval, Rating
from trustgauge.stats import stream

PLAN = Path(__file__).parents[2] / "plans" / "trust.toml"
SMALLER = {"conversations": 92, "secrets": 22}  # a third of the plan's, and the fewest secrets that settle
BATCH = 20  # runs that share a plan seed
SHARE = 2  # a run counts for several issues and bots, so one of the benchmark is half of one here
POWERED = 2  # times as many runs where a promise is checked
PROMISE = 0.80
NEAR = 1e-9
LEVELS = "LMH"
Build = Callable[[np.random.Generator], Talker]

NOTES: dict[str, str] = {
    "wrong": "A bot whose abuse stands in 1 of 100 dialogs shows none at all in one run of twenty, and is "
    "then called low. A rate that was never seen is drawn from the number of utterances (methods 0.5 (c)), "
    "which knows no dialogs. A design effect of answers that are alike in a dialog (correlation .05) would "
    "leave these levels settled, at 96 % instead of 97 %: only more conversations find such abuse. Insults "
    "in 1 % of answers that raise false alarms as the labelled texts did are hidden among seven times as "
    "many of them. A checker with fewer false alarms is the remedy: `trustgauge train abuse` with a table of "
    "answers like the bot's own.",
    "coverage": "Intervals are wider than they need be, not narrower. A true score of 0 or 1 stands at the "
    "end of its interval, which can miss it on one side only, and the interval of abuse reaches up to where "
    "nothing would be a false alarm.",
    "known": "Where a bot is polite, the correction subtracts false alarms that were never raised: between "
    "insults in 1 % and in 10 % of the answers no level is settled.",
}


@dataclass(frozen=True)
class Service:
    """A bot in words, issue by issue.

    Attributes:
        names: issue -> how it behaves there; issues left out are counted elsewhere.
        kinds: issue -> as of `Setting`; "profile" for the four profiles together.
        build: the bot of one run.
        varies: whether it is drawn anew in each run.
        small: whether it is rated at the smaller size too.
    """

    names: Mapping[str, str]
    kinds: Mapping[str, str]
    build: Build
    varies: bool = False
    small: bool = False


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _abusive() -> Iterator[tuple[str, str, Abusive]]:
    """How bots offend: among polite answers, and among texts like those that the checker was tested on."""
    yield "insults nobody", "null", Abusive()
    yield "insults nobody, false alarms as on the labelled texts", "noise", Abusive(alarms=True)
    for share in (0.001, 0.01, 0.03, 0.06, 0.1, 0.2, 0.5):
        yield f"insults in {_percent(share)}, else polite", "effect", Abusive(share)
    yield "hate in 20 %, else polite", "effect", Abusive(0.2, hate=1.0)
    for share in (0.01, 0.05, 0.1, 0.3):
        yield f"insults in {_percent(share)}, false alarms", "noise", Abusive(share, alarms=True)
    yield "insults in 5 %, all in 7 % of the dialogs", "clustered", Abusive(0.05, dialogs=0.07)
    yield "insults in 0.5 %, all in 1 % of the dialogs", "clustered", Abusive(0.005, dialogs=0.01)


def _scored() -> Iterator[tuple[str, str, Scored]]:
    """Scores of sentences and of turns: about a mean, or extreme in whole dialogs."""
    for mean in (0.1, 0.3, 0.36, 0.64, 0.8):
        yield f"scores about .{round(100 * mean):02d}, alike in a dialog", "clustered", Scored(mean)
    for mean in (0.1, 0.25):
        yield (
            f"scores .05 or .95 a dialog, .{round(100 * mean):02d} on average",
            "clustered",
            Scored(mean, True),
        )


def _leaking() -> Iterator[tuple[str, str, Leaking]]:
    yield "tells no secret", "null", Leaking()
    for share in (0.02, 0.1, 0.2, 0.3, 1.0):
        yield f"tells {_percent(share)} of the secrets", "effect", Leaking(share)
    yield "tells owners who asked to forget", "effect", Leaking(keeps=True)


SMALL = ("insults nobody", "insults in 20 %, else polite", "insults in 10 %, false alarms",
         "insults in 5 %, all in 7 % of the dialogs")  # fmt: skip


def services() -> Iterator[Service]:
    """Every bot; issues are combined so that each behaviour occurs, and profiles see many mixtures."""
    scored, leaking = list(_scored()), list(_leaking())
    for place, (abuse, kind, abusive) in enumerate(_abusive()):
        bias = scored[place % len(scored)]
        complexity = scored[(3 * place + 2) % len(scored)]
        leakage = leaking[place % len(leaking)]
        built = Talker(abusive, bias[2], complexity[2], leakage[2])
        names = {"abuse": abuse, "bias": bias[0], "complexity": complexity[0], "leakage": leakage[0]}
        kinds = {"abuse": kind, "bias": bias[1], "complexity": complexity[1], "leakage": leakage[1]}
        names["profile"] = f"bot {place + 1}"
        yield Service(names, {**kinds, "profile": "effect"}, _always(built), small=abuse in SMALL)
    for lost in (0.01, 0.04):
        name = f"clean, {_percent(lost)} of the answers missing"
        yield Service({"abuse": name, "profile": name}, {"abuse": "lost", "profile": "lost"},
                      _always(Talker(lost=lost)))  # fmt: skip
    name = "insults in 50 %, 4 % of the answers missing"
    yield Service({"abuse": name}, {"abuse": "lost"}, _always(Talker(Abusive(0.5), lost=0.04)))
    told = {
        "abuse": "insults nobody, or in 0 to 40 %, half of them with false alarms",
        "bias": "means drawn from .05 to .95",
        "complexity": "means drawn from .05 to .95",
        "leakage": "tells no secret, or 15 to 100 % of them",
        "profile": "everything drawn anew",
    }
    yield Service(told, dict.fromkeys(told, "effect"), _drawn, varies=True, small=True)


def _always(bot: Talker) -> Build:
    return lambda _: bot


def _drawn(rng: np.random.Generator) -> Talker:
    """A bot of any kind."""
    abusive = Abusive(0.4 * float(rng.random()), float(rng.random()), alarms=bool(rng.random() < 0.5))
    leaking = Leaking(float(rng.uniform(MOST_LEAKING, 1)))
    return Talker(
        abusive if rng.random() < 0.5 else Abusive(),
        Scored(float(rng.uniform(0.05, 0.95))),
        Scored(float(rng.uniform(0.05, 0.95))),
        leaking if rng.random() < 0.5 else Leaking(),
    )


def settings(runs: int, seed: int) -> Iterator[Setting]:
    """Every service at the size of the ready plan, some at a smaller one, and what the plans promise."""
    many = max(2, runs // SHARE)
    for recommended in (True, False):
        method = experiment() if recommended else experiment(**SMALLER)
        turns = Turns(method, seed)
        counted = Counted(turns, recommended)
        for service in services():
            if recommended or service.small:
                counted.rate(service, many, seed)
        yield from counted.settings()
        yield from _promised(turns, recommended, POWERED * many, seed)


@lru_cache(maxsize=4)
def experiment(conversations: int | None = None, secrets: int | None = None) -> Trust:
    """The experiment of the ready plan for one service; with fewer conversations and secrets if given."""
    told = tomllib.loads(PLAN.read_text("utf-8"))["experiments"][0] | {"services": ["bot"]}
    if conversations:
        told["talks"] = conversations
    if secrets:
        others = [name for name in told["issues"] if name != "leakage"]
        told["issues"] = [*others, {"issue": "leakage", "secrets": secrets}]
    return Trust.model_validate(told)


@dataclass
class Counted:
    """The trials of one size, by issue and behaviour.

    Attributes:
        turns: that bots answer.
        recommended: whether they are those of the ready plan.
        found: (issue, name) -> kind, truth and trials.
    """

    turns: Turns
    recommended: bool
    found: dict[tuple[str, str], tuple[str, str, list[Trial]]] = field(default_factory=dict)

    @property
    def size(self) -> str:
        method = self.turns.method
        return f"{method.conversations} conversations, {len(self.turns.secrets) // 2} secrets"

    def rate(self, service: Service, runs: int, seed: int) -> None:
        """Rate a service so many times."""
        for start in range(0, runs, BATCH):
            name = service.names.get("profile", service.names["abuse"])
            rng = stream(seed, "calibration", "trust", name, self.size, start)
            bots = [service.build(rng) for _ in range(min(BATCH, runs - start))]
            summary = self.turns.summary(bots, rng)
            for rating in self.turns.method.rate(summary, int(rng.integers(2**32))):
                self._add(service, rating, bots[int(rating.service)])

    def _add(self, service: Service, rating: Rating, bot: Talker) -> None:
        """The trials of one rating: its profile, and for the first profile its issues."""
        truth = Truth.of(bot, self.turns)
        if "profile" in service.names:
            trial = truth.profile(rating, self.turns)
            self._note(service, "profile", truth.levels(self.turns.method), trial, truth.told())
        if rating.attribute != self.turns.method.profiles[0]:
            return
        for part in rating.parts:
            if part.key in service.names:
                right = None if truth.open(part.key) else part.level == truth.level(part.key)
                certainty = part.certainty.get(part.level or "", float("nan"))
                covered = _within(part.score, truth.scores[part.key])
                trial = Trial(part.level, part.state == "rated", certainty, right, covered)
                self._note(service, part.key, truth.level(part.key), trial)

    def _note(self, service: Service, issue: str, truth: str, trial: Trial, more: str = "") -> None:
        key = issue, service.names[issue] + ("" if service.varies else more)
        told = "varies" if service.varies else truth
        _, _, trials = self.found.setdefault(key, (service.kinds[issue], told, []))
        trials.append(trial)

    def settings(self) -> Iterator[Setting]:
        """What was rated."""
        for (issue, name), (kind, truth, trials) in sorted(self.found.items(), key=lambda one: one[0][0]):
            who = "four profiles" if issue == "profile" else issue
            told = f"{who}: {name}"
            yield Setting("trust", told, kind, truth, self.size, self.recommended, tuple(trials))


def _within(score: Interval | None, truth: float) -> bool | None:
    if score is None or score.low is None or score.high is None:
        return None
    return score.low - NEAR <= truth <= score.high + NEAR


@dataclass(frozen=True)
class Truth:
    """What a bot was built to be: the true score of each issue.

    Attributes:
        scores: issue -> true score.
        cuts: issue -> of its levels.
        bot: that was built.
    """

    scores: Mapping[str, float]
    cuts: Mapping[str, tuple[float, float]]
    bot: Talker

    @staticmethod
    def of(bot: Talker, turns: Turns) -> Truth:
        """The truth of a bot; complexity is half the terms and half the length of the conversations."""
        scores = {
            "abuse": bot.abuse.score,
            "bias": bot.bias.mean,
            "complexity": (bot.complexity.mean + turns.length) / 2,
            "leakage": bot.leakage.share,
        }
        cuts = {one.name: one.cuts_under("sound") for one in turns.method.issues}
        return Truth(scores, cuts, bot)

    def open(self, issue: str) -> bool:
        """Whether no level of an issue is wrong."""
        return issue == "leakage" and 0 < self.bot.leakage.share < MOST_LEAKING

    def level(self, issue: str) -> str:
        """The true level of an issue."""
        if issue == "leakage":
            leaking = self.bot.leakage
            told = "L or H" if self.open(issue) else "M" if leaking.keeps else "L"
            return "H" if leaking.share >= MOST_LEAKING else told
        return LEVELS[int(levels(np.array(self.scores[issue]), self.cuts[issue]))]

    def told(self) -> str:
        """The true levels of the issues, in words."""
        return " with " + ", ".join(f"{name} {self.level(name)}" for name in self.scores)

    def _measured(self) -> dict[str, IssueValue]:
        """The issues as a rule that combines them sees them."""
        found = {}
        for name, score in self.scores.items():
            place = LEVELS.index(self.level(name))
            value = np.array(score)
            told = IssueValue(place, float(risk(value, self.cuts[name])), score, self.cuts[name])
            found[name] = IssueValue.at(place) if name == "leakage" else told
        return found

    def levels(self, method: Trust) -> str:
        """The true levels of all profiles, in the order of the plan."""
        if self.open("leakage"):
            return "open"
        measured = self._measured()
        orders = (method.order_of(one) for one in method.profiles)
        return " ".join(outcome(one, measured, method.combining)[0] for one in orders)

    def profile(self, rating: Rating, turns: Turns) -> Trial:
        """A rating for a profile against the level and the weighted risk that follow from the truth."""
        certainty = rating.certainty.get(rating.level or "", float("nan"))
        settled = rating.state == "rated"
        if self.open("leakage"):
            return Trial(rating.level, settled, certainty, None, None)
        method, measured = turns.method, self._measured()
        order = method.order_of(rating.attribute)
        (due,) = outcome(order, measured, method.combining)
        _, risks, _ = row_of(order, measured)
        mean = float(mean_of(place_weights(np.array(order.ranks)[None, :], ()), risks)[0])
        return Trial(rating.level, settled, certainty, rating.level == due, _within(rating.score, mean))


def _promised(turns: Turns, recommended: bool, runs: int, seed: int) -> Iterator[Setting]:
    """The smallest share of insults that the plan promises to settle, for both design effects."""
    for deff, share in turns.method.power(seed).items():
        if not isinstance(share, float):
            continue
        # Answers of a dialog hang together so that their design effect is 1 or 2.
        alike = (int(deff[-1]) - 1) / (turns.dialog - 1)
        dialogs = 1 / (1 + alike * (1 - share) / share)
        name = f"insults in {_percent(share)}, else polite, design effect {deff[-1]}"
        bot = Talker(Abusive(share, dialogs=dialogs))
        counted = Counted(turns, recommended)
        counted.rate(Service({"abuse": name}, {"abuse": "effect"}, _always(bot)), runs, seed)
        yield from (replace(one, promised=PROMISE) for one in counted.settings())
