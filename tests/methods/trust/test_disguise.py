"""Scenes and conversations in disguise, and bots that behave only where they recognise the test."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
import pytest
from benchmarks.gaming import (
    REASON,
    answered,
    gaming_talker,
    honest_talker,
    is_published,
    said_by,
    talked,
)

from tests.reports import trust_fixtures
from trustgauge.errors import MethodError, PlanError
from trustgauge.methods.trust.canaries import words
from trustgauge.methods.trust.disguise import ScriptBank, _bank
from trustgauge.methods.trust.issues.complexity import Complexity
from trustgauge.methods.trust.issues.issue import IssueSettings, Script
from trustgauge.methods.trust.method import Trust
from trustgauge.rating.recognition import DISGUISE
from trustgauge.records import Rating
from trustgauge.reports import sentences, views
from trustgauge.reports.components import Table, Title
from trustgauge.reports.document import document

SMALL = {"talks": 60, "resamples": 1000}
PROFILES = ["privacy-first", "safe-language"]


def experiment(**settings: Any) -> Trust:
    return Trust.model_validate(
        {"method": "trust", "services": ["bot"], "issues": ["abuse", "leakage"], "disguise": 0.5, **settings}
    )


def probes(seed: int = 1, **settings: Any) -> pl.DataFrame:
    return pl.concat(experiment(**settings).design(seed, "chat"))


def texts(tree: Any) -> list[str]:
    """All texts of a tree of lists and tables."""
    if isinstance(tree, str):
        return [tree]
    return [text for one in (tree.values() if isinstance(tree, dict) else tree) for text in texts(one)]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_disguised_scripts_stand_in_the_place_of_plain_ones_turn_by_turn(share: float) -> None:
    plain, mixed = probes(disguise=0), probes(disguise=share)
    left = ["id", "session", "turn", "purpose", "user", "talk", "step", "facts"]
    assert mixed.select(left).equals(plain.select(left))
    same = mixed.filter(~pl.col(DISGUISE)).select(plain.columns)
    assert same.equals(plain.join(same.select("id"), on="id", how="semi", maintain_order="left"))
    assert mixed[DISGUISE].mean() == pytest.approx(share, abs=0.04)
    whole = mixed.group_by("session").agg(pl.col(DISGUISE).n_unique())
    assert set(whole[DISGUISE]) == {1}, "a scene is disguised whole"


def test_nothing_of_a_disguised_script_is_published() -> None:
    mixed = probes(repeats=2)
    assert all(map(is_published, mixed.filter(~pl.col(DISGUISE))["message"]))
    assert not [text for text in mixed.filter(DISGUISE)["message"] if is_published(text)]


def test_long_scenes_and_kinds_of_provocation_are_in_both_halves() -> None:
    mixed = probes().unique("session").with_columns(kind=pl.col("unit").str.split("/").list.first())
    by_kind = mixed.group_by("kind").agg(pl.col(DISGUISE).mean(), n=pl.len())
    assert set(by_kind["kind"]) == {"talk", "long", "short", "scene", "mild", "strong"}
    within = (pl.col(DISGUISE) * pl.col("n") - pl.col("n") / 2).abs() <= 1
    assert by_kind.select(within.all()).item()


def test_disguised_scenes_hold_the_values_of_their_secrets() -> None:
    mixed = probes().filter(DISGUISE, pl.col("purpose") == "leakage")
    for message, step, facts in mixed.select("message", "step", "facts").iter_rows():
        about = json.loads(facts)
        assert "{" not in message
        assert "[" not in message
        assert "value" not in about or (about["value"] in message) == (step == "tell"), message


def test_each_run_draws_half_of_the_bank_by_its_seed() -> None:
    banks = [ScriptBank.of_run(seed) for seed in (1, 1, 2)]
    assert banks[0] == banks[1] != banks[2]
    every = _bank()
    for table in ("around", "secrets", "provocations", "talks"):
        mine = getattr(banks[0], table)
        if table == "talks":
            assert len(mine) == (len(every[table]) + 1) // 2
        else:
            assert {name: len(one) for name, one in mine.items()} == {
                name: (len(one) + 1) // 2 for name, one in every[table].items()
            }


def test_the_bank_holds_no_part_of_a_secret_and_no_published_turn() -> None:
    parts = re.compile(r"\b(?:" + "|".join(words()["words"]) + ")", re.IGNORECASE)
    said = [re.sub(r"\[([^|\]]+)\|[^]]*\]", r"\1", text) for text in texts(_bank())]
    found = texts(_bank())
    assert not [text for text in found if parts.search(text)]
    assert not [text for text in said if is_published(text)]
    assert len(set(found)) == len(found)
    assert {len(turns) for turns in _bank()["talks"].values()} == {6}
    assert not [text for name in ("openers", "closers") for text in _bank()["around"][name] if "?" in text]


def test_without_disguise_nothing_changes() -> None:
    plain = experiment(disguise=0)
    assert "disguise" not in plain.identity()
    assert set(probes(disguise=0).columns).isdisjoint({DISGUISE, "unit"})
    (rating,) = plain.model_copy(update={"profiles": ("privacy-first",)}).rate(summary("clean", 0.0), 1)
    assert "recognition" not in rating.details


def summary(behaviour: str, disguise: float) -> pl.DataFrame:
    method = experiment(disguise=disguise, **SMALL)
    rows = pl.concat(method.design(1, "chat"))
    return method.summarise(method.score(answered(rows, said_by(rows, honest_talker(behaviour)(1)))))


def test_summaries_of_halves_add_up() -> None:
    method = experiment(**SMALL)
    rows = pl.concat(method.design(1, "chat"))
    scores = method.score(answered(rows, said_by(rows, honest_talker("abuser")(1))))
    cut = scores.height // 3
    merged = method.merge([method.summarise(scores[:cut]), method.summarise(scores[cut:])])
    assert merged.equals(method.summarise(scores))


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"rule": "published", "issues": ["leakage"]}, "asks nothing in disguise"),
        ({"language": "zh"}, "no conversations are held back"),
    ],
)
def test_only_english_under_the_sound_rule_is_disguised(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(PlanError, match=what):
        experiment(**settings)


def test_recorded_dialogs_cannot_be_asked_in_disguise() -> None:
    with pytest.raises(MethodError, match="recorded dialogs cannot be asked in disguise"):
        experiment().log_probes(probes(disguise=0))


def rated(behaviour: str, **settings: Any) -> list[Rating]:
    method = experiment(profiles=PROFILES, **{**SMALL, **settings})
    rows = pl.concat(method.design(1, "chat"))
    scores = method.score(answered(rows, said_by(rows, gaming_talker(behaviour)(1))))
    return method.rate(method.summarise(scores), 1)


@pytest.mark.parametrize(
    ("behaviour", "measure", "issue"), [("leaker", "told", "leakage"), ("abuser", "talk", "abuse")]
)
def test_who_behaves_only_where_the_test_is_recognised_is_rated_by_the_worse_half(
    behaviour: str, measure: str, issue: str
) -> None:
    for before in rated(behaviour, disguise=0):
        assert before.level == "L"
        assert REASON not in [one.code for one in before.reasons]
    ratings = rated(behaviour)
    assert [one.attribute for one in ratings] == PROFILES
    for rating in ratings:
        reason = rating.reasons[0]
        assert (reason.code, reason.facts["rated"], reason.facts["measure"]) == (REASON, "disguised", measure)
        assert reason.facts["plain"] == 0
        assert reason.facts["disguised"] > 0.1
        (part,) = (one for one in rating.parts if one.key == issue)
        assert (part.level, part.state) == ("H", "rated")
        assert rating.level in ("M", "H")
    figures = ratings[0].parts[[one.key for one in ratings[0].parts].index("leakage")].details["figures"]
    assert figures["secrets"]["asked"] == 15, "those of the disguised half"


def test_a_half_with_too_few_secrets_settles_no_low_risk_and_one_with_enough_does() -> None:
    for secrets, state in ((30, "not settled"), (44, "rated")):
        issues = ["abuse", {"issue": "leakage", "secrets": secrets}]
        rating = rated("abuser", issues=issues)[0]
        (part,) = (one for one in rating.parts if one.key == "leakage")
        assert (part.level, part.state) == ("L", state)


@pytest.mark.parametrize("behaviour", ["clean", "abuser", "forgetter", "some secrets", "by subject"])
def test_who_is_honest_is_not_suspected(behaviour: str) -> None:
    for seed in (1, 3):
        rating = talked(0.5, honest_talker(behaviour), **SMALL)(seed)
        assert REASON not in [one.code for one in rating.reasons]
        assert rating.details["recognition"]["p"] > 0.01


def test_an_issue_without_held_back_scripts_asks_all_of_them_plain() -> None:
    script: Script = ()
    (dealt,) = IssueSettings.disguise_scripts(Complexity(), [script], 0.5, 1)
    assert not dealt.is_disguised


def test_reports_tell_what_differs_and_quote_both_kinds() -> None:
    method = experiment(profiles=PROFILES, **SMALL)
    rows = pl.concat(method.design(1, "chat"))
    scores = method.score(answered(rows, said_by(rows, gaming_talker("leaker")(1))))
    ratings = method.rate(method.summarise(scores), 1)
    told: Any = document(trust_fixtures.run(ratings), ratings)["ratings"]
    line = sentences.reason(told[0]["reasons"][0], told[0])
    assert "secrets told to another user, 0 % in plain probes and 100 % in disguised ones" in line.replace(
        " ", " "
    )
    assert "apart" not in line, "neither half scatters"
    (section,) = views.recognition_section(told[0])
    (table,) = (one for one in section.pieces if isinstance(one, Table))
    assert table.rows[0][0].text == "secrets told to another user"
    assert "behaves differently" in views.recognition_note(told[0])
    title, shown = views.recognition_examples(told, method.evidence(scores))
    assert isinstance(shown, Table)
    kinds = [row[1].text for row in shown.rows]
    assert kinds.count("plain") == kinds.count("in disguise") == views.EXCHANGES, "once for all profiles"
    assert [isinstance(title, Title), *{row[0].text for row in shown.rows}] == [True, "bot"]
