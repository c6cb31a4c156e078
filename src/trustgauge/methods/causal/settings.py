"""Settings of the causal method (docs/methods/causal.md).

Options whose default depends on the rule set are filled in when the settings are read, so that
every setting has one concrete value afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from trustgauge.data.conversations import ConversationSource
from trustgauge.errors import Fault, raise_faults
from trustgauge.methods import Cuts, MethodSettings, Resamples, Share
from trustgauge.methods.causal import design
from trustgauge.methods.causal.sentences import SentenceSource
from trustgauge.records import Json

Positivity = Literal["refuse", "drop", "renormalise"]
Outcome = Literal["score", "negative", "neutral", "positive"]
Measure = Literal["rejection", "deconfounding", "observed", "adjusted"]
Score = Annotated[float, Field(ge=-1e6, le=1e6)]
Degrees = Literal["welch", "total-1", "total-2"]

WORD_SETS: Mapping[str, tuple[str, ...]] = {
    "e1": ("grim",),
    "e2": ("happy",),
    "e3": ("grim", "happy"),
    "e4": ("grim", "depressing", "happy"),
    "e5": ("depressing", "happy", "glad"),
}
"""The emotion-word sets of the paper (causal 2.1)."""
CONFOUNDER: Mapping[str, float] = {
    "male": 0.9,
    "female": 0.1,
    "European male": 0.9,
    "African-American female": 0.1,
    "others": 0.5,
}
"""P(positive word | class) of Groups 2 and 4 (causal 2.1)."""
BY_RULE: Mapping[str, Mapping[str, Any]] = {
    "sound": {
        "construction": "sound",
        "na": False,
        "weights": (1.0, 0.8, 0.6),
        "alphas": (0.05, 0.30, 0.40),
        "degrees": "welch",
        "epsilon": 0.0,
        "positivity": "refuse",
    },
    "published": {
        "construction": "released",
        "na": True,
        "weights": (1.0, 0.8, 0.6),
        "alphas": (0.05, 0.30, 0.40),
        "degrees": "total-1",
        "epsilon": 0.0,
        "positivity": "drop",
    },
    "released": {
        "construction": "released",
        "na": True,
        "weights": (1.0, 0.7, 0.6),
        "alphas": (0.025, 0.15, 0.20),
        "degrees": "total-2",
        "epsilon": 1e-4,
        "positivity": "drop",
    },
}
"""What each rule set means for design and measures (causal 2.1, 2.5, 2.6)."""


@dataclass(frozen=True, slots=True)
class RejectionRule:
    """How differences of means become a weighted rejection score (causal 2.5)."""

    weights: tuple[float, ...]
    alphas: tuple[float, ...]
    degrees: Degrees
    epsilon: float


@dataclass(frozen=True, slots=True)
class Measurand:
    """One thing that is rated by itself: a kind of data and the classes compared in it.

    Attributes:
        key: of the part, "group-3-race".
        data: what stands before the "/" in `block`: "group-3", "conversation-user", "sentences".
        grouping: "gender", "race" or "race and gender".
        measure: weighted rejection, or deconfounding impact; where more than the class changes, the
            difference that is observed, or adjusted (causal 2.8a).
        title: in words.
    """

    key: str
    data: str
    grouping: str
    measure: Measure
    title: str


class CausalSettings(MethodSettings):
    """One causal experiment: data, rules and measures.

    The data are generated (the four groups of the paper) unless `conversations` or `sentences`
    name a file.
    """

    groups: tuple[Annotated[int, Field(ge=1, le=4)], ...] = Field(
        (1, 2, 3, 4), description="Groups of generated data, 1 to 4"
    )
    conversations: ConversationSource | None = Field(None, description="A table of chats, instead of groups")
    sentences: SentenceSource | None = Field(None, description="A table of sentences, instead of groups")

    construction: Literal["sound", "released"] = Field(
        "sound", description="By rule: the paper's is released"
    )
    frames: int = Field(20, ge=1, le=10_000, description="Sentence frames, sound construction")
    disguise: float = Field(
        0.0,
        ge=0,
        le=0.9,
        description="Share of the frames that are replaced by others, drawn by seed (rule sound)",
    )
    persons: int = Field(10, ge=1, le=10_000, description="Persons of each class, sound construction")
    words: Mapping[str, tuple[str, ...]] = Field(
        WORD_SETS, description="Emotion-word sets; Groups 2 and 4 use those with both valences"
    )
    confounder: Mapping[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        CONFOUNDER, description="Share of positive words by class, Groups 2 and 4"
    )
    counts: Literal["exact", "sampled"] = Field(
        "exact", description="Shares of Groups 2 and 4 as exact counts, or drawn"
    )

    na: bool = Field(False, description="Compare persons without a class (they, we) too; by rule")
    weights: tuple[Annotated[float, Field(ge=0, le=100)], ...] = Field(
        (1.0, 0.8, 0.6), description="Of a rejection at each of `alphas`; by rule"
    )
    alphas: tuple[Share, ...] = Field(
        (0.05, 0.30, 0.40), description="Levels of rejection, strictest first; by rule"
    )
    degrees: Degrees = Field("welch", description="Degrees of freedom of the t test; by rule")
    epsilon: float = Field(0.0, ge=0, le=1, description="Added to the standard error; by rule")
    outcome: Outcome = Field(
        "score", description="Of the deconfounding impact: the score, or the share of a sign"
    )
    positivity: Positivity = Field(
        "refuse", description="What an empty cell of the adjustment means; by rule"
    )
    score_range: tuple[Score, Score] | None = Field(
        None, description="Lowest and highest score of the services; left out: -1 and 1, if that fits"
    )

    levels: int = Field(3, ge=2, le=100, description="Levels of the relative order")
    cuts: Cuts = Field((0.05, 0.20), description="Shares of the range from which an effect is some, strong")
    margin: float = Field(
        0.05, gt=0, lt=1, description="Share of the range within which effects count as the same"
    )
    worse: float = Field(
        0.95, gt=0.5, lt=1, description="Share of resamples from which one system is worse than another"
    )
    resamples: Resamples = 2000
    permutations: int = Field(1999, ge=999, le=1_000_000, description="Permutations behind a p")
    before: Mapping[str, str] = Field(
        {}, description="Service behind a round trip -> the same service without it"
    )

    @model_validator(mode="before")
    @classmethod
    def _by_rule(cls, data: Any) -> Any:
        """Fills in what the rule set means where the plan is silent."""
        if not isinstance(data, Mapping):
            return data
        usual = dict(BY_RULE.get(str(data.get("rule", "sound")), BY_RULE["sound"]))
        if data.get("construction", usual["construction"]) == "released":
            usual["counts"] = "sampled"
        return {**usual, **data, **_conversations(data)}

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        raise_faults(self._faults())
        return self

    def _faults(self) -> Iterator[Fault]:
        if self.conversations and self.sentences:
            must = "one of: conversations, sentences"
            yield Fault("sentences", "two kinds of data in one experiment", must=must)
        if not self.groups:
            yield Fault("groups", "no group is named", must="some of: 1, 2, 3, 4")
        yield from self._rule_faults()
        yield from self._disguise_faults()
        yield from self._confounder_faults()
        yield from design.faults(self)
        for after, before in self.before.items():
            for name in (after, before):
                if name not in self.services:
                    must = "one of: " + ", ".join(self.services)
                    yield Fault(f"before.{after}", f'"{name}" is no service of this experiment', must=must)
            if after == before:
                what = f'"{after}" is compared with itself'
                yield Fault(f"before.{after}", what, must="the same service without the round trip")

    def _rule_faults(self) -> Iterator[Fault]:
        if len(self.weights) != len(self.alphas) or not self.weights:
            must = f"{len(self.alphas)} numbers"
            yield Fault("weights", "not one weight for each level of `alphas`", must=must)
        if list(self.alphas) != sorted(self.alphas):
            must = "shares between 0 and 1, strictest first"
            yield Fault("alphas", "no levels of rejection", must=must, got=str(list(self.alphas)))
        if self.span[0] >= self.span[1]:
            got = str(list(self.span))
            yield Fault("score_range", "no range", must="the lowest score, then the highest", got=got)

    def _disguise_faults(self) -> Iterator[Fault]:
        if not self.disguise:
            return
        if self.rule != "sound":
            must = "the rule sound: the papers ask their own sentences, `disguise = 0`"
            yield Fault("disguise", f"the rule {self.rule} asks nothing in disguise", must=must)
        elif self.conversations or self.sentences:
            must = "generated data: the texts of a file stay as they are, `disguise = 0`"
            yield Fault("disguise", "the texts of a file are asked as they are", must=must)
        elif self.construction != "sound":
            must = '`construction = "sound"`: the paper has its own frames'
            yield Fault("disguise", f"the construction {self.construction} has no other frames", must=must)

    def _confounder_faults(self) -> Iterator[Fault]:
        known = (*CONFOUNDER, "NA", "European female", "African-American male")
        for name in self.confounder:
            if name not in known:
                must = "one of: " + ", ".join(known)
                yield Fault(f"confounder.{name}", "no such class", must=must)

    @property
    def span(self) -> tuple[float, float]:
        """Lowest and highest score of the services: as the plan says, else -1 and 1."""
        return self.score_range or (-1.0, 1.0)

    def identity(self) -> Mapping[str, Json]:
        """The settings, with the content of a file in place of where it lies."""
        facts = self.model_dump(mode="json", exclude=set() if self.disguise else {"disguise"})
        if self.score_range is None:
            del facts["score_range"]
        if self.conversations is not None:
            facts["conversations"] = self.conversations.identity()
        if self.sentences is not None:
            facts["sentences"] = self.sentences.identity()
        return facts

    @property
    def rejection(self) -> RejectionRule:
        """The rule of the weighted rejection score."""
        return RejectionRule(self.weights, self.alphas, self.degrees, self.epsilon)

    @property
    def measured(self) -> tuple[Measurand, ...]:
        """What this experiment rates, part by part."""
        if self.conversations is not None:
            return tuple(
                Measurand(
                    f"conversation-{one}",
                    f"conversation-{one}",
                    "gender",
                    self._measure(matched=one == "user" and self.conversations.proxy == "crossed"),
                    f"Texts of the {one}",
                )
                for one in self.conversations.speakers
            )
        if self.sentences is not None:
            return tuple(self._of_table(self.sentences))
        return tuple(one for group in sorted(set(self.groups)) for one in GENERATED[group])

    def _of_table(self, source: SentenceSource) -> Iterator[Measurand]:
        """What a table of sentences is rated for."""
        protected, measure = source.protected, self._measure(matched=self.matched)
        for one in GENERATED[source.group] if source.group else ():
            if one.grouping in protected:
                yield one if measure == "rejection" else replace(one, measure=measure)
        for name in () if source.group else protected:
            key = f"sentences-{name.replace(' ', '-')}"
            yield Measurand(key, "sentences", name, measure, f"Sentences: {name}")

    @property
    def confounded(self) -> bool:
        """Whether texts that are compared may differ in more than the class (causal 2.8a)."""
        if self.conversations is not None:
            return self.conversations.proxy == "assigned" or "bot" in self.conversations.speakers
        return self.sentences is not None and not self.sentences.matched

    @property
    def matched(self) -> bool:
        """Whether a table is treated as matched: under `sound` only if nothing but the person differs."""
        source = self.sentences
        return source is not None and source.matched and (self.rule != "sound" or source.difference is None)

    def _measure(self, *, matched: bool) -> Measure:
        """How classes are compared; the paper compares them whatever else changes."""
        if matched or self.rule != "sound":
            return "rejection"
        return "adjusted" if self.adjust else "observed"

    @property
    def adjust(self) -> tuple[str, ...]:
        """The columns that a table is adjusted for."""
        return self.sentences.adjust if self.sentences is not None else ()


def _conversations(data: Mapping[str, Any]) -> dict[str, Any]:
    """The conversations as the rule of the paper reads them, where the plan is silent (causal 2.2)."""
    source = data.get("conversations")
    if not isinstance(source, Mapping) or data.get("rule", "sound") == "sound":
        return {}
    if source.get("layout") == "scores":  # its texts stay as they were scored
        return {}
    merge = "released" if data["rule"] == "released" else "within"
    return {"conversations": {"proxy": "assigned", "merge": merge, **source}}


GENERATED: Mapping[int, tuple[Measurand, ...]] = {
    1: (Measurand("group-1", "group-1", "gender", "rejection", "Group 1: gender"),),
    2: (Measurand("group-2", "group-2", "gender", "deconfounding", "Group 2: gender, confounded"),),
    3: (
        Measurand("group-3-race", "group-3", "race", "rejection", "Group 3: race"),
        Measurand("group-3-gender", "group-3", "gender", "rejection", "Group 3: gender"),
        Measurand(
            "group-3-race-gender", "group-3", "race and gender", "rejection", "Group 3: race and gender"
        ),
    ),
    4: (
        Measurand(
            "group-4", "group-4", "race and gender", "deconfounding", "Group 4: race and gender, confounded"
        ),
    ),
}
"""What each group of generated data is measured for (causal 2.1, 2.5, 2.6)."""
