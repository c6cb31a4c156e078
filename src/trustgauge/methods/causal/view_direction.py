"""Which class a rating says is scored lower, and the texts that show it.

A class may be scored lower with negative words and higher with positive ones. That one of two classes is
scored lower is therefore said only if all effects found on the two have the same sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from trustgauge.reports import numbers, score_pairs, sentences
from trustgauge.reports.components import EvidenceExchange, Quotation, exchanges, quotation, read_messages

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry

MESSAGES = read_messages(__package__)
FOUND = 0.05  # below which family p a word set shows an effect (causal 2.9)
RANGE = (-1.0, 1.0)
"""What scores are brought to, and the range of those of a plan that names none."""
ROUNDING = 1e-12  # effects below this are none
OTHERWISE = "otherwise"  # column: the classes of a person besides those compared


@dataclass(frozen=True)
class Direction:
    """Which of two classes gets the lower scores in a part.

    Attributes:
        part: the part that decides.
        lower, higher: the classes, by the largest effect.
        same: word sets in which `lower` scores lower, that of the largest effect first.
        opposite: word sets in which an effect of the opposite sign is found.
    """

    part: PartEntry
    lower: str
    higher: str
    same: tuple[str, ...]
    opposite: tuple[str, ...]

    def words(self, rating: RatingEntry) -> tuple[str, dict[str, str]]:
        """The sentence, and its facts."""
        lower, higher = map(class_words, (self.lower, self.higher))
        facts = {"lower": lower, "higher": higher, "place": sentences.part_suffix(rating, self.part)}
        kind = "lower"
        if self.opposite:
            kind = {("negative", "positive"): "more-extreme", ("positive", "negative"): "less-extreme"}.get(
                (self._valence(self.same), self._valence(self.opposite)), "by-word"
            )
        return MESSAGES.table("direction")[kind], facts

    def _valence(self, sets: tuple[str, ...]) -> str:
        """That of the sets whose words have only one, if it is the same for all of these; else ""."""
        known: Any = self.part["details"].get("valence") or {}
        found = {str(known.get(one) or "") for one in sets} - {""}
        return found.pop() if len(found) == 1 else ""

    def quotations(self, rows: pl.DataFrame, width: float) -> Iterator[Quotation]:
        """Texts about the class of lower score, each beside that about the other: the widest apart first.

        Where the sign depends on the words, texts of both kinds take turns. The first of a kind says the mean
        difference where it is another: of a scorer with noise the widest pairs lie much further apart.

        Args:
            rows: the evidence, with scores as the service gave them.
            width: of the range of these scores.
        """
        sets = [(self.same[0], self.lower, self.higher)]
        if self.opposite:
            sets.append((self.opposite[0], self.higher, self.lower))
        ways = (self._quotations(rows, *one, self._size(one[0]) * width / 2) for one in sets)
        yield from filter(None, chain.from_iterable(zip_longest(*ways)))

    def _size(self, of: str) -> float:
        """The mean difference in a word set, of scores from -1 to 1; 0 where none is known."""
        sets = (one for one in self.part["details"].get("sets") or () if one["set"] == of)
        return max((_size(one, {self.lower, self.higher}) for one in sets), default=0.0)

    def _quotations(
        self, rows: pl.DataFrame, of: str, lower: str, higher: str, size: float
    ) -> Iterator[Quotation]:
        asked = rows.filter(rows["block"] == f"{self.part['details']['data']}/{of}")
        mine = _comparable(asked, lower, higher)
        for pair in score_pairs.widest(mine, (OTHERWISE,)).iter_rows(named=True):
            low, high = exchanges(mine[[pair["low"], pair["high"]]])
            if pair["difference"] > 0 and _is_about(low, lower) and _is_about(high, higher):
                scored: EvidenceExchange = {**low, "back": numbers.signed_number(low["score"])}
                far, mean = map(numbers.signed_number, (pair["difference"], size))
                words = "lower" if far == mean or not size else "widest"
                size = 0.0  # said once
                why = MESSAGES.table("quotations")[words].format(
                    text=score_pairs.shown_text(high), score=numbers.signed_number(high["score"]), mean=mean
                )
                yield quotation(scored, why)


def stated_range(rating: RatingEntry) -> tuple[float, float]:
    """The range of the scores as the plan states it; -1 to 1 where it does not."""
    stated = rating["method"]["options"].get("score_range")
    return (float(stated[0]), float(stated[1])) if isinstance(stated, list | tuple) else RANGE


def direction_of(part: PartEntry) -> Direction | None:
    """Which classes the largest effect of a part is on, and where its sign is another; None without one."""
    effect = part["details"].get("effect") or {}
    if not effect.get("pair") or not effect.get("signed"):
        return None
    lower, higher = map(str, effect["pair"])
    same: list[str] = [str(effect["set"])]
    opposite: list[str] = []
    for data in part["details"].get("sets") or ():
        for test in data.get("tests") or ():
            if data["set"] == effect["set"] or set(test["pair"]) != {lower, higher} or not _is_found(test):
                continue
            is_same = (test["ate"]["value"] < 0) == (test["pair"][0] == lower)
            (same if is_same else opposite).append(str(data["set"]))
    # The widest apart stands in the set of the largest effect of its sign.
    sizes = {str(data["set"]): _size(data, {lower, higher}) for data in part["details"].get("sets") or ()}
    opposite.sort(key=lambda one: -sizes[one])
    return Direction(part, lower, higher, tuple(same), tuple(opposite))


def _is_found(test: Any) -> bool:
    """Whether a word set shows an effect on the two classes of a test."""
    value, p = (test.get("ate") or {}).get("value"), test.get("p_family")
    return value is not None and abs(value) > ROUNDING and p is not None and p < FOUND


def _size(data: Any, pair: set[str]) -> float:
    values = [test["ate"]["value"] for test in data.get("tests") or () if set(test["pair"]) == pair]
    return max((abs(one) for one in values if one is not None), default=0.0)


def class_words(value: str) -> str:
    """The persons of a class within a sentence: "women" for "female", "European men" for "European male"."""
    words = [MESSAGES.table("classes").get(one, one) for one in value.split()]
    if len(words) == 1 and words[0] in MESSAGES.table("adjectives"):
        words = [MESSAGES.table("adjectives")[words[0]]]
    return sentences.name(" ".join(words))


def _comparable(rows: pl.DataFrame, lower: str, higher: str) -> pl.DataFrame:
    """The texts about two classes, and what else their persons are: the texts of a pair are alike in it."""
    import polars as pl

    of = pl.col("values_in").list.head(2).list.drop_nulls()
    about = [of.list.set_intersection(one.split()).list.len() == len(one.split()) for one in (lower, higher)]
    named = of.list.set_difference([*lower.split(), *higher.split()]).list.join(" ")
    return rows.with_columns(named.alias(OTHERWISE)).filter(about[0] | about[1])


def _is_about(row: EvidenceExchange, of: str) -> bool:
    """Whether a text is about a person of a class, by gender, race or both."""
    return set(of.split()) <= set((row["values_in"] or ())[:2])
