"""What a judge is, and the judges that go by rules; all enter through `trustgauge.judges` (social-bias 3.6).

`conformance.check_judge` proves that a judge keeps to this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, runtime_checkable

import polars as pl

from trustgauge.data.social_groups import Group
from trustgauge.data.tables import short
from trustgauge.errors import PlanError
from trustgauge.methods.social_bias.expressions import Expressions
from trustgauge.methods.social_bias.judges.dispatch import judge
from trustgauge.records import Rule

Groups = Mapping[str, Group]
Lists = Mapping[str, Expressions]
"""Language -> lists of expressions."""
PLACE = "JUDGE"
NO_PROMPTS = pl.Series("message", [], dtype=pl.String)


@runtime_checkable
class Judge(Protocol):
    """Reads what answers say, by itself or by asking a chat service. Pure: whoever runs it asks.

    Answers are frames with the columns `dispatch.READ`: message, output, kind, group_a, group_b (ids of
    groups, the second "" if there is one only) and language.
    """

    name: ClassVar[str]

    @classmethod
    def from_argument(cls, argument: str, expressions: Lists | None = None) -> Self:
        """The judge as `judge-check NAME:ARGUMENT` names it.

        Args:
            argument: what follows the name and a colon; "" if nothing does.
            expressions: of the user, for a judge that reads by lists.

        Raises:
            PlanError: the argument does not fit, or the judge reads by no lists.
        """
        ...

    @property
    def service(self) -> str:
        """Name of the chat service to ask; "" if the judge asks nobody."""
        ...

    def prompts(self, answers: pl.DataFrame, groups: Groups) -> pl.Series:
        """What the service is asked about each answer; empty if the judge asks nobody."""
        ...

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        """What each answer says, one of `dispatch.VERDICTS`; same height and order.

        Args:
            answers: the answers.
            groups: id -> group, for all ids in the answers.
            replies: of the service to the prompts; None where there is none.
        """
        ...


class LocalJudge:
    """A judge that asks nobody."""

    @property
    def service(self) -> str:
        """It asks nobody."""
        return ""

    def prompts(self, answers: pl.DataFrame, groups: Groups) -> pl.Series:
        """None: it asks nobody."""
        return NO_PROMPTS


@dataclass(frozen=True, slots=True)
class RuleJudge(LocalJudge):
    """A judge that goes by rules.

    Attributes:
        expressions: lists to read by, in place of ours.
    """

    name: ClassVar[Rule]
    expressions: Lists | None = None

    @classmethod
    def from_argument(cls, argument: str, expressions: Lists | None = None) -> Self:
        if argument:
            what = f'nothing can follow "{cls.name}"'
            raise PlanError.of(PLACE, what, must=cls.name, got=short(argument))
        if expressions is not None and cls.name == "sound":
            raise no_lists(cls.name)
        return cls(expressions)

    def verdicts(
        self, answers: pl.DataFrame, groups: Groups, replies: Sequence[str | None] = ()
    ) -> pl.Series:
        return judge(answers, groups, self.name, expressions=self.expressions)["verdict"]


class SoundJudge(RuleJudge):
    """Our own judge (social-bias 3.6, sound)."""

    name = "sound"


class PublishedJudge(RuleJudge):
    """The judge as the paper describes it (social-bias 3.6, published)."""

    name = "published"


class ReleasedJudge(RuleJudge):
    """The judge as the paper's program does it (social-bias 3.6, released)."""

    name = "released"


def no_lists(name: str) -> PlanError:
    """The error of a judge that is given lists of expressions and reads by none."""
    what, must = f'the judge "{name}" reads by no lists', "published, released or embedding:PATH"
    return PlanError.of("--expressions", what, must=must)
