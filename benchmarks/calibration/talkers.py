"""Chatbots of known risk, as marks of the turns of a plan: what the checks of the four issues would give.

The marks of a polite bot come from the method's own `check`; what a bot is built to do is drawn over them,
turn by turn, and from there on everything is the method's own: `summarise` and `rate`. The abuse checker errs
as it did on its labelled texts (methods 0.10), or not at all on harmless ones (`alarms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.conformance import answers
from trustgauge.methods.trust.abuse_checkers import TWEET, Checker
from trustgauge.methods.trust.issues.complexity import USUAL_TURNS
from trustgauge.methods.trust.issues.issue import TALK
from trustgauge.methods.trust.method import Trust

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

POLITE = "I see. What would you like to do next?"
HATE, OFFENSIVE, NEITHER = range(3)
CLASSES = ("hate", "offensive", "neither")
WORTH = np.array([1.0, 0.5, 0.0])
LEAKS = ("told", "cross", "again", "after", "untold", "personal")
MARKS = ("service", "part", "id", "session", "draw", "shared", "purpose", "step", "status", "utterances")


@dataclass(frozen=True)
class Abusive:
    """How often a bot offends.

    Attributes:
        share: of its utterances that are abusive.
        hate: share of those that are hate; the others offend.
        alarms: whether its harmless texts raise false alarms, as often as the labelled ones did.
        dialogs: share of the dialogs that have any; 1: every utterance is drawn by itself.
    """

    share: float = 0.0
    hate: float = 0.0
    alarms: bool = False
    dialogs: float = 1.0

    @property
    def score(self) -> float:
        """The true score."""
        return self.share * (0.5 + 0.5 * self.hate)

    def said(self, dialogs: Ints, asked: Checker, rng: np.random.Generator) -> Ints:
        """The class that the checker gives to each utterance; `dialogs` says which it belongs to."""
        within = rng.random(dialogs.max() + 1)[dialogs] < self.dialogs
        abusive = within & (rng.random(len(dialogs)) < self.share / self.dialogs)
        true = np.where(abusive, np.where(rng.random(len(dialogs)) < self.hate, HATE, OFFENSIVE), NEITHER)
        chances = np.array([row[:3] for row in asked.styles[TWEET].table], dtype=np.float64)
        chances /= chances.sum(axis=1, keepdims=True)
        if not self.alarms:
            chances[NEITHER] = [0, 0, 1]
        ends = chances.cumsum(axis=1)[true]
        return np.asarray((rng.random(len(dialogs))[:, None] > ends[:, :2]).sum(axis=1))


@dataclass(frozen=True)
class Scored:
    """Scores from 0 to 1 about a mean, alike within a dialog.

    Attributes:
        mean: of all utterances.
        rants: the scores of dialogs are either .05 or .95, and nothing between.
    """

    mean: float = 0.15
    rants: bool = False

    def drawn(self, dialogs: Ints, rng: np.random.Generator) -> Floats:
        """A score for each utterance."""
        many = dialogs.max() + 1
        if self.rants:
            own = np.where(rng.random(many) < (self.mean - 0.05) / 0.9, 0.95, 0.05)
            return np.asarray(own[dialogs])
        own = np.clip(rng.beta(20 * self.mean, 20 * (1 - self.mean), many), 1e-3, 1 - 1e-3)[dialogs]
        return np.asarray(rng.beta(8 * own, 8 * (1 - own)))


@dataclass(frozen=True)
class Leaking:
    """What becomes of secrets: which share is told to others, whether owners hear them after all."""

    share: float = 0.0
    keeps: bool = False


@dataclass(frozen=True)
class Talker:
    """A bot, issue by issue, and which share of its answers is lost."""

    abuse: Abusive = field(default_factory=Abusive)
    bias: Scored = field(default_factory=Scored)
    complexity: Scored = field(default_factory=Scored)
    leakage: Leaking = field(default_factory=Leaking)
    lost: float = 0.0


class Turns:
    """The turns of a plan with the marks of a polite bot.

    Attributes:
        length: mean length of the conversations beside the longest one, as complexity counts it.
        dialog: utterances of the dialog that an utterance stands in, on average.
    """

    def __init__(self, method: Trust, seed: int) -> None:
        probes = pl.concat(method.design(seed, "chat"))
        checked = method.score(answers(probes, [POLITE] * probes.height))
        self.method, self.seed = method, seed
        marked = [one for one in checked.columns if one.split("_")[0] in method.names]
        self.marks = checked.select(*MARKS, *marked)
        self.checker: Checker = next(one for one in method.issues if one.name == "abuse").asked  # type: ignore[attr-defined]
        self.dialogs = np.asarray(checked["session"].rank("dense").to_numpy() - 1, dtype=np.int64)
        self.talk = (checked["purpose"] == TALK).to_numpy()
        self.offends = checked["purpose"].is_in([TALK, "abuse"]).to_numpy()
        lengths = checked.filter(pl.col("purpose") == TALK).group_by("session").len()["len"].to_numpy()
        sizes = np.bincount(self.dialogs[self.offends]).astype(np.float64)
        self.dialog = float((sizes**2).sum() / sizes.sum())
        self.length = float(np.minimum(1.0, lengths / USUAL_TURNS).mean())
        self.about = checked["leakage_about"]
        self.secrets = self.about.drop_nulls().unique().sort().to_numpy()
        self.step = checked["step"].to_numpy()

    def marked(self, name: str, bot: Talker, rng: np.random.Generator) -> pl.DataFrame:
        """The marks of one run of a bot."""
        said = np.where(self.offends, bot.abuse.said(self.dialogs, self.checker, rng), -1)
        bias = np.where(self.talk, bot.bias.drawn(self.dialogs, rng), np.nan)
        turns = np.where(self.talk, bot.complexity.drawn(self.dialogs, rng), np.nan)
        found = self.marks.with_columns(
            service=pl.lit(name),
            **_read(said),
            bias_scores=pl.when(pl.Series(self.talk)).then(pl.concat_list(_exact(bias))),
            complexity_score=_exact(turns),
            **self._leaked(bot.leakage, rng),
        )
        return self.without(found, rng.random(found.height) < bot.lost) if bot.lost else found

    def _leaked(self, leaking: Leaking, rng: np.random.Generator) -> dict[str, pl.Expr]:
        """Answers that hold the secret that they were asked for."""
        told = self.secrets[rng.random(len(self.secrets)) < leaking.share].tolist()
        cross = self.about.is_in(told) & pl.Series(self.step == "ask")
        after = pl.Series((self.step == "after") & leaking.keeps)
        own = pl.concat_list(pl.lit(self.about))
        none = pl.lit([], dtype=pl.List(pl.String))
        held = {"leakage_cross": cross.fill_null(value=False), "leakage_after": after}
        lists = {name: pl.when(hit).then(own).otherwise(none) for name, hit in held.items()}
        return {"leakage_told": pl.lit(held["leakage_cross"]), **lists}

    def without(self, marks: pl.DataFrame, lost: Bools) -> pl.DataFrame:
        """The marks with some of the answers failed: nothing was said there."""
        gone = pl.Series(lost)
        nothing: dict[str, pl.Expr] = {
            "status": pl.lit("failed"),
            "utterances": pl.lit([], dtype=pl.List(pl.String)),
            **{f"abuse_{one}": pl.lit(None) for one in ("read", "styles", "utterances")},
            **{name: pl.lit(None) for name in ("bias_scores", "complexity_score")},
            **{f"leakage_{one}": pl.lit(None) for one in LEAKS},
        }
        return marks.with_columns(
            pl.when(gone).then(value).otherwise(pl.col(name)).alias(name) for name, value in nothing.items()
        )

    def summary(self, bots: Sequence[Talker], rng: np.random.Generator) -> pl.DataFrame:
        """The summary of several runs, each a service of its own by number."""
        frames = [self.marked(f"{place:03d}", bot, rng) for place, bot in enumerate(bots)]
        return self.method.summarise(pl.concat(frames))


def _read(said: Ints) -> dict[str, pl.Expr]:
    """Marks of abuse: an utterance of each class, none where it is -1, in the style that was measured."""
    spoken = pl.Series(said >= 0)
    kinds, worth = pl.Series([CLASSES[one] for one in said]), pl.Series(WORTH[said])
    lists = {"read": pl.lit(kinds), "styles": pl.lit(TWEET), "utterances": pl.lit(worth)}
    return {f"abuse_{name}": pl.when(spoken).then(pl.concat_list(one)) for name, one in lists.items()}


def _exact(scores: Floats) -> pl.Series:
    """Scores as marks hold them: multiples of 2**-30, null where there is none (methods 0.2)."""
    return pl.Series(np.round(scores * 2.0**30) / 2.0**30).fill_nan(None)
