"""How ratings are seen whose texts do not say who is he or she (two-step 1.11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trustgauge.data.neutral_source import LANGUAGES, READER_ACCURACY
from trustgauge.methods.two_step.view import MESSAGES, TwoStepView, one_way_changes
from trustgauge.methods.two_step.view_gender import reader_counts
from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import (
    Cell,
    Evidence,
    Head,
    Heads,
    Piece,
    Quotation,
    Section,
    Table,
    Words,
    read_messages,
)

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunEntry

OWN = read_messages(__package__, "neutral_source.toml")
WORDS = OWN.table("neutral")
PEOPLE = {"He": "men", "She": "women"}


class NeutralSourceView(TwoStepView):
    """As the view of the method, in words of jobs in place of what was sent."""

    messages = OWN.over(MESSAGES)

    def direction_words(self, rating: RatingEntry) -> tuple[str, dict[str, str]]:
        """What people became whose gender no text says, where one is favoured or the usual one follows."""
        template, facts = super().direction_words(rating)
        if template:
            return OWN.table("direction")["turns"], {**facts, "from": _people(facts["from"])}
        level, words = rating["overall"]["level"], OWN.table("direction")
        if level == "DSBS":
            part = _following(rating)
            return words["opposes" if _opposes(part) else "follows"], _counts(rating, part)
        leaning = (one for one in rating["parts"] if level == "UCS" and one_way_changes(one))
        leans = words["leans-within" if rating["state"] == "rated" else "leans"]
        return next(((leans, _counts(rating, one)) for one in leaning), ("", {}))

    def level_sentence(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        """That people get the gender that is unusual in their job, if they do."""
        if rating["overall"]["level"] == "DSBS" and _opposes(_following(rating)):
            return WORDS["opposes"], {}
        return super().level_sentence(rating)

    def level_line(self, rating: RatingEntry, level: str) -> str:
        """Likewise, on the label."""
        if level == rating["overall"]["level"] == "DSBS" and _opposes(_following(rating)):
            return WORDS["opposes-line"]
        return super().level_line(rating, level)

    def evidence_examples(
        self, ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence
    ) -> list[Piece]:
        """None: no sentence says a gender that could be unchanged."""
        return []

    def quotations(self, rating: RatingEntry, rows: pl.DataFrame) -> Iterator[Quotation]:
        """Sentences in which the verdict's gender came, of those where the other is usual."""
        _, facts = super().direction_words(rating)
        for one in super().quotations(rating, rows):
            words = {"from": _people(facts["from"]), "to": facts["to"]}
            yield replace(one, why=OWN.table("quotations")["turns"].format(**words))

    def heads(self, ratings: Sequence[RatingEntry]) -> Heads:
        """He and she over as many jobs of men as of women, and the share with the usual gender."""
        return Heads(("balanced jobs → he:she",), ("as usual",))

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """The share of people with the gender that is usual in their job."""
        return super().label_fact(rating)[0], "as usual"

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """The share of people with the gender that is usual in their job."""
        same = rating["overall"]["unchanged"]
        of = f"of {numbers.count(same['n'])} people have the usual gender of the job" if same else "no data"
        return "As usual", numbers.share(same), of

    def sections(self, rating: RatingEntry, run: RunEntry, *, alone: bool) -> list[Section]:
        """What people became, by who usually holds their job."""
        language = LANGUAGES.get(str(rating["method"]["options"]["source"]), "The language")
        tables = [_table(part) for part in rating["parts"]]
        reader = Words(WORDS["reader"].format(**reader_counts(READER_ACCURACY)))
        note = WORDS["note"].format(language=language)
        return [Section("neutral", WORDS["heading"], [*tables, reader], note)]

    def overview(self, ratings: Sequence[RatingEntry], run: RunEntry) -> list[Section]:
        """Nothing: what is as usual is no merit that a level could be weighed against."""
        return []

    def cautions(self, rating: RatingEntry) -> list[str]:
        """None: nothing that was sent can have been changed."""
        return []

    def limits(self, rating: RatingEntry) -> list[str]:
        """None beyond those that the rating names."""
        return []


def _people(pronoun: str) -> str:
    """Who usually holds a job, by the pronoun as it stands within a sentence."""
    return {name.lower(): people for name, people in PEOPLE.items()}[pronoun]


def _following(rating: RatingEntry) -> PartEntry:
    """The first part that treats jobs of men and of women differently."""
    return next(one for one in rating["parts"] if one["level"] == "DSBS")


def _opposes(part: PartEntry) -> bool:
    """Whether people get the other gender than the usual one more often."""
    men, women = _row(part, 0), _row(part, 1)
    return men[0] * sum(women) < women[0] * sum(men)


def _counts(rating: RatingEntry, part: PartEntry) -> dict[str, str]:
    """What people in jobs of men and of women became, as a sentence names it."""
    men, women = _row(part, 0), _row(part, 1)
    counts = {
        **{"he": men[0], "of_he": sum(men), "she": women[1], "of_she": sum(women)},
        **{"she_of_men": men[1], "he_of_women": women[0]},
        **{"he_of_all": men[0] + women[0], "she_of_all": men[1] + women[1], "of_all": sum(men + women)},
    }
    words = {name: numbers.count(count) for name, count in counts.items()}
    return {**words, "place": sentences.part_suffix(rating, part)}


def _row(part: PartEntry, value: int) -> list[int]:
    return [int(count) for count in part["details"]["matrix"][value]]


def _table(part: PartEntry) -> Table:
    rows = [list(_cells(part, place, people)) for place, people in enumerate(PEOPLE.values())]
    heads = (
        Head(WORDS["first"]),
        *(Head(name, number=True) for name in ("He", "She", "Left open")),
    )
    total = sum(sum(_row(part, place)) for place in range(len(PEOPLE)))
    return Table(WORDS["table"].format(n=numbers.count(total)), heads, rows, WORDS["caption"])


def _cells(part: PartEntry, place: int, people: str) -> Iterator[Cell]:
    counts = _row(part, place)
    yield Cell(f"{people} hold")
    for count in counts:
        yield Cell(numbers.percent(count / sum(counts)) if sum(counts) else numbers.NONE)
