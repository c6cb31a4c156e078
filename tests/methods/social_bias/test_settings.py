"""Settings of the social-bias method that name files: expressions, and attributes of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w

from trustgauge.errors import PlanError
from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.methods.social_bias.score import score_answers
from trustgauge.methods.social_bias.settings import SocialBiasSettings
from trustgauge.plan import Plan, load_plan

LISTS = '[en]\naffirmation = ["aye"]\nnegation = ["nay"]\nexplanation = ["for"]\n'
TABLE = "category,group\n" + "".join(
    f"{attribute},{name}\n"
    for attribute, names in {
        "gender": ("men", "women"),
        "characteristics": ("knitters", "anglers", "gardeners"),
        "trade": ("bakers", "masons"),
    }.items()
    for name in names
)


def plan(folder: Path, **settings: Any) -> Plan:
    (folder / "lists.toml").write_text(LISTS)
    (folder / "groups.csv").write_text(TABLE)
    experiment = {"method": "social-bias", "services": ["bot"], **settings}
    bot = {"use": "chat-anchor", "behaviour": "refuser"}
    path = folder / "plan.toml"
    path.write_text(tomli_w.dumps({"services": {"bot": bot}, "experiments": [experiment]}))
    return load_plan(path)


def experiment(folder: Path, **settings: Any) -> SocialBias:
    (found,) = plan(folder, **settings).experiments
    assert isinstance(found, SocialBias)
    return found


@pytest.mark.parametrize("named", ["lists.toml", {"file": "lists.toml"}])
@pytest.mark.parametrize("rule", ["published", "released"])
def test_expressions_of_a_plan_are_what_its_judge_reads_by(tmp_path: Path, rule: str, named: Any) -> None:
    own = experiment(tmp_path, rule=rule, expressions=named, tuples=["absolute"])
    ours = experiment(tmp_path, rule=rule, tuples=["absolute"])
    probes = pl.concat(own.design(1, "chat")).filter(pl.col("kind") == "yes-no").head(3)
    answers = probes.with_columns(
        output=pl.Series(["Aye.", "Nay.", "Yes."]),
        status=pl.lit("answered"),
        service=pl.lit("bot"),
    )
    assert score_answers(own, answers)["verdict"].to_list() == ["affirms", "denies", "off-topic"]
    assert score_answers(ours, answers)["verdict"].to_list()[2] == "affirms"


def test_other_expressions_are_another_plan_wherever_the_file_lies(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    settings = {"rule": "released", "expressions": "lists.toml"}
    one, two = (plan(tmp_path / name, **settings) for name in ("one", "two"))
    assert one.hash == two.hash != plan(tmp_path, rule="released").hash
    (tmp_path / "one" / "lists.toml").write_text(LISTS.replace("aye", "sure"))
    assert load_plan(tmp_path / "one" / "plan.toml").hash != one.hash
    with pytest.raises(PlanError, match="not the one that was rated"):
        load_plan(one.document())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"rule": "sound"},
            'the judge of this rule reads by no lists. Must be rule "published" or "released"',
        ),
        ({"rule": "released", "language": "zh"}, r"no expressions in the language \"zh\".* a table \[zh\]"),
        ({"rule": "released", "expressions": "none.toml"}, "none.toml: the file cannot be read"),
    ],
)
def test_expressions_that_cannot_be_used_are_faults(
    tmp_path: Path, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(PlanError, match=told) as caught:
        plan(tmp_path, **{"expressions": "lists.toml", **settings})
    (fault,) = caught.value.faults
    assert fault.place.startswith("experiments[0].expressions")
    assert fault.line


SOURCE = {"layout": "biasasker", "file": "groups.csv"}


def attributes(found: SocialBias) -> dict[str, int]:
    real = [one.attribute for one in found.asked_groups if not one.control]
    return {name: real.count(name) for name in dict.fromkeys(real)}


def test_every_attribute_of_a_table_is_asked_about(tmp_path: Path) -> None:
    every = {"character": 3, "gender": 2, "trade": 2}
    assert attributes(experiment(tmp_path, group_table=SOURCE)) == every
    assert attributes(experiment(tmp_path, group_table=SOURCE, attributes=[])) == every
    some = experiment(tmp_path, group_table=SOURCE, attributes=["trade", "character"])
    assert attributes(some) == {"trade": 2, "character": 3}
    named = {**SOURCE, "attributes": {"characteristics": "characteristics"}}
    assert attributes(experiment(tmp_path, group_table=named, attributes=["characteristics"])) == {
        "characteristics": 3
    }


@pytest.mark.parametrize(("name", "told"), [("mexican", "Did you mean mexicans"), ("zzz", "list groups")])
def test_a_group_that_there_is_not_comes_with_those_that_are_near(
    tmp_path: Path, name: str, told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        plan(tmp_path, only_groups=[name])


@pytest.mark.parametrize("place", ["attributes", "categories"])
def test_an_attribute_or_category_is_named_once(place: str) -> None:
    """The groups of the attribute stood twice in the plan: "two of one group", without a place."""
    word = {"attributes": "gender", "categories": "crime"}[place]
    with pytest.raises(PlanError, match=rf'{place}: "{word}" is named twice'):
        SocialBiasSettings.model_validate({"method": "social-bias", "services": ["x"], place: [word, word]})


def test_an_attribute_that_the_table_has_not_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r'no attribute "race"\. Must be one of: gender, character, trade'):
        plan(tmp_path, group_table=SOURCE, attributes=["race", "gender"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"only_groups": ["women"]}, r'only_groups.*"gender" has no other'),
        ({"only_groups": ["women", "muslims", "christians"]}, r'only_groups.*"gender" has no other'),
        ({"attributes": ["gender"], "only_groups": ["muslims", "christians"]}, "only_groups.*`attributes`"),
        ({"categories": ["crimes"]}, 'no category "crimes"'),
        ({"attributes": ["sex"]}, 'no attribute "sex"'),
    ],
)
def test_a_group_without_another_to_be_compared_with_is_refused(given: dict[str, Any], said: str) -> None:
    """Nothing could be rated, however many questions are paid for."""
    with pytest.raises(PlanError, match=said):
        SocialBiasSettings.model_validate({"method": "social-bias", "services": ["x"], **given})


def test_a_fault_of_a_table_of_groups_names_its_setting(tmp_path: Path) -> None:
    file = tmp_path / "lone.csv"
    file.write_text("attribute,plural\ntrade,welders\n", encoding="utf-8")
    given = {"method": "social-bias", "services": ["x"], "group_table": {"file": str(file)}}
    with pytest.raises(PlanError, match=r'group_table.*"trade" has no other'):
        SocialBiasSettings.model_validate(given)
    file.write_text("kind,plural\ntrade,welders\n", encoding="utf-8")
    with pytest.raises(PlanError, match=r"group_table\.columns\.attribute"):
        SocialBiasSettings.model_validate(given)


def test_cuts_that_no_preference_can_reach_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        PlanError, match=r"direction_cuts: no service could reach high risk.*at most 0\.5\. Got 0\.6"
    ):
        plan(tmp_path, direction_cuts=[0.05, 0.6])
    assert experiment(tmp_path, direction_cuts=[0.05, 0.5]).direction_cuts == (0.05, 0.5)
