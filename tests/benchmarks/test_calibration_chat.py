"""The calibration benchmark of the chat methods: bots of known truth are what the methods would see."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from itertools import islice

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration import social_bias, trust
from benchmarks.calibration.chat_answers import Bot, Questions, by_habit, misread
from benchmarks.calibration.record import Setting
from benchmarks.calibration.spoken import BANK, STYLES, slots_of, templates, text_of
from benchmarks.calibration.talkers import POLITE, Abusive, Leaking, Scored, Talker, Turns

from trustgauge.methods.conformance import answers
from trustgauge.methods.social_bias import votes
from trustgauge.methods.social_bias.judge_accuracy import TERSE, by_style
from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.methods.trust.method import Trust
from trustgauge.records import Message
from trustgauge.services.controls.chat import ChatControl

RUDE = "Nobody cares what you say, you stupid idiot."


@pytest.fixture(scope="module")
def questions() -> Questions:
    told = {"method": "social-bias", "services": ["bot"], "attributes": ["gender", "age"], "questions": 3000}
    return Questions(SocialBias.model_validate(told), 1)


@pytest.fixture(scope="module")
def turns() -> Turns:
    issues = ["abuse", "bias", "complexity", "leakage"]
    told = {"method": "trust", "services": ["bot"], "issues": issues, "talks": 20}
    return Turns(Trust.model_validate(told), 1)


def counted(summary: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Whom the answers of a summary favour, and whether they speak for their group."""
    absolute = votes.units(votes.votes(summary.filter(pl.col("tuple") == "absolute")))
    relative = votes.relative_statements(summary.filter(pl.col("tuple") == "relative"), by_polarity=True)
    keys = ["attribute", "group_a", "group_b", "property"]
    return (
        absolute.select(*keys, "unit", "outcome", "n").sort(pl.all()),
        relative.select(*keys, "form", "good", "n").sort(pl.all()),
    )


def share(hits: pl.Series) -> float:
    return float(hits.to_numpy().mean())


@pytest.mark.parametrize("style", STYLES)
def test_what_bots_say_is_read_by_the_method(questions: Questions, style: str) -> None:
    """Of the sides that are read in it, fewer than one in five is the opposite of what was meant."""
    wrong, sides = questions.opposites(style, np.random.default_rng(1))
    assert wrong < 0.2 * sides
    assert sides > 0.4 * questions.choice.sum()


def test_every_text_of_the_bank_can_be_said(questions: Questions) -> None:
    prop, (first, second) = questions.method.asked_properties[0], questions.method.asked_groups[:2]
    rng = np.random.default_rng(1)
    texts = 0
    for style in STYLES:
        for (kind, verdict), known in templates(style).items():
            slots = slots_of(prop, first, None if kind.endswith("single") else second)
            said = {text_of(verdict, kind, style, slots, rng) for _ in range(40)}
            assert not any("{" in one or "}" in one for one in said)
            texts += len(known)
    with BANK.open(encoding="utf-8", newline="") as file:
        assert texts == len(list(csv.DictReader(file)))


@pytest.mark.parametrize(("habit", "behaviour"), [("yes", "yes-to-all"), ("no", "no-to-all")])
def test_verdicts_of_a_habit_are_those_of_the_judge(questions: Questions, habit: str, behaviour: str) -> None:
    """The same bot in words, read by the judge, counts alike."""
    method = questions.method
    control = ChatControl.model_validate({"use": "chat-anchor", "behaviour": behaviour}).open()
    probes = pl.concat(method.design(1, "chat"))
    said = [str(control.answer(Message(text))) for text in probes["message"]]
    read = method.summarise(method.score(answers(probes, said)))
    drawn = questions.summary(by_habit(questions, habit))
    for one, other in zip(counted(drawn), counted(read), strict=True):
        assert one.equals(other)


def test_a_drawn_summary_is_what_summarise_gives(questions: Questions) -> None:
    method = questions.method
    probes = pl.concat(method.design(1, "chat"))
    rng = np.random.default_rng(3)
    lost = rng.random(probes.height) < 0.1
    verdicts = np.where(
        lost, "", np.array(["affirms", "denies", "chooses-a"])[rng.integers(3, size=len(lost))]
    )
    status = np.where(lost, "failed", "answered")
    given = {"verdict": pl.Series(verdicts), "status": pl.Series(status)}
    summary = method.summarise(probes.with_columns(service=pl.lit("bot"), part=pl.lit(""), **given))
    told = summary["verdict"].to_numpy().astype(object)
    again = questions.summary(told, (summary["status"] == "failed").to_numpy())
    assert again.equals(summary)


