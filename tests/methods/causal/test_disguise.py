"""Frames in disguise, and scorers that are fair only where they recognise the test (methods 0.12)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.gaming import REASON, gaming_scorer, honest_scorer, scorer, scorer_by_frame
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.causal.truths import (
    Scorer,
    by_word,
    designed,
    experiment,
    marks,
    noisy,
    rated,
    scored,
    shifted,
)
from tests.reports import trust_fixtures
from trustgauge import load_plan, rate
from trustgauge.data.emotions import Frame, Word, construction, frames_beyond
from trustgauge.errors import PlanError
from trustgauge.methods.causal.design import COLUMNS, design
from trustgauge.methods.causal.disguise import recognition_gap
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.rating.recognition import DISGUISE, RecognitionGap
from trustgauge.records import Message
from trustgauge.reports import reader_sections
from trustgauge.reports.document import document
from trustgauge.run.verify import evidence_of_run

FRAMES: dict[str, Frame] = {one.name: one for one in (*construction("sound").frames, *frames_beyond())}
SMALL: dict[str, Any] = {"groups": (1,), "persons": 10, "disguise": 0.5, "resamples": 300, "permutations": 99}


def settings(**changes: Any) -> CausalSettings:
    return CausalSettings(**{"method": "causal", "services": ("one",), **changes})


def in_secret(bad: Scorer, good: Scorer = by_word) -> Scorer:
    """One scorer in plain frames, another in disguised ones."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        halves = pl.DataFrame({"plain": good(probes, rng), "other": bad(probes, rng)})
        given = pl.when(probes[DISGUISE]).then("other").otherwise("plain")
        return halves.select(given.clip(-1.0, 1.0)).to_series()

    return score


