"""What the turns of a live conversation come to so far, by the trust method's own reading (trust 4.6).

Nothing is settled by one conversation, since there is nothing to resample; so the level that is shown
while it lasts follows from the scores as they are. Issues that cannot be known leave a set of levels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.trust import utterances
from trustgauge.methods.trust.arithmetic import explain
from trustgauge.methods.trust.combine import MISSING, IssueValue, outcome
from trustgauge.methods.trust.issue_results import IssueResult, issue_results
from trustgauge.methods.trust.issues.abuse import mean_worth
from trustgauge.methods.trust.issues.issue import LEVELS, TALK
from trustgauge.methods.trust.levels import levels, risk
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import RESPONSE, TOO_LONG, Json, State
from trustgauge.run.conversation import USER, ChatTurn
from trustgauge.run.rate import limit_length

ABUSE = "abuse"
TOO_LITTLE = ("trust.one-dialog", "too-few-clusters")
"""Reasons of an issue that has a score and no level, since there is too little to resample."""
_TYPES = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
_BREAKS = re.compile(r"\s*[\r\n]+\s*")


@dataclass(frozen=True, slots=True)
class IssueScore:
    """An issue as it stands: its score and level as they are, None where they are not known."""

    name: str
    state: State
    score: float | None
    level: str | None


@dataclass(frozen=True)
class RunningScore:
    """All turns so far, read.

    Attributes:
        issues: those of the order first, as in the order; then the others.
        possible: levels that may come out, best first; several where an issue is not known.
        unknown: issues of the order without a level.
        utterances: of the bot; `dialogs` in which it spoke.
        combination: how the levels combine, as facts (`explaining.explain`).
        marks: a row an exchange, also of answers that are too long to count (`error`).
    """

    issues: tuple[IssueScore, ...]
    possible: tuple[str, ...]
    unknown: tuple[str, ...]
    utterances: int
    dialogs: int
    combination: Mapping[str, Json]
    marks: pl.DataFrame

    def scores(self, number: int) -> dict[str, float]:
        """Issue -> score of what the bot said in a turn, of issues that a turn tells.

        What a checker left unread has none, as in the score of all turns (trust 4.1, AL), nor has what is
        too long to be rated.
        """
        if self._is_too_long(number):
            return {}
        found = self._values(number, "score")
        read = self.read_in(number).get("abuse_read")
        worth = mean_worth(read) if read else None
        return {name: value for name, value in found.items() if name != ABUSE} | (
            {} if worth is None else {ABUSE: worth}
        )

    def unread(self, number: int) -> list[str]:
        """Issues that could read nothing of what the bot said in a turn."""
        if self._is_too_long(number):
            read = self._values(number, "score")
            return [one.name for one in self.issues if one.name in read]
        row, scored = self.read_in(number), self.scores(number)
        named = [one.name for one in self.issues if one.name not in scored]
        return [name for name in named if row.get(f"{name}_unread")]

    def offends(self, number: int) -> bool:
        """Whether the checker of abuse has something against what the bot said in a turn, read or not."""
        return self._values(number, "score").get(ABUSE, 0.0) > 0

    def of_user(self, number: int) -> dict[str, float]:
        """Issue -> score of what the user said in a turn, which counts for nothing."""
        return self._values(number, "user")

    def read_in(self, number: int) -> dict[str, Any]:
        """All marks of a turn."""
        return self.marks.row(number - 1, named=True)

    def _is_too_long(self, number: int) -> bool:
        return bool(self.read_in(number)["error"] == TOO_LONG)

    def _values(self, number: int, kind: str) -> dict[str, float]:
        row = self.read_in(number)
        found = {one.name: row.get(f"{one.name}_{kind}") for one in self.issues}
        return {name: float(value) for name, value in found.items() if value is not None}


def running_score(
    trust: Trust,
    exchanges: Sequence[ChatTurn],
    order: IssueOrder,
    seed: int,
    probed: Mapping[str, str] = MappingProxyType({}),
) -> RunningScore:
    """Read all exchanges and combine what they come to.

    Args:
        trust: the experiment, with one service.
        exchanges: one at least.
        order: whose view it is.
        seed: of the experiment.
        probed: issue -> its level, of those that the talk does not tell and that were probed for.
    """
    said = rows_of(exchanges, trust.services[0])
    counted = limit_length(said)
    # What is too long is read as well, to be masked if it offends, and counts as little as in a rating.
    marks = trust.score(said).with_columns(error=counted["error"])
    rows = trust.summarise(marks if counted.equals(said) else trust.score(counted))
    resampling = Resampling(seed, trust.resamples)
    results = {one.name: one for one in issue_results(rows, trust, resampling, ())}
    measured = {name: _measured(results[name]) for name in order.issues}
    measured |= {
        name: IssueValue.at(LEVELS.index(level)) for name, level in probed.items() if name in measured
    }
    if trust.mode == "per-utterance":
        possible, _ = utterances.outcomes(rows, order, trust, resampling)
    else:
        possible = outcome(order, measured, trust.combining)
    named = [*order.issues, *(name for name in results if name not in order.issues)]
    issues = tuple(_now(results[name]) for name in named)
    spoken = [
        one for one, error in zip(exchanges, marks["error"], strict=True) if one.spoke and error != TOO_LONG
    ]
    return RunningScore(
        issues,
        possible,
        tuple(name for name in order.issues if measured[name].level == MISSING),
        len(spoken),
        len({one.dialog for one in spoken}),
        explain(order, measured, trust.combining),
        marks,
    )


def rows_of(exchanges: Sequence[ChatTurn], service: str) -> pl.DataFrame:
    """The exchanges as answers, as they will be read from the transcript (`services.dialogs`)."""
    rows = [
        {
            "id": f"{one.dialog}-{one.turn}",
            "message": _BREAKS.sub(" ", one.said),
            "session": one.dialog,
            "turn": one.turn,
            "status": "answered" if one.spoke else "failed" if one.outcome == "failed" else "empty",
            "output": _BREAKS.sub(" ", one.answer),
        }
        for one in exchanges
    ]
    types = {"turn": pl.Int64}
    named = ("id", "message", "session", "turn", "status", "output")
    usual = {"service": service, "part": "", "purpose": TALK, "user": USER, "talk": "", "step": ""}
    usual |= {"facts": "", "block": TALK, "only": service, "trail": "[]", "error": "", "at": ""}
    frame = pl.DataFrame(rows, schema={name: types.get(name, pl.String()) for name in named})
    return frame.with_columns(
        *(pl.lit(value).alias(name) for name, value in usual.items()),
        *(pl.lit(0).cast(_TYPES[RESPONSE[name]]).alias(name) for name in ("attempts", "tokens", "usd")),
        millis=pl.Series([one.millis for one in exchanges], dtype=pl.Float64),
        draw=pl.lit(0, pl.Int64),
        shared=pl.lit(value=False),
    )


def level_of_score(score: float, cuts: tuple[float, float]) -> str:
    """The level of a single score.

    >>> level_of_score(0.5, (0.33, 0.67))
    'M'
    """
    return LEVELS[int(levels(np.array(score), cuts))]


def _measured(one: IssueResult) -> IssueValue:
    """The issue by its score as it is, where only further dialogs are missing to say more."""
    value = _alone(one)
    if value is None:
        return one.issue_value()
    at = np.array(value)
    return IssueValue(int(levels(at, one.cuts)), float(risk(at, one.cuts)), value, one.cuts)


def _alone(one: IssueResult) -> float | None:
    """The score of a dialog or two, which has no level of its own in a rating."""
    little = one.assessed.state == "incomplete" and one.assessed.level is None
    few = any(reason.code in TOO_LITTLE for reason in one.assessed.reasons)
    return one.assessed.score.value if little and few else None


def _now(one: IssueResult) -> IssueScore:
    place = _measured(one).level
    reached = LEVELS[place] if place >= 0 else None
    return IssueScore(one.name, one.assessed.state, one.assessed.score.value, reached)
