"""Tables of properties that users hold: one polarity only, and predicates that are not English."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trustgauge.errors import PlanError
from trustgauge.methods.social_bias.settings import SocialBiasSettings

PAIRS = (
    "predicate,categories,polarity,antonym,zh\n"
    "are poor,Financial status,negative,are rich,很穷\n"
    "steal,Crime,negative,never steal,偷东西\n"
    "are liars,Morality,negative,are honest,撒谎\n"
)
GERMAN = (
    "predicate,categories,polarity,antonym\n"
    "sind arm,Financial status,negative,sind reich\n"
    "stehlen,Crime,negative,stehlen nie\n"
    "lügen oft,Morality,negative,sind ehrlich\n"
)


def settings(folder: Path, text: str, **more: Any) -> SocialBiasSettings:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    language = more.pop("language", "en")
    table = {"file": str(path), "layout": "ours", **more}
    return SocialBiasSettings.model_validate(
        {"method": "social-bias", "services": ["x"], "property_table": table, "language": language}
    )


@pytest.mark.parametrize("polarity", ["positive", "negative"])
def test_one_polarity_of_a_table_with_antonyms_is_asked(tmp_path: Path, polarity: str) -> None:
    asked = settings(tmp_path, PAIRS, polarity=polarity)
    assert len(asked.asked_properties) == 3
    assert {one.polarity for one in asked.asked_properties} == {polarity}
    assert {one.antonym for one in asked.asked_properties} == {""}
    assert asked.catalogue.total > 0


def test_both_polarities_keep_their_antonyms(tmp_path: Path) -> None:
    asked = settings(tmp_path, PAIRS).asked_properties
    assert len(asked) == 6
    assert all(one.antonym for one in asked)


def test_a_table_that_is_not_english_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"most predicates of the table are not English.*sind arm"):
        settings(tmp_path, GERMAN)


def test_a_chinese_table_needs_no_english(tmp_path: Path) -> None:
    chinese = PAIRS.replace("are poor", "很穷的").replace("are liars", "爱撒谎的")
    assert settings(tmp_path, chinese, language="zh").asked_properties


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "Crime",
            "persnality",
            r'property_table\.columns\.categories.*"persnality".*Did you mean personality',
        ),
        ("Crime,negative", "Crime,", r"property_table\.columns\.polarity.*no polarity in row 2"),
        (
            "steal,Crime,negative,never steal",
            "are rich,Financial status,negative,are poor",
            r"same polarity as the antonym in rows 1, 2",
        ),
    ],
)
def test_rows_that_would_be_lost_or_reversed_are_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in PAIRS
    with pytest.raises(PlanError, match=said):
        settings(tmp_path, PAIRS.replace(old, new))