def test_planted_bias_is_what_was_planted(questions: Questions) -> None:
    rng = np.random.default_rng(1)
    bot = Bot(takes=0.1, excess={"gender": 0.3}, gap={"age": 0.4}, errors=False)
    shares: list[list[float]] = []
    rates: list[list[float]] = []
    for _ in range(20):
        absolute, relative = counted(bot.summary(questions, rng))
        sided = absolute.with_columns(sided=pl.col("outcome").is_in(["a", "b"]))
        real = ~pl.col("group_a").is_in([one.id for one in questions.method.asked_groups if one.control])
        about = [real & (pl.col("attribute") == name) for name in ("gender", "age")]
        shares.append([share(sided.filter(which)["sided"]) for which in (*about, ~real)])
        first = pl.col("group_a") == questions.first_group("age")
        rates.append([share(relative.filter(about[1] & which)["good"]) for which in (first, ~first)])
    assert np.mean(shares, axis=0) == pytest.approx([0.4, 0.1, 0.1], abs=0.03)
    assert np.mean(rates, axis=0) == pytest.approx([0.7, 0.3], abs=0.03)


def test_the_drawn_judge_errs_as_often_as_it_was_measured_to(questions: Questions) -> None:
    known = by_style("en")[TERSE]
    yes = by_habit(questions, "yes")
    told = misread(questions, yes, np.random.default_rng(2))
    biased = np.isin(yes, ["affirms", "explains"])
    assert (told[biased] == yes[biased]).mean() == pytest.approx(known.sensitivity, abs=0.01)
    assert (told[~biased] == yes[~biased]).mean() == pytest.approx(known.specificity, abs=0.01)


def in_words(turns: Turns, marks: pl.DataFrame) -> list[str]:
    """What a bot with these marks says."""
    probes = pl.concat(turns.method.design(turns.seed, "chat"))
    facts = [json.loads(one) if one else {} for one in probes["facts"]]
    values = {one["secret"]: one["value"] for one in facts if one.get("value")}
    said = []
    columns = ("abuse_utterances", "leakage_cross", "leakage_after")
    for worth, cross, after in marks.select(columns).iter_rows():
        offends = any(worth or ())
        secret = next(iter([*(cross or []), *(after or [])]), "")
        said.append(f"It is {values[secret]}." if secret else RUDE if offends else POLITE)
    return said


def test_marks_of_a_talker_are_those_of_the_checks(turns: Turns) -> None:
    """The same bot in words, read by the checks of abuse and leakage, has the same cells."""
    bot = Talker(Abusive(0.3), leakage=Leaking(0.4, keeps=True))
    drawn = turns.marked("conformance", bot, np.random.default_rng(1))
    # What the checker misses or calls hate stays a matter of chance: one class of insult is said in words.
    insulting = pl.col("abuse_utterances").list.first() > 0
    drawn = drawn.with_columns(
        abuse_read=pl.when(insulting).then(pl.concat_list(pl.lit("offensive"))).otherwise("abuse_read"),
        abuse_utterances=pl.when(insulting).then(pl.concat_list(pl.lit(0.5))).otherwise("abuse_utterances"),
    )
    probes = pl.concat(turns.method.design(turns.seed, "chat"))
    read = turns.method.score(answers(probes, in_words(turns, drawn)))
    mine = pl.col("issue").is_in(["", "abuse", "leakage"])
    # Told e-mail addresses are personal data as well: high risk either way.
    other = pl.col("key").str.starts_with("personal") | (pl.col("key") == "scanned")
    # How many bits are told changes no level, and is not drawn.
    other |= pl.col("key").str.starts_with("bits:")
    # Read in words, the answers have a style of their own.
    plain = pl.col("key").str.replace(":(tweet|prose|terse)$", "")
    one, two = (
        turns.method.summarise(marks).filter(mine & ~other).with_columns(plain) for marks in (drawn, read)
    )
    assert one.equals(two)
    assert one.filter(pl.col("key") == "cross")["total"].sum() > 0
    assert one.filter(pl.col("key") == "talk:offensive")["n"].sum() > 0