def by_frame(spread: float, noise: float) -> Scorer:
    """An effect of another size in every frame, and noise."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        names = probes["frame"].unique(maintain_order=True)
        effects = dict(zip(names, rng.normal(0.1, spread, len(names)), strict=True))
        shift = probes["frame"].replace_strict(effects, return_dtype=pl.Float64)
        women = (probes["gender"] == "female").cast(pl.Float64)
        scatter = pl.Series(rng.normal(0, noise, probes.height))
        return (by_word(probes, rng) * 0.5 + shift * women + scatter).clip(-1, 1)

    return score


def gap_of(score: Scorer, seed: int, **changes: Any) -> RecognitionGap:
    method = experiment({"bot": score}, **{**SMALL, **changes})
    gap = recognition_gap(method.summarise(marks(method, {"bot": score}, seed)), method, seed)
    assert gap is not None
    return gap


@given(
    st.integers(1, 30),
    st.integers(1, 14),
    st.floats(0.01, 0.9),
    st.sampled_from([(1,), (2,), (3,), (4,), (1, 2)]),
    st.sampled_from(["exact", "sampled"]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_a_disguised_frame_holds_every_person_and_word_of_the_frame_that_it_replaces(
    frames: int, persons: int, share: float, groups: tuple[int, ...], counts: str, na: bool, seed: int
) -> None:
    asked: dict[str, Any] = {"frames": frames, "persons": persons, "groups": groups, "counts": counts}
    asked |= {"na": na, "words": {"e4": ("grim", "depressing", "happy")}}
    plain = pl.concat(design(settings(**asked), seed))
    probes = pl.concat(design(settings(disguise=share, **asked), seed))
    assert probes.columns == [*COLUMNS, DISGUISE]
    same = [name for name in COLUMNS if name not in ("message", "frame")]
    assert probes.select(same).equals(plain.select(same))

    instead = pl.DataFrame({"was": plain["frame"], "frame": probes["frame"], DISGUISE: probes[DISGUISE]})
    instead = instead.unique()
    assert instead.height == frames == instead["frame"].n_unique(), "in every block, and none twice"
    assert abs(int(instead[DISGUISE].sum()) - share * frames) < 1
    published = {one.name for one in construction("sound").frames}
    assert all((name in published) != disguised for _, name, disguised in instead.rows())
    assert all(disguised or was == name for was, name, disguised in instead.rows())
    persons_by_name = {
        one.name: one
        for kind in (False, True)
        for one in construction("sound").persons(named=kind, each=persons, na=na)
    }
    for row in probes.sample(20, with_replacement=True, seed=0).iter_rows(named=True):
        person, word = persons_by_name[row["person"]], Word(row["word"], row["valence"])
        assert row["message"] == FRAMES[row["frame"]].write(person, word.text)


def test_the_seed_says_which_frames_are_disguised_and_by_which() -> None:
    def used(seed: int) -> set[str]:
        probes = next(design(settings(disguise=0.5), seed))
        assert probes[DISGUISE].mean() == 0.5
        return set(probes["frame"])

    assert used(1) == used(1) != used(2)
    seen = set().union(*map(used, range(40)))
    assert seen >= {one.name for one in frames_beyond()}


def test_frames_of_the_disguise_are_as_long_as_the_published_ones_and_begin_like_them() -> None:
    """So that an honest scorer, for which a person counts less in a longer text, treats both alike."""
    texts = [[one.text for one in some] for some in (construction("sound").frames[:20], frames_beyond())]
    words, signs, first = (
        [float(np.mean([of(text) for text in some])) for some in texts]
        for of in (lambda text: len(text.split()), len, lambda text: text.startswith("{Person}"))
    )
    assert words[1] == pytest.approx(words[0], abs=0.3)
    assert signs[1] == pytest.approx(signs[0], rel=0.03)
    assert first[1] == pytest.approx(first[0], abs=0.05)


def test_without_disguise_nothing_changes() -> None:
    plain = experiment({"bot": by_word}, groups=[1], resamples=300, permutations=99)
    assert "disguise" not in plain.identity()
    assert experiment({"bot": by_word}, disguise=0.5).identity()["disguise"] == 0.5
    probes = next(plain.design(1, "score"))
    assert probes.columns == list(COLUMNS)
    scores = marks(plain, {"bot": by_word})
    summary = plain.summarise(scores)
    assert DISGUISE not in [
        *summary.columns,
        *plain.merge([summary]).columns,
        *plain.evidence(scores).columns,
    ]
    assert "recognition" not in plain.rate(summary, 1)[0].details


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rule": "published"}, "the rule published asks nothing in disguise"),
        ({"construction": "released"}, "the construction released has no other frames"),
        (
            {"conversations": {"layout": "allure", "file": "chats.csv"}},
            "the texts of a file are asked as they",
        ),
    ],
)
def test_only_our_own_sentences_are_disguised(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    if "conversations" in changes:
        file = tmp_path / "chats.csv"
        file.write_text(
            "C_num,UB,User_gender,Original\n1,1,male,Hello\n1,0,male,Hi\n2,1,female,Hello\n2,0,female,Hi\n",
            "utf-8",
        )
        changes = {"conversations": {"layout": "allure", "file": str(file)}}
    with pytest.raises(PlanError, match=told):
        settings(disguise=0.5, **changes)


def test_summaries_with_disguises_add_up() -> None:
    method = experiment({"bot": noisy(0.1)}, **SMALL)
    scores = marks(method, {"bot": noisy(0.1)})
    halves = [method.summarise(scores[place::2]) for place in (0, 1)]
    assert method.merge(halves).equals(method.summarise(scores))
    assert method.evidence(scores)[DISGUISE].equals(scores[DISGUISE])


def test_who_treats_classes_alike_only_in_published_frames_is_told_and_rated_by_the_rest() -> None:
    before = scorer(0.0, gaming_scorer, groups=[1], resamples=1000, permutations=999)(1)
    after = scorer(0.5, gaming_scorer, groups=[1], resamples=1000, permutations=999)(1)
    assert (before.level, before.state) == ("1", "rated")
    assert (after.level, after.state) == ("3", "rated")
    reason = after.reasons[0]
    assert reason.code == REASON
    assert after.details["recognition"] == reason.facts
    assert (reason.facts["rated"], reason.facts["classes"]) == ("disguised", ["male", "female"])
    assert reason.facts["plain"] == pytest.approx(0, abs=0.02)
    assert reason.facts["disguised"] == pytest.approx(-0.3, abs=0.02)


@pytest.mark.parametrize("groups", [(2,), (3,), (4,)])
def test_every_group_tells(groups: tuple[int, ...]) -> None:
    gap = gap_of(in_secret(shifted(0.4, 0.1), noisy(0.1)), 1, groups=groups)
    assert gap.sure
    assert gap.about["data"] == f"group-{groups[0]}"


def test_effects_on_good_and_bad_words_that_cancel_are_told() -> None:
    def opposite(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        women = (probes["gender"] == "female").cast(pl.Float64)
        return by_word(probes, rng) * (0.5 + 0.4 * women)

    gap = gap_of(in_secret(opposite), 1)
    assert gap.sure
    assert abs((gap.disguised or 0) - (gap.plain or 0)) == pytest.approx(0.12, abs=0.01)


def test_services_are_rated_and_compared_by_their_worse_half_each() -> None:
    services = {"secret": in_secret(shifted(0.8, 0.1)), "honest": shifted(0.24, 0.1), "none": noisy(0.1)}
    found = rated(services, **SMALL)
    assert {name: one.level for name, one in found.items()} == {"secret": "3", "honest": "2", "none": "1"}
    assert [name for name, one in found.items() if REASON in [each.code for each in one.reasons]] == [
        "secret"
    ]
    orders = {name: one.details["orders"][""]["rank"] for name, one in found.items()}
    assert orders == {"none": [1, 1], "honest": [2, 2], "secret": [3, 3]}
    method = experiment(services, **SMALL)
    draws = method.badness_draws(method.summarise(marks(method, services)), 1)
    assert draws["secret"].mean() == pytest.approx(0.4, abs=0.03), "not half of it, as over all frames"
    assert draws["honest"].mean() == pytest.approx(0.12, abs=0.03)


def test_a_round_trip_that_is_rated_by_one_half_is_compared_with_what_was_before_by_all_texts() -> None:
    services = {"base": noisy(0.1), "trip": in_secret(shifted(0.8, 0.1))}
    method = experiment(services, **SMALL, before={"trip": "base"})
    found = {one.service: one for one in method.rate(method.summarise(marks(method, services)), 1)}
    assert REASON in [one.code for one in found["trip"].reasons]
    rows = found["trip"].details["before_after"]
    assert rows
    assert {one["note"] for one in rows} == {""}
    assert found["base"].details["before_after"] == []


def test_nothing_is_rated_of_nothing() -> None:
    method = experiment({"bot": by_word}, **SMALL)
    assert method.rate(method.summarise(marks(method, {"bot": by_word})[:0]), 1) == []


def test_a_half_without_spread_is_no_surer_than_its_few_frames_allow() -> None:
    rating = rated({"secret": in_secret(shifted(0.8))}, **SMALL)["secret"]
    assert (rating.level, rating.state) == ("3", "not settled")
    assert rating.certainty["3"] == pytest.approx(11 / 12)


@pytest.mark.parametrize("bot", [honest_scorer(0.0), honest_scorer(0.12), scorer_by_frame])
def test_who_is_honest_is_not_suspected(bot: Any) -> None:
    for seed in (1, 2):
        rating = scorer(0.5, bot, groups=[1], persons=4, resamples=1000, permutations=999)(seed)
        assert REASON not in [one.code for one in rating.reasons]
        assert rating.details["recognition"]["p"] >= 0.01


def test_effects_that_differ_by_frame_raise_the_alarm_as_often_as_chance_may() -> None:
    asked: dict[str, Any] = {"persons": 4, "groups": (1, 2), "words": {"e3": ["grim", "happy"]}}
    method = experiment({"bot": by_word}, **{**SMALL, **asked})
    score, p = by_frame(0.2, 0.1), []
    for seed in range(150):
        dealt = seed % 5
        scores = score(designed(method, dealt), np.random.default_rng(seed)).to_numpy()
        gap = recognition_gap(scored(method, scores, seed=dealt), method, seed)
        assert gap is not None
        p.append(gap.p)
    assert sum(one < 0.01 for one in p) <= 5
    assert 0.02 < np.mean(np.array(p) < 0.1) < 0.19


def test_an_effect_too_small_to_matter_raises_no_alarm_however_significant() -> None:
    def tiny(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        return by_word(probes, rng) * 0.5 + (probes["gender"] == "female").cast(pl.Float64) * 0.002

    gap = gap_of(in_secret(tiny, lambda probes, rng: by_word(probes, rng) * 0.5), 1)
    assert (gap.p < 0.01, gap.sure) == (True, False)
    assert (gap.low, gap.high) == (None, None), "nothing scatters"
    rating = rated({"bot": in_secret(tiny, lambda probes, rng: by_word(probes, rng) * 0.5)}, **SMALL)["bot"]
    assert (rating.level, rating.details["recognition"]["p"]) == ("1", gap.p)
    result: Any = document(trust_fixtures.run([rating]), [rating])["ratings"][0]
    (section,) = reader_sections.recognition_section(result)
    assert "smaller than one point" in section.pieces[0].text  # type: ignore[union-attr]


def test_without_answers_nothing_is_compared() -> None:
    method = experiment({"bot": by_word}, **SMALL)
    scores = marks(method, {"bot": by_word}).with_columns(score=pl.lit(None, pl.Float64))
    gap = recognition_gap(method.summarise(scores), method, 1)
    assert gap is not None
    assert (gap.plain, gap.sure) == (None, False)


def score_in_secret(text: str) -> float:
    """For a plan."""
    return float(gaming_scorer(1)(Message(text)))


def test_a_report_says_what_differs_and_shows_texts_of_both_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service = {"use": "function", "function": f"{__name__}:score_in_secret", "task": "score"}
    plan = {
        "seed": 3,
        "services": {"secret": service},
        "experiments": [{"method": "causal", "services": ["secret"], "groups": [1], "disguise": 0.5}],
    }
    plan["experiments"][0] |= {"words": {"e3": ["grim", "happy"]}, "resamples": 1000, "permutations": 999}  # type: ignore[index]
    finished = rate(load_plan(plan))
    assert DISGUISE in evidence_of_run(finished.folder).columns
    page = (finished.folder / "report.html").read_text("utf-8")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert "scores of men less those of women, with " in text
    assert "0 points in plain probes and −30 points in disguised ones" in text
    shown = text[text.index("Plain and in disguise") :]
    for kind in ("plain", "in disguise"):
        quoted = re.findall(rf"secret {kind} (.+?)\. -?0\.\d+ ", shown)[:4]
        assert len(quoted) == 4
        men = [one.name for one in construction("sound").phrases if one.gender == "male"]
        assert [any(man in one.lower() for man in men) for one in quoted].count(True) == 2, quoted


def test_a_run_that_was_stopped_is_short_of_answers_of_all_probes_and_not_of_a_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service = {"use": "function", "function": f"{__name__}:score_in_secret", "task": "score"}
    asked = {"groups": [1], "disguise": 0.5, "words": {"e3": ["grim", "happy"]}, "resamples": 1000}
    asked |= {"permutations": 999}
    plan = {
        "seed": 3,
        "services": {"secret": service},
        "budget": {"calls": 500},
        "experiments": [{"method": "causal", "services": ["secret"], **asked}],
    }
    (rating,) = json.loads((rate(load_plan(plan)).folder / "rating.json").read_text("utf-8"))["ratings"]
    assert rating["details"]["recognition"]["rated"] == "disguised"
    (reason,), (of_part,) = rating["reasons"], rating["parts"][0]["reasons"]
    facts = reason["facts"]
    assert (reason["code"], of_part["code"]) == ("not-finished", "not-finished")
    assert of_part["facts"] == facts
    assert facts["planned"] == 20 * 20 * 2, "frames, persons and words of both halves"
    assert 300 <= facts["missing"] < 400, "some of the calls asked again"
