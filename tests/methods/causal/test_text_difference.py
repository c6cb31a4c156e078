"""Texts of a frame that differ in more than the person are no matched texts (causal 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
import pytest

from trustgauge.methods.causal.design import design
from trustgauge.methods.causal.sentences import SentenceSource
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.methods.causal.text_difference import TextDifference, text_difference

Row = tuple[str, str, str]
"""Person, gender, text."""


def difference(*rows: Row, frame: str = "one", race: str = "NA") -> TextDifference | None:
    schema = ("person", "gender", "text")
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return text_difference(
        table.with_columns(set=pl.lit("all"), frame=pl.lit(frame), word=pl.lit("happy"), race=pl.lit(race))
    )


def test_a_sentence_that_only_one_class_has_is_another_difference() -> None:
    found = difference(
        ("Tom", "male", "Tom felt happy."),
        ("Bob", "male", "Bob felt happy."),
        ("Ann", "female", "Ann felt happy. It was terrible."),
        ("Eve", "female", "Eve felt happy. It was terrible."),
    )
    assert found is not None
    assert (found.share, found.texts) == (1.0, 4)
    assert set(found.example) == {"Tom felt happy.", "Ann felt happy. It was terrible."}


def test_so_it_is_where_some_texts_of_a_class_have_it_or_one_class_more_often() -> None:
    long, short = "{} felt happy. It was terrible.", "{} felt happy."
    men = [(name, "male", short.format(name)) for name in ("Tom", "Bob", "Tim", "Jim")]
    women = [(name, "female", long.format(name)) for name in ("Ann", "Eve", "Sue")]
    some = difference(*men, *women, ("Ida", "female", short.format("Ida")))
    assert some is not None
    assert some.share == pytest.approx(0.75)
    both = difference(*men, ("Max", "male", long.format("Max")), *women, ("Ida", "female", "Ida felt happy."))
    assert both is not None
    assert both.share == pytest.approx(0.75 - 0.2)


@pytest.mark.parametrize("other", ["not happy", "felt very happy", "felt sad", "met Tom"])
def test_a_word_is_enough(other: str) -> None:
    assert difference(("Tom", "male", "Tom felt happy today."), ("Ann", "female", f"Ann {other} today."))


@pytest.mark.parametrize(
    ("male", "female"),
    [
        (
            ("Tom", "Tom told his wife that he saw himself."),
            ("Ann", "Ann told her husband that she saw herself."),
        ),
        (("he", "I made him feel happy."), ("her", "I made her feel happy.")),
        (("this man", "This man is an actor."), ("this woman", "This woman is an actress.")),
        (("Smith", "Mr. Smith's day"), ("Jones", "Jones' day")),
        (("my uncle", "We saw my uncle with a waiter"), ("my aunt", "We saw my aunt with a waitress")),
        (("Juan", "Juan está cansado, y el niño también"), ("Ana", "Ana está cansada, y la niña también")),
        (("Marc", "L'ami de Marc est content"), ("Anne", "L'amie d'Anne est contente")),
        (("Max", "Max sah ihn, den guten Freund"), ("Eva", "Eva sah sie, die gute Freundin")),
        (("a Black man", "We saw a Black man"), ("an Asian woman", "We saw an Asian woman")),
        (("TOM", "tom felt happy"), ("Ann Lee", "Ann Lee felt happy")),
        (("p1", "Tom felt happy"), ("p2", "Ann felt happy. It was terrible.")),  # nobody's name in the texts
    ],
)
def test_what_belongs_to_the_person_is_none(male: Sequence[str], female: Sequence[str]) -> None:
    rows = ((male[0], "male", male[1]), (female[0], "female", female[1]))
    assert difference(*rows) is None


def test_another_person_in_a_text_may_be_another_one() -> None:
    assert difference(("Tom", "male", "Tom met Ann."), ("Ann", "female", "Ann met Tom.")) is None


def test_people_without_a_class_are_not_compared() -> None:
    assert (
        difference(("they", "NA", "They felt happy, all of them."), ("Ann", "female", "Ann felt happy."))
        is None
    )


def test_one_text_in_a_hundred_makes_up_no_effect() -> None:
    def table(spoilt: int) -> Iterable[Row]:
        for place in range(100):
            yield f"tom{place}", "male", f"tom{place} felt happy."
            yield f"ann{place}", "female", f"ann{place} felt{' very' * (place < spoilt)} happy."

    assert difference(*table(1)) is None
    assert difference(*table(2)) is not None


@pytest.mark.parametrize("rule", ["sound", "published"])
@pytest.mark.parametrize("na", [False, True])
def test_our_own_texts_differ_in_the_person_only(rule: str, na: bool) -> None:
    settings = CausalSettings.model_validate({"method": "causal", "services": ["s"], "rule": rule, "na": na})
    columns = ("frame", "word", "person", "gender", "race")
    for probes in design(settings, 1):
        rows = probes.select(pl.col("block").alias("set"), *columns, pl.col("message").alias("text"))
        assert text_difference(rows) is None


def test_a_table_with_another_difference_is_no_design_under_our_rule_and_stays_one_as_published(
    tmp_path: Path,
) -> None:
    lines = ["text,frame,person,gender,room"]
    for day in range(12):
        lines += [f"On day {day} Tom felt well.,day {day},Tom,male,7"]
        lines += [f"On day {day} Ann felt well. It was terrible.,day {day},Ann,female,7"]
    file = tmp_path / "table.csv"
    file.write_text("\n".join(lines))
    columns = {name: name for name in ("text", "frame", "person", "gender")}

    def settings(rule: str, **more: object) -> CausalSettings:
        table = SentenceSource.model_validate({"file": file, "columns": columns, **more})
        return CausalSettings.model_validate(
            {"method": "causal", "services": ["s"], "rule": rule, "sentences": table}
        )

    assert [one.measure for one in settings("sound").measured] == ["observed"]
    (ours,) = design(settings("sound"), 1)
    assert ours["frame"].n_unique() == 24
    assert set(ours["cluster"]) == {"Tom", "Ann"}
    for rule in ("published", "released"):
        assert [one.measure for one in settings(rule).measured] == ["rejection"]
        (theirs,) = design(settings(rule), 1)
        assert theirs["frame"].n_unique() == 12
    # What differs may be adjusted for, as in a table without frames.
    assert [one.measure for one in settings("sound", adjust=["room"]).measured] == ["adjusted"]