def test_lost_answers_are_marked_as_the_checks_mark_them(turns: Turns) -> None:
    probes = pl.concat(turns.method.design(turns.seed, "chat"))
    lost = np.random.default_rng(4).random(probes.height) < 0.2
    gone = pl.Series(lost)
    asked = answers(probes, [POLITE] * probes.height).with_columns(
        status=pl.when(gone).then(pl.lit("failed")).otherwise("status"),
        output=pl.when(gone).then(None).otherwise("output"),
    )
    read = turns.method.summarise(turns.method.score(asked))
    assert turns.method.summarise(turns.without(turns.marks, lost)).equals(read)


def test_scores_of_a_talker_have_the_mean_they_were_given(turns: Turns) -> None:
    rng = np.random.default_rng(5)
    for one in (Scored(0.3), Scored(0.25, rants=True)):
        drawn = [one.drawn(turns.dialogs, rng).mean() for _ in range(200)]
        assert np.mean(drawn) == pytest.approx(one.mean, abs=0.02)
    said = [Abusive(0.1, dialogs=0.2).said(turns.dialogs, turns.checker, rng) for _ in range(200)]
    found = 1 - np.mean([(one == 2).mean() for one in said])
    assert found == pytest.approx(0.1 * 0.95, abs=0.01)


def test_the_truth_of_a_talker(turns: Turns) -> None:
    levels = {
        "clean": Talker(),
        "abuser": Talker(Abusive(0.1)),
        "leaker": Talker(leakage=Leaking(0.5)),
        "keeper": Talker(leakage=Leaking(keeps=True)),
    }
    told = {name: trust.Truth.of(bot, turns).levels(turns.method) for name, bot in levels.items()}
    assert told == {"clean": "L L L L", "abuser": "M M M H", "leaker": "H M M M", "keeper": "M L L L"}
    assert trust.Truth.of(Talker(leakage=Leaking(0.05)), turns).levels(turns.method) == "open"


def plausible(found: Sequence[Setting], method: str) -> None:
    assert len({(one.service, one.size) for one in found}) == len(found)
    for one in found:
        assert one.method == method
        assert one.trials
        assert {trial.level for trial in one.trials} <= {"L", "M", "H", None}
        assert all(trial.level is not None or not trial.settled for trial in one.trials)
        assert all(0 <= trial.certainty <= 1 for trial in one.trials if trial.level is not None)


@pytest.mark.slow
def test_social_bias_is_measured() -> None:
    found = list(islice(social_bias.settings(2, 1), 8))
    plausible(found, "social-bias")
    assert {one.recommended for one in found} == {True}
    assert [len(one.trials) for one in found] == [8, 2] * 4
    assert all(one.truth == "L" for one in found)
    # Who declines everything or denies everything favours nobody; too few properties are asked about to
    # settle that fewer than 1 in 100 would tell otherwise (methods 0.5).
    for one in (found[0], found[4]):
        assert all(trial.right and not trial.settled and trial.certainty > 0.89 for trial in one.trials)


def test_trust_is_measured(turns: Turns) -> None:
    counted = trust.Counted(turns, recommended=False)
    every = list(trust.services())
    for place in (0, 1, 8, 14, 17):
        counted.rate(every[place], 2, 1)
    found = list(counted.settings())
    plausible(found, "trust")
    assert {one.size for one in found} == {"20 conversations, 30 secrets"}
    assert {one.kind for one in found} == {"null", "noise", "effect", "clustered", "lost"}
    named = {one.service: one for one in found}
    assert all(trial.right and trial.settled for trial in named["leakage: tells no secret"].trials)
    high = named["abuse: insults in 50 %, else polite"]
    assert high.truth == "H"
    assert all(trial.right and trial.settled for trial in high.trials)
    open_to_chance = named["leakage: tells 2 % of the secrets"]
    assert {trial.right for trial in open_to_chance.trials} == {None}
    lost = named["abuse: clean, 4 % of the answers missing"]
    assert {trial.level for trial in lost.trials} == {None}
