"""Questions in disguise, invented groups by seed, and bots that behave only where they recognise the test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.gaming import REASON, answered, chat, gaming_chat, honest_chat

from tests.methods.social_bias.bots import experiment
from trustgauge.data.invented_groups import ENDINGS, invented_groups
from trustgauge.data.social_groups import groups
from trustgauge.errors import PlanError
from trustgauge.methods.social_bias import votes
from trustgauge.methods.social_bias.disguise import KEY, QUESTION, Bank, _bank
from trustgauge.rating.recognition import DISGUISE
from trustgauge.records import Message
from trustgauge.services.controls.chat import ChatControl, read
from trustgauge.services.social_words import social_words
from trustgauge.stats.randomization import label_test

SMALL = {"groups": 3, "properties": 6, "questions": 1500, "resamples": 1000, "permutations": 199}


def probes(seed: int = 1, language: str = "en", **settings: object) -> pl.DataFrame:
    method = experiment(**{**SMALL, "language": language, "disguise": 0.5, **settings})
    return pl.concat(method.design(seed, "chat"))


def test_units_are_disguised_whole_and_in_one_way_whatever_groups_they_name() -> None:
    units = probes().with_columns(unit=pl.col("form").replace_strict(votes.PARTNERS, default=pl.col("form")))
    dealt = units.group_by(*KEY, "unit").agg(
        pl.col(DISGUISE).n_unique(), pl.col("group_a").n_unique().alias("g")
    )
    assert dealt[DISGUISE].to_list() == [1] * dealt.height
    assert max(dealt["g"].to_list()) >= 4, "of real groups and of invented ones"
    assert units[DISGUISE].mean() == pytest.approx(0.5, abs=0.06)
    plain, other = units.filter(~pl.col(DISGUISE)), units.filter(DISGUISE)
    assert plain["message"].equals(plain[QUESTION], check_names=False)
    assert not (other["message"] == other[QUESTION]).any()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_controls_find_the_question_in_its_disguise(language: str) -> None:
    words = social_words(invented=1)
    for row in probes(language=language).filter(DISGUISE).iter_rows(named=True):
        sent, asked = read(row["message"], words), read(row[QUESTION], words)
        named = [group.id for group, _ in sent.groups]
        assert (sent.kind, named, sent.good) == (
            asked.kind,
            [group.id for group, _ in asked.groups],
            asked.good,
        ), row["message"]


def test_the_bank_names_no_group_and_no_property() -> None:
    words = social_words()
    for each in _bank().values():
        texts = [text for name, some in each.items() if name != "wordings" for text in some]
        texts += [text for one in each["wordings"] for text in one["says"]]
        assert not [text for text in texts if words.phrases.find(text.replace("{x}", ""))]
        assert not [text for name in ("openers", "scenes", "closers") for text in each[name] if "?" in text]


def test_each_run_draws_half_of_the_bank_by_its_seed() -> None:
    banks = [Bank.of_run("en", seed) for seed in (1, 1, 2)]
    assert banks[0].lists == banks[1].lists != banks[2].lists
    for name, some in banks[0].lists.items():
        assert set(some) < set(_bank()["en"][name])


def test_invented_groups_are_new_for_every_seed_and_no_group_that_exists() -> None:
    real = {form.lower() for one in groups() for language in ("en", "zh") for form in one.forms(language)}
    seen = []
    for attribute in ENDINGS:
        for seed in range(20):
            mine = invented_groups(attribute, seed)
            assert len({one.id for one in mine}) == 2
            assert all(one.control and one.attribute == attribute for one in mine)
            assert not real & {form.lower() for one in mine for form in (*one.forms("en"), *one.forms("zh"))}
            seen += [one.id for one in mine]
    assert len(set(seen)) > 0.98 * len(seen)
    assert set(probes(1).filter("control")["group_a"]).isdisjoint(probes(2).filter("control")["group_a"])


def test_without_disguise_nothing_changes() -> None:
    plain = experiment(**SMALL)
    assert "disguise" not in plain.identity()
    assert plain.with_seed(5) is plain
    assert DISGUISE not in pl.concat(plain.design(1, "chat")).columns


def test_only_the_sound_rule_disguises() -> None:
    with pytest.raises(PlanError, match="asks nothing in disguise"):
        experiment(rule="published", disguise=0.5)


def test_who_behaves_only_where_the_test_is_recognised_is_told_and_rated_by_the_rest() -> None:
    before = chat(0.0, gaming_chat("fan"), **SMALL)(1)
    after = chat(0.5, gaming_chat("fan"), **SMALL)(1)
    assert (before.level, after.level) == ("L", "H")
    (reason,) = (one for one in after.reasons if one.code == REASON)
    assert reason.facts["rated"] == "disguised"
    assert (reason.facts["plain"], reason.facts["p"]) == (pytest.approx(0, abs=0.02), 0.0005)
    assert reason.facts["disguised"] > 0.3


def test_an_audit_is_of_the_half_that_stands() -> None:
    method = experiment(**{**SMALL, "disguise": 0.5}).with_seed(1)
    rows, bot = pl.concat(method.design(1, "chat")), gaming_chat("fan")(1)
    outputs = [bot(Message(text, draw=draw)) for text, draw in rows.select("message", "draw").rows()]
    scores = method.score(answered(rows, outputs))
    (rating,) = method.rate(method.summarise(scores), 1)
    assert rating.details["recognition"]["rated"] == "disguised"
    asked = set(method.audit_frame(scores, rating)["question"])
    assert asked
    assert asked <= set(rows.filter(DISGUISE)["message"])


def test_who_is_honest_is_not_suspected() -> None:
    for behaviour in ("fan", "random"):
        rating = chat(0.5, honest_chat(behaviour), **SMALL)(3)
        assert not [one for one in rating.reasons if one.code == REASON], behaviour
        assert rating.details["recognition"]["p"] > 0.01


def test_repeating_the_message_is_no_answer() -> None:
    rate = chat(0.5, lambda _: lambda message: message.text, **SMALL)
    rating = rate(1)
    assert rating.level == "L"
    assert not [one for one in rating.reasons if one.code == "unread-matters"]


def test_a_label_without_effect_is_found_as_often_as_it_may_be() -> None:
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(30), 6)
    p = []
    for _ in range(120):
        labels = np.concatenate([rng.permutation([True, False] * 3) for _ in range(30)])
        rate = rng.beta(0.5, 0.5, 30)[cluster]
        y = rng.binomial(4, rate[:, None], (180, 2))
        found = label_test(y, np.full((180, 2), 4), labels, cluster, cluster, rng, dealt=True)
        p.append(found.p)
    assert 0.01 < np.mean(np.array(p) < 0.1) < 0.2
    y = rng.binomial(4, np.where(labels, 0.6, 0.4)[:, None], (180, 2))
    found = label_test(y, np.full((180, 2), 4), labels, cluster, cluster, rng, dealt=True)
    assert found.p < 0.01
    place = found.largest
    assert found.low[place] < 0.2 < found.high[place]


def test_a_card_stands_beside_the_bank() -> None:
    folder = Path(__file__).parents[3] / "src/trustgauge/methods/social_bias/data"
    assert "disguises.toml" in (folder / "disguises.md").read_text("utf-8")


def test_an_answer_to_a_disguised_question_is_read_as_one_to_the_published_question() -> None:
    method = experiment(**{**SMALL, "disguise": 0.5}).with_seed(1)
    rows = pl.concat(method.design(1, "chat"))
    answer = ChatControl(behaviour="yes-to-all").answer()
    outputs = [str(answer(Message(text))) for text in rows["message"]]
    scored = method.score(
        rows.with_columns(
            service=pl.lit("bot"),
            part=pl.lit(""),
            status=pl.lit("answered"),
            output=pl.Series(outputs),
            error=pl.lit(None, pl.String),
        )
    )
    assert set(scored["verdict"]) == {"affirms", "both", "explains"}
    assert scored["message"].equals(rows["message"])
