"""Translators of known rates that answer in varying words, rated by the two-step rule (two-step 1.7).

The probes of `design` are answered sentence by sentence: what comes out for each mention is drawn from
P(out | in) that we set, and is said in one of several ways, in some answers after a preface. The method
reads, sums up and rates, with all 4,000 draws: a mention that its reader leaves unread or takes for another
counts as such. Of a translator that changes during the run no level is true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.calibration.chat_answers import TENTHS, is_later
from benchmarks.calibration.counting import VARIES
from benchmarks.calibration.record import NO_LEVEL, Setting, Trial, Wanted, certainty_in_report, every_one
from trustgauge.data import Attribute, article
from trustgauge.data.neutral_source import neutral_source
from trustgauge.data.noun_gender import GENDERS, LANGUAGES, Gender, noun_gender
from trustgauge.methods.conformance import answers
from trustgauge.methods.two_step.design import WORDS
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.operating_characteristics import (
    SimulatedTranslator,
    by_occupation,
    catalogue,
)
from trustgauge.methods.two_step.power import STEPS
from trustgauge.methods.two_step.score import ABSTAINS
from trustgauge.methods.two_step.transition_model import LEVELS, level_of, shared_out
from trustgauge.records import Rating
from trustgauge.stats import stream

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RECOMMENDED = 200  # texts of a block that plans ask unless told otherwise
SMALLER = 50
BATCH = 25  # runs with one plan seed
MORE = 4  # times as many runs where a promise, or certainty, is checked: to within points
PROMISE = 0.80
NEAR = 1e-6  # a truth this near to the margin lies on it
ROUNDING = 1e-9
HE, SHE, OTHER = np.eye(3)
WORDINGS = (
    "{S} works as {a}.",
    "{S} was {a} for ten years.",
    "The {item} is proud of {possessive} profession.",
    "The {item} did it {reflexive}.",
    "I met {object} when {subject} was {a}.",
    "As {a}, {subject} is seldom at home.",
)
"""How a person is spoken of whose value comes out: from a word of the table and an occupation."""
WITHOUT = (
    "The {item} did well.",
    "They work as {a}.",
    "The {item} has finished the work.",
    "There was {a} as well.",
    "I was told that the {item} is seldom at home.",
    "The {item} did it without any help.",
)
"""How one is spoken of who has lost it."""
UNCLEAR = "I know the {item} and often see {object}."
"""A sentence of which nobody can tell whether the person that is seen is the one who is named."""
PATTERNS = ("possessive", "reflexive", "praise", "subject", "object")
"""Sentences that speak of a person in another language; see `data.noun_gender`."""
CHOICES = (
    "I think {subject} {is} {a}.",
    "Now {subject} {is} {a}.",
    "{S} {is} a very good person, {a}.",
    "Perhaps {subject} {is} {a}.",
    "{S} {is} working as {a}.",
)
"""How a translator into English speaks of somebody of whom the text says neither he nor she."""
NOBODY = "+++."
"""A sentence in another language of which nobody can tell of whom it speaks."""
PREFACE, PREFACED = "Here is the translation:\n", 0.1
"""What stands before some answers, and in which share."""
DECLINED = "I am sorry, I cannot translate this."

NOTES: dict[str, str] = {
    "known": "A text that is declined loses all its mentions at once. The rule takes the design effect of "
    "each value by itself and draws the rates of the values one by one, so that what a text loses of both "
    "values counts as independent. Where 5 % of the texts are declined the interval is about 7 % too short: "
    "in a longer run it held the truth in 91.9 ± 1.4 % of 1,500 ratings. The next step is a design effect "
    "of what each distribution comes out as, in place of that of each value.",
}


@dataclass(frozen=True)
class Service:
    """A translator with known rates.

    Attributes:
        name: in words of the table.
        kind: as of `Setting`.
        rates: P(out | in) for He and She over He, She, Other, [2, 3]; or [blocks, 2, 3] if they
            depend on the block.
        sharing: correlation of the mentions of one value and occupation.
        declined: share of the texts it declines to translate: both mentions are lost.
        failed: share of the texts without an answer, [2]: those without and those with a She.
        unclear: share of the mentions that it words so that nobody can tell of whom it speaks.
        later: rates that it has at other times, [2, 3].
        declined_later: share of the texts that it declines at those times.
        how: at which times, as of `chat_answers.is_later`; "" if it never changes.
        family: rates are drawn anew in each run: `one-way`, `swapped` or `lost`; "" if they are given.
        into: the language that it translates into, read by the gender of nouns; "" for there and back.
        source: with `into` "en", the language of the texts, which does not say who is he or she.
    """

    name: str
    kind: str
    rates: Floats
    sharing: float = 0.0
    declined: float = 0.0
    failed: tuple[float, float] = (0.0, 0.0)
    unclear: float = 0.0
    later: Floats | None = None
    declined_later: float = 0.0
    how: str = ""
    family: str = ""
    into: str = ""
    source: str = ""

    def drawn(self, rng: np.random.Generator) -> Service:
        """The service of one run: rates of a family are drawn evenly over its range."""
        if not self.family:
            return self
        share = float(rng.random()) * FAMILIES[self.family]
        return replace(self, rates=_member(self.family, share), family="")

    def output(self, specs: Floats) -> Floats:
        """What each distribution [S, 2] comes out as, [S, 3]."""
        mean = self.rates if self.later is None else (self.rates + self.later) / 2
        rates = np.broadcast_to(mean, (len(specs), 2, 3))
        declined = (self.declined + self.declined_later) / 2 if self.how else self.declined
        translated = np.einsum("sg,sgo->so", specs, rates)
        return np.asarray((1 - declined) * translated + declined * OTHER)


FAMILIES = {"one-way": 0.5, "swapped": 0.5, "lost": 0.3}
"""Services drawn anew in each run: the largest share of mentions that each family changes."""


def _member(family: str, share: float) -> Floats:
    if family == "one-way":
        return np.array([HE, _mixed(SHE, HE, share)])
    other = (SHE, HE) if family == "swapped" else (OTHER, OTHER)
    return np.array([_mixed(HE, other[0], share), _mixed(SHE, other[1], share)])


def _mixed(one: Floats, other: Floats, share: float) -> Floats:
    return np.asarray((1 - share) * one + share * other)


def services() -> Iterator[Service]:
    """Every service that is rated at each size."""
    for one in (*catalogue(), *by_occupation()):
        yield Service(_words(one), _kind(one), one.rates, one.sharing)
    for share in (0.18, 0.24):
        yield Service(f"changes She to He in {100 * share:g} %", "effect", _member("one-way", share))
    mixed = np.stack([_member("one-way", share) for share in (0.05, 0.05, 0.60)])
    yield Service("changes She to He in 5 %, in 60 % where most are He", "clustered", mixed)
    yield Service("repeats its choice in half of the occupations, 10 % swapped", "clustered",
                  _member("swapped", 0.10), sharing=0.5)  # fmt: skip
    yield Service("identity, 1 % of the answers missing", "lost", _member("one-way", 0), failed=(0.01, 0.01))
    yield Service("identity, 6 % of the answers missing", "lost", _member("one-way", 0), failed=(0.06, 0.06))
    half = _member("one-way", 0.5)
    yield Service("half of She to He, 6 % of the answers missing", "lost", half, failed=(0.06, 0.06))
    yield Service("changes She to He in 15 %, 10 % of the texts with a She missing", "lost",
                  _member("one-way", 0.15), failed=(0.0, 0.10))  # fmt: skip
    yield Service("identity, declines 5 % of the texts", "refusing", _member("one-way", 0), declined=0.05)
    yield Service("identity, declines 15 % of the texts", "refusing", _member("one-way", 0), declined=0.15)
    yield Service("identity, in 5 % not clear of whom it speaks", "lost", _member("one-way", 0), unclear=0.05)
    yield Service("identity, from a third of the run on all become He", "changing", _member("one-way", 0),
                  later=_member("one-way", 1), how="update")  # fmt: skip
    yield Service("identity, drifting to all become He", "changing", _member("one-way", 0),
                  later=_member("one-way", 1), how="drift")  # fmt: skip
    yield Service("identity or all become He, 40 texts in a row each", "changing", _member("one-way", 0),
                  later=_member("one-way", 1), how="regimes")  # fmt: skip
    yield Service("identity, declines 40 texts in a row now and then", "changing", _member("one-way", 0),
                  declined_later=1.0, how="regimes")  # fmt: skip
    for language, named in LANGUAGES.items():
        yield Service(f"one way into {named}, right in all", "null", _member("one-way", 0), into=language)
        for share in (0.18, 0.24, 0.60):
            name = f"one way into {named}, {100 * share:g} % of She as He, in 5 % not clear of whom it speaks"
            yield Service(name, "effect", _member("one-way", share), unclear=0.05, into=language)
    yield from _out_of_turkish()
    for family, most in FAMILIES.items():
        name = f"{family}, drawn evenly from 0 to {100 * most:g} %"
        yield Service(name, "effect" if family == "one-way" else "noise", half, family=family)


def _out_of_turkish() -> Iterator[Service]:
    """Services that are sent neither he nor she; rates are by who usually holds the occupation."""
    half = 0.5 * np.array([OTHER, OTHER])
    even = np.array([(HE + SHE) / 2] * 2)
    rates = {
        "as usual in all": ("null", _member("one-way", 0), 0.0),
        "all left open": ("null", np.array([OTHER, OTHER]), 0.0),
        "a coin": ("noise", even, 0.0),
        "a coin for each occupation": ("clustered", even, 1.0),
        "18 % of She as He": ("effect", _member("one-way", 0.18), 0.0),
        "24 % of She as He": ("effect", _member("one-way", 0.24), 0.0),
        "half left open, 34 % of the other She as He": ("effect", half + 0.5 * _member("one-way", 0.34), 0.0),
        "half left open, 46 % of the other She as He": ("effect", half + 0.5 * _member("one-way", 0.46), 0.0),
        "60 % of She as He in occupations that are alike by half": (
            "clustered",
            _member("one-way", 0.6),
            0.5,
        ),
    }
    for name, (kind, own, sharing) in rates.items():
        told = f"out of Turkish, {name}, in 5 % not clear"
        yield Service(told, kind, own, sharing=sharing, unclear=0.05, into="en", source="tr")


def _words(one: SimulatedTranslator) -> str:
    """The name of a service of the catalogue, in words."""
    changed = round(100 * float(1 - one.rates[1, 1]))
    if one.name.startswith("occupation"):
        return f"changes She to He in {changed} % of the occupations"
    if one.name.startswith("flip"):
        return f"swaps He and She in {changed} %"
    if one.name.startswith("She->He"):
        return f"changes She to He in {changed} %"
    if one.name.startswith("lost"):
        return f"loses {changed} % of the mentions"
    others = {"all->He": "all become He", "all->Other": "all are lost", "coin 50/50": "draws all anew"}
    return others.get(one.name, one.name)


def _kind(one: SimulatedTranslator) -> str:
    if one.name == "identity":
        return "null"
    if one.sharing:
        return "clustered"
    return "noise" if one.name.startswith(("flip", "coin")) else "effect"


def settings(runs: int, seed: int, wanted: Wanted = every_one) -> Iterator[Setting]:
    """Every service at the recommended size, and what the plans promise there and at a smaller one."""
    for service in services():
        if wanted(service.name):
            method = _experiment(RECOMMENDED, service.into, service.source)
            yield rated(method, service, MORE * runs if service.family else runs, seed)
    for texts in (RECOMMENDED, SMALLER):
        method = _experiment(texts)
        for deff in (1, 2):
            if not any(wanted(_promise(step / STEPS, deff)) for step in range(1, STEPS + 1)):
                continue  # finding the shift takes seconds
            share, sharing = _promised(texts, deff, seed), _sharing(method, deff, seed)
            # Few texts meet each occupation too seldom for the design effect: there it cannot be built.
            if share is None or sharing > 1:
                continue
            name = _promise(share, deff)
            kind = "clustered" if deff > 1 else "effect"
            service = Service(name, kind, _member("one-way", share), sharing)
            if wanted(name):
                yield rated(method, service, MORE * runs, seed, PROMISE)


def _promise(share: float, deff: int) -> str:
    """The name of a service that a plan promises to settle."""
    name = f"changes She to He in {100 * share:g} %, which the plan promises to settle"
    return name + (f" at a design effect of {deff}" if deff > 1 else "")


@cache
def _promised(texts: int, deff: int, seed: int) -> float | None:
    """The smallest effect that a plan of this size promises to settle at a design effect."""
    return _experiment(texts).power_at(seed, deff)


def _experiment(texts: int, language: str = "", source: str = "") -> TwoStep:
    settings = {"texts": texts, "one_way": language, "source": source}
    return TwoStep.model_validate({"method": "two-step", "services": ["service"], **settings})


def _sharing(method: TwoStep, deff: int, seed: int) -> float:
    """The correlation within an occupation that gives a design effect: 1 + (m - 1) r.

    m is the number of mentions of She that one of them finds in its occupation, itself included.
    """
    if deff == 1:
        return 0.0
    asked = Asked.of(method, seed)
    each = np.bincount(asked.items[asked.values == 1]).astype(np.float64)
    return float((deff - 1) / ((each**2).sum() / each.sum() - 1))


@dataclass(frozen=True)
class Asked:
    """The probes of a plan, and what can be answered to them.

    Attributes:
        probes: as `design` gives them, N rows.
        values, items: input value and occupation of each mention, [N, k].
        blocks: place of the block of each text, [N].
        sentences: what a sentence comes back as for each output value and wording, objects [N, k, 3, V].
    """

    probes: pl.DataFrame
    values: Ints
    items: Ints
    blocks: Ints
    sentences: NDArray[np.object_]

    @classmethod
    def of(cls, method: TwoStep, seed: int) -> Asked:
        """The probes of `method` with a plan seed."""
        probes = pl.concat(method.design(seed, "translate"))
        table, known = method.table, {}
        number = len(CHOICES if method.source else PATTERNS if method.one_way else WORDINGS)
        sentences = np.empty((probes.height, method.spec.mentions, 3, number + 1), dtype=object)
        occupations = WORDS if method.source else "items"  # neutral sentences name them by words
        for row, names in enumerate(probes[occupations]):
            for slot, name in enumerate(names):
                if name not in known and method.source:
                    english = neutral_source(method.source).english[name]
                    known[name] = [_chosen(english, value) for value in ("He", "She", "Other")]
                elif name not in known and method.one_way:
                    known[name] = [_translated(method.one_way, name, gender) for gender in GENDERS]
                elif name not in known:
                    known[name] = [
                        *(_said(table, name, value) for value in table.values[:2]),
                        _said(table, name),
                    ]
                sentences[row, slot] = known[name]
        items = np.array(probes[occupations].to_list())
        return cls(
            probes,
            np.array(probes["values"].to_list(), dtype=np.int64),
            np.unique(items, return_inverse=True)[1].reshape(items.shape),
            np.array([method.spec.blocks.index(one) for one in probes["block"]]),
            sentences,
        )

    def answered(self, service: Service, name: str, rng: np.random.Generator) -> pl.DataFrame:
        """One run of the service over all probes."""
        place = rng.permutation(len(self.blocks))
        later = is_later(place, service.how, rng) if service.how else np.zeros(len(place), dtype=np.bool_)
        outputs = self._outputs(service, later, rng)
        texts = np.take_along_axis(self.sentences, outputs[..., None, None], axis=2)[:, :, 0]
        last = self.sentences.shape[-1] - 1
        wordings = rng.integers(last, size=outputs.shape)
        wordings = np.where(rng.random(outputs.shape) < service.unclear, last, wordings)
        texts = np.take_along_axis(texts, wordings[..., None], axis=2)[..., 0]
        whole = np.where(rng.random(len(place)) < PREFACED, PREFACE, "").astype(object) + texts[:, 0]
        for slot in range(1, texts.shape[1]):
            whole = whole + " " + texts[:, slot]
        with_she = (self.values == 1).any(axis=1).astype(np.int64)
        fate = rng.random(len(whole))
        failed = fate < np.array(service.failed)[with_she]
        declining = np.where(later, service.declined_later, service.declined)
        declined = ~failed & (rng.random(len(whole)) < declining)
        whole[declined], whole[failed] = DECLINED, None
        status = np.where(failed, "failed", np.where(declined, "refused", "answered"))
        return answers(self.probes, whole.tolist()).with_columns(
            pl.lit(name).alias("service"),
            pl.Series("status", status, dtype=pl.String),
            pl.Series("segment", place * TENTHS // len(place), dtype=pl.Int64),
        )

    def _outputs(self, service: Service, later: NDArray[np.bool_], rng: np.random.Generator) -> Ints:
        """The output value of each mention, [N, k]."""
        rates = np.broadcast_to(service.rates, (self.blocks.max() + 1, 2, 3))
        edges = rates.cumsum(axis=-1)[self.blocks[:, None], self.values]
        if service.later is not None:
            edges[later] = service.later.cumsum(axis=-1)[self.values[later]]
        chance = rng.random(self.values.shape)
        if service.sharing:
            pairs = (int(self.items.max()) + 1, 2)
            alike = (rng.random(pairs) < service.sharing)[self.items, self.values]
            chance = np.where(alike, rng.random(pairs)[self.items, self.values], chance)
        return np.asarray((chance[..., None] >= edges[..., :-1]).sum(axis=-1))


def _said(table: Attribute, item: str, value: str = "") -> list[str]:
    """How a person with an occupation is spoken of, with a value or without; the unclear wording is last."""
    words = {role: forms[0] for role, forms in table.forms(value).items()} if value else {}
    slots = {
        **words,
        "item": item,
        "a": f"{article(item)} {item}",
        "S": words.get("subject", "").capitalize(),
    }
    wordings = (*WORDINGS, UNCLEAR) if value else (*WITHOUT, WITHOUT[0])
    return [one.format(**slots) for one in wordings]


def _translated(language: str, item: str, gender: Gender) -> list[str]:
    """How a person is spoken of in another language; the last wording names no occupation."""
    table = noun_gender(language)
    return [*(table.write(pattern, item, gender) for pattern in PATTERNS), NOBODY]


def _chosen(occupation: str, value: str) -> list[str]:
    """How somebody is spoken of in English whose gender was not sent; the last wording is not English."""
    subject, verb = {"He": ("he", "is"), "She": ("she", "is"), "Other": ("they", "are")}[value]
    slots = {
        "subject": subject,
        "S": subject.capitalize(),
        "is": verb,
        "a": f"{article(occupation)} {occupation}",
    }
    return [*(one.format(**slots) for one in CHOICES), NOBODY]


def rated(method: TwoStep, service: Service, runs: int, seed: int, promised: float | None = None) -> Setting:
    """One service rated `runs` times, `BATCH` times with each plan seed."""
    trials: list[Trial] = []
    for start in range(0, runs, BATCH):
        trials += _trials(method, service, min(BATCH, runs - start), seed + start // BATCH)
    due = truth(method, service)[0]
    return Setting(
        method="two-step",
        service=service.name,
        kind=service.kind,
        truth=VARIES if service.family else due,
        size=f"{method.texts} texts a block",
        recommended=method.texts == RECOMMENDED,
        trials=tuple(trials),
        promised=promised,
    )


def _trials(method: TwoStep, service: Service, runs: int, seed: int) -> Iterator[Trial]:
    """Runs with one plan seed."""
    asked = Asked.of(method, seed)
    rng = stream(seed, "calibration", "two-step", service.name, method.texts)
    built = {f"run {run}": service.drawn(rng) for run in range(runs)}
    marks = method.score(pl.concat([asked.answered(one, name, rng) for name, one in built.items()]))
    ratings = method.rate(method.summarise(marks), seed)
    unread = dict(
        marks.group_by("service")
        .agg((pl.col("read").explode() == ABSTAINS).mean().fill_null(0.0))
        .iter_rows()
    )
    for rating in sorted(ratings, key=lambda one: list(built).index(one.service)):
        trial = _trial(rating, truth(method, built[rating.service]))
        yield trial._replace(unread=unread[rating.service])


def truth(method: TwoStep, service: Service) -> tuple[str, float, bool]:
    """Level and score due, and whether they hang on a deviation that lies on the margin.

    Two-step 1.7 steps 5 and 6 on the true output of each distribution.
    """
    if service.how in ("drift", "update"):
        return NO_LEVEL, float("nan"), False
    spec = method.spec
    output = service.output(spec.distributions[:, :2])
    if method.source:  # leaving it open is as good as balanced
        output = shared_out(output, spec.unbiased[0])
    devs = np.abs(output[:, None] - spec.unbiased).max(axis=-1).min(axis=-1)
    number = len(spec.unbiased)
    below, due, above = (int(level_of(devs, number, method.margin + off)) for off in (-NEAR, 0.0, NEAR))
    return LEVELS[due], float(devs[:number].max()), below != above


def _trial(rating: Rating, due: tuple[str, float, bool]) -> Trial:
    level, score, on_cut = due
    if rating.level is None:
        return Trial(None, False, float("nan"), None, None)
    held = rating.score
    assert held is not None
    assert held.low is not None
    assert held.high is not None
    return Trial(
        level=rating.level,
        settled=rating.state == "rated",
        certainty=certainty_in_report(rating),
        right=None if on_cut else rating.level == level,
        covered=None if np.isnan(score) else held.low - ROUNDING <= score <= held.high + ROUNDING,
    )
