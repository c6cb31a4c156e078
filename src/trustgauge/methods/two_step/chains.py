"""The parts of a chain: their facts, the conditions of an inference, and the product of their rates.

See two-step 1.9, from "From rates" on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.two_step.transition_model import TOLERANCE, posterior
from trustgauge.records import Reason
from trustgauge.stats import stream

VERTICES = 4096  # the most combinations of unknown rows that are tried one by one

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Link:
    """What is known of one part of a chain, taken from its rating.

    Attributes:
        service: its name.
        level: of the rating; None if there is none.
        state: of the rating; only `rated` feeds an inference.
        certainty: level -> share.
        attribute: its name.
        reader: which reader and settings read the answers.
        values: C names, the last the residual: the alphabet.
        unbiased: distributions tested, [U][C].
        biased: distributions tested, [B][C].
        language: of the text that goes in and comes out; None if the level is that of several
            languages together.
        fingerprint: of the service when it was rated.
        current: its fingerprint now; None if it is not known.
        expires: date, ISO 8601.
        matrix: pooled mentions by value in and value out; rows for all C values, or for those with a
            share in a distribution only. None if the rating has none, or did not pool its blocks.
        deff: design effect of each row of `matrix`.
        depends: features of the text on which its rates depend (`text_dependence.FEATURES`); None if it
            is not known.
        deterministic: whether equal texts get equal answers.
        two_bit: share of draws by behaviour, [] names as in `rates.BEHAVIOURS`.
        texts: texts of a block, for the cost of a test.
        legs: calls that one text costs.
    """

    service: str
    level: str | None
    state: str
    certainty: Mapping[str, float]
    attribute: str
    reader: str
    values: tuple[str, ...]
    unbiased: tuple[tuple[float, ...], ...]
    biased: tuple[tuple[float, ...], ...]
    language: str | None = ""
    fingerprint: str = ""
    current: str | None = None
    expires: str = ""
    matrix: tuple[tuple[int, ...], ...] | None = None
    deff: tuple[float, ...] = ()
    depends: tuple[str, ...] | None = ()
    deterministic: bool = False
    two_bit: Mapping[str, float] = field(default_factory=dict)
    texts: int = 200
    legs: int = 1

    @property
    def measured(self) -> bool:
        """Whether its rates are known."""
        return self.matrix is not None

    @property
    def varies(self) -> bool:
        """Whether a value may come back as several, so that the text may tell which."""
        return self.matrix is None or any(sum(count > 0 for count in row) > 1 for row in self.matrix)

    @property
    def tested(self) -> Floats:
        """All distributions it was tested with, [S, C]."""
        return np.array([*self.unbiased, *self.biased], dtype=np.float64)


def calls(chain: Sequence[Link]) -> int:
    """What testing the chain would cost, in calls: texts x blocks x legs."""
    first = chain[0]
    blocks = len(first.unbiased) + len(first.biased)
    return max(link.texts for link in chain) * blocks * sum(link.legs for link in chain)


def differing_settings(own: str, first: str) -> str:
    """How the settings that read and judge one part differ from those of the first: "margin 0.12, not 0.1".

    Args:
        own: as JSON.
        first: likewise, with the same names.
    """
    try:
        mine, other = json.loads(own), json.loads(first)
        return ", ".join(
            f"{name} {mine[name]}, not {other[name]}" for name in mine if mine[name] != other[name]
        )
    except (ValueError, TypeError, LookupError):
        return f"{own}, not {first}"


def conditions(chain: Sequence[Link], today: str, margin: float) -> Iterator[Reason]:
    """Every condition of two-step 1.9 that the chain does not meet, with its cost."""
    cost = calls(chain)
    first = chain[0]
    for at, link in enumerate(chain):
        facts = {"service": link.service, "place": at + 1, "calls": cost}
        if link.attribute != first.attribute:
            yield Reason(
                "composition.other-attribute", {**facts, "is": link.attribute, "first": first.attribute}
            )
        if link.values != first.values:
            yield Reason(
                "composition.other-values", {**facts, "is": list(link.values), "first": list(first.values)}
            )
        if link.reader != first.reader:
            apart = differing_settings(link.reader, first.reader)
            yield Reason(
                "composition.other-reader",
                {**facts, "is": link.reader, "first": first.reader, "settings": apart},
            )
        if link.state != "rated" or link.level is None:
            yield Reason("composition.not-rated", {**facts, "state": link.state})
        if link.current is not None and link.current != link.fingerprint:
            yield Reason("composition.changed", facts)
        if today and link.expires and link.expires < today:
            yield Reason("composition.expired", {**facts, "expires": link.expires})
        if link.language is None:
            yield Reason("composition.worst-of-languages", facts)
        elif first.language is not None and link.language != first.language:
            yield Reason(
                "composition.other-language", {**facts, "is": link.language, "first": first.language}
            )
    yield from _untested_inputs(chain, margin)
    yield from _shared_texts(chain)
    yield from _same_answers(chain)


def _shared_texts(chain: Sequence[Link]) -> Iterator[Reason]:
    """Do several parts treat texts differently? Then nobody knows whether these are the same texts."""
    varying = [link for link in chain if link.depends != ()]
    if len(varying) < 2:
        return
    known = [link for link in varying if link.depends is not None]
    names = list(dict.fromkeys(link.service for link in known))
    features = list(dict.fromkeys(name for link in known for name in link.depends or ()))
    if len(known) > 1:
        facts = {"services": names, "features": features, "calls": calls(chain)}
        yield Reason("composition.depends-on-text", facts)
    for name in dict.fromkeys(link.service for link in varying if link.depends is None):
        yield Reason("composition.texts-unknown", {"service": name, "calls": calls(chain)})


def _same_answers(chain: Sequence[Link]) -> Iterator[Reason]:
    """Does a deterministic service stand twice? What it left unchanged once it leaves unchanged again."""
    again = Counter(link.service for link in chain if link.deterministic and link.varies and not link.depends)
    for service, times in again.items():
        if times > 1:
            yield Reason("composition.same-answers", {"service": service, "calls": calls(chain)})


def other_specs(chain: Sequence[Link]) -> Iterator[Reason]:
    """Parts tested with other distributions than the first: their levels mean something else."""
    first = chain[0]
    for at, link in enumerate(chain):
        if link.values == first.values and (link.unbiased, link.biased) != (first.unbiased, first.biased):
            facts = {"service": link.service, "place": at + 1, "calls": calls(chain)}
            yield Reason("composition.other-distributions", facts)


def _untested_inputs(chain: Sequence[Link], margin: float) -> Iterator[Reason]:
    """Does each part give the next one something near what it was tested with?"""
    cost = calls(chain)
    pushed = [chain[0].tested]
    for at, (link, following) in enumerate(pairwise(chain), 1):
        facts = {"service": following.service, "place": at + 1, "calls": cost}
        if link.values != following.values:
            return  # reported already; shares of different values cannot be compared
        if link.matrix is None:
            facts |= {"before": link.service}
            if link.two_bit:  # measured, block by block
                yield Reason("composition.rates-depend-on-mix", facts)
            else:
                yield Reason("composition.outputs-unknown", facts)
            return
        pushed = [
            one @ rates for one in pushed for rates in _filled(_mean(link), _unknown(link) if at > 1 else ())
        ]
        far = max(_distance(one, following.tested) for one in pushed)
        if far > margin + TOLERANCE:
            facts |= {"before": link.service, "distance": round(far, 6), "margin": margin}
            yield Reason("composition.inputs-untested", facts)
        if len(pushed) > VERTICES:
            yield Reason("composition.too-many-unknowns", facts)
            return


def _distance(outputs: Floats, tested: Floats) -> float:
    """The largest distance of an output distribution from the nearest tested one."""
    apart = np.abs(outputs[:, None, :] - tested[None, :, :]).max(axis=2)
    return float(apart.min(axis=1).max())


def _counts(link: Link) -> NDArray[np.int64]:
    """Pooled counts with a row for every value, [C, C]."""
    size = len(link.values)
    given = np.array(link.matrix, dtype=np.int64)
    if len(given) == size:
        return given
    counts = np.zeros((size, size), dtype=np.int64)
    counts[link.tested.sum(axis=0) > 0] = given
    return counts


def _unknown(link: Link) -> tuple[int, ...]:
    """Values never tested as input: their rows are unknown."""
    return tuple(int(row) for row in np.flatnonzero(_counts(link).sum(axis=1) == 0))


def _mean(link: Link) -> Floats:
    """Observed rates, [C, C]; unknown rows keep their value."""
    counts = _counts(link).astype(np.float64)
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), np.eye(len(counts)))


def _filled(rates: Floats, unknown: Sequence[int]) -> Iterator[Floats]:
    """`rates` [..., C, C] with the unknown rows at every vertex: each gives one value always."""
    size = rates.shape[-1]
    for choice in product(range(size), repeat=len(unknown)):
        filled = rates.copy()
        for row, value in zip(unknown, choice, strict=True):
            filled[..., row, :] = np.eye(size)[value]
        yield filled


def products(chain: Sequence[Link], draws: int, seed: int) -> Iterator[Floats]:
    """Rates of the whole chain, multiplied draw by draw: [T, C, C] for every vertex of unknown rows.

    Unknown rows of the first part do not matter, as no distribution has a share of their values.
    Equal services of a chain share their draws, as their rates are the same unknown numbers.
    """
    drawn: dict[tuple[str, object], Floats] = {}
    factors = []
    for link in chain:
        key = (link.service, link.matrix)
        if key not in drawn:
            drawn[key] = _drawn(link, draws, seed)
        factors.append(drawn[key])
    yield from _multiplied(factors[0], list(zip(chain, factors, strict=True))[1:])


def _multiplied(before: Floats, rest: list[tuple[Link, Floats]]) -> Iterator[Floats]:
    if not rest:
        yield before
        return
    link, rates = rest[0]
    for filled in _filled(rates, _unknown(link)):
        yield from _multiplied(before @ filled, rest[1:])


def multiplicable(chain: Sequence[Link]) -> bool:
    """Whether all rates are known, speak of the same values, and leave few enough rows unknown."""
    if not all(link.measured and link.values == chain[0].values for link in chain):
        return False
    unknown = sum(len(_unknown(link)) for link in chain[1:])
    return bool(len(chain[0].values) ** unknown <= VERTICES)


def _drawn(link: Link, draws: int, seed: int) -> Floats:
    counts = _counts(link)
    known = counts.sum(axis=1) > 0
    effect = np.ones(len(counts))
    given = np.array(link.deff, dtype=np.float64)
    if len(given) == len(counts):
        effect = given
    elif len(given) == int(known.sum()):
        effect[known] = given
    rng = stream(seed, "two-step", "composition", link.service, link.fingerprint)
    rates: Floats = posterior(counts, np.maximum(effect, 1.0), draws, rng)
    return rates
