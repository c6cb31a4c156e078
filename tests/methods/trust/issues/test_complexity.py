"""Conversation complexity: utterance, turn, dialog and corpus, by hand and in shards (trust 4.1)."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.methods.trust.issues.turns import assessed, cells, marked, turns
from trustgauge.apps.reproduce import paper_tables
from trustgauge.data.dialogs import DialogSource
from trustgauge.methods.trust.issues import complexity
from trustgauge.methods.trust.issues.complexity import MARKS, USUAL_TURNS, Complexity, dialog_complexity
from trustgauge.methods.trust.issues.issue import Issue
from trustgauge.methods.trust.resampling import Resampling

BESIDE = Path(__file__).resolve().parents[5] / "shared" / "data" / "service_dialogues" / "test"
HARD, EASY = "Quantum chromodynamics", "Yes, this is it"
WORDS = {"the": 0.0, "hotel": 0.5, "kernel": 1.0}


def score(issue: Complexity, *bot: str) -> Any:
    return issue.marks(turns({"a": [bot]}), "sound")["complexity_score"].item()


def test_doctests() -> None:
    assert doctest.testmod(complexity).failed == 0


LEGAL = (
    "Indemnification obligations hereunder supersede antecedent covenants, warranties and representations. "
    "Subrogation entitlements terminate upon forfeiture; statutes preempt contractual stipulations."
)
"""English of which hardly a word is in common use."""
FRENCH_LAW = (
    "Conformément aux dispositions applicables, la résiliation immédiate du contrat entraîne l'indemnisation "
    "intégrale du preneur. Les prestations complémentaires restent confidentielles."
)
GERMAN_LAW = (
    "Vertragsstrafen werden bei schuldhafter Pflichtverletzung fällig. Der Auftraggeber haftet "
    "gesamtschuldnerisch für sämtliche Verbindlichkeiten, sofern keine andere Vereinbarung getroffen wurde."
)


class TestUtterances:
    def test_the_mean_weight_of_the_terms(self) -> None:
        # the, is, in: stop words; kernel, panic: domain-specific; hotel: common
        assert score(Complexity(), "The kernel panic is in the hotel") == pytest.approx(2.5 / 7)
        assert score(Complexity(weights=(0.6, 0.2, 0.1)), "The kernel hotel") == pytest.approx(0.3)

    def test_a_turn_is_the_mean_of_its_utterances_not_of_its_terms(self) -> None:
        assert score(Complexity(), HARD, "the the the the hotel") == pytest.approx((1 + 0.1) / 2)

    def test_utterances_without_terms_are_left_out(self) -> None:
        marks = Complexity().marks(turns({"a": [(HARD, "12:30", "!"), ("42",), ()]}), "sound")
        assert marks["complexity_score"].to_list() == [1.0, None, None]
        assert marks["complexity_utterances"].to_list() == [[1.0, None, None], [None], []]
        assert marks["complexity_terms"].to_list() == [2, 0, 0]
        assert marks["complexity_known"].to_list() == [0, 0, 0]

    def test_the_user_is_told_apart_and_never_counted(self) -> None:
        rows = turns({"a": [(EASY,), (EASY,)], "b": [(EASY,), (EASY,)]})
        loud = rows.with_columns(said=pl.lit([HARD], dtype=pl.List(pl.String)))
        assert Complexity().marks(loud, "sound")["complexity_user"].to_list() == [1.0] * 4
        assert Complexity().marks(rows, "sound")["complexity_user"].to_list() == [0.25] * 4
        assert assessed(Complexity(), rows).score == assessed(Complexity(), loud).score

    def test_scripts_of_other_issues_are_none_of_its_business(self) -> None:
        rows = pl.concat(
            [turns({"x": [(HARD,)]}, purpose="leakage"), turns({"a": [(EASY,)], "b": [(EASY,)]})]
        )
        marks = Complexity().marks(rows, "sound")
        assert marks.schema == pl.Schema(MARKS)
        assert marks.row(0) == (None,) * len(MARKS)
        found = assessed(Complexity(), rows)
        assert found.score.n == 2
        assert found.details["turns"] == 2

    def test_no_rows(self) -> None:
        assert Complexity().marks(turns({}), "sound").schema == pl.Schema(MARKS)
        found = assessed(Complexity(), turns({}))
        assert (found.state, found.level, found.score.value) == ("not tested", None, None)

    def test_the_order_of_utterances_is_kept(self) -> None:
        rows = turns({"a": [(EASY, HARD)], "b": [(HARD, EASY)]})
        found = Complexity().marks(rows, "sound")["complexity_utterances"].to_list()
        assert found == [[0.0, 1.0], [1.0, 0.0]]


class TestDialogs:
    def test_half_its_turns_and_half_its_length(self) -> None:
        # a: turns 1 and 0, as long as the longest; b: one turn of 1, half as long.
        dialogs = turns({"a": [(HARD,), (EASY,)], "b": [(HARD,)]})
        found = assessed(Complexity(), dialogs, "published")
        assert found.score.value == pytest.approx(((0.5 + 1) / 2 + (1 + 0.5) / 2) / 2)
        assert found.score.n == 2
        assert found.details == {
            "dialogs": 2,
            "turns": 3,
            "turn_complexity": pytest.approx(0.75),
            "length": pytest.approx(0.75),
            "most_turns": 2,
            "most_turns_from": "corpus",
            "clusters": 2,
        }
        assert (found.state, found.level) == ("rated", "H")

    def test_a_silent_turn_counts_in_the_length_only(self) -> None:
        found = assessed(Complexity(max_turns=4), turns({"a": [(HARD,), ()], "b": [(HARD,), ("!",)]}))
        assert found.score.value == pytest.approx((1 + 2 / 4) / 2)

    def test_a_lost_answer_is_no_turn(self) -> None:
        rows = turns({"a": [(EASY,)] * 4, "b": [(EASY,)] * 4})
        late = (pl.col("session") == "b") & (pl.col("turn") > 0)
        lost = (
            pl.when(late & (pl.col("turn") > 1)).then(pl.lit("failed")).when(late).then(pl.lit("unreadable"))
        )
        gone = pl.col("status") != "answered"
        rows = rows.with_columns(status=lost.otherwise("status")).with_columns(
            utterances=pl.when(gone).then(pl.lit([], dtype=pl.List(pl.String))).otherwise("utterances")
        )
        found = assessed(Complexity(max_turns=4), rows)
        assert found.details["turns"] == 5
        assert found.score.value == pytest.approx((0.5 + 0.125) / 2)

    def test_a_dialog_without_a_defined_turn_is_left_out(self) -> None:
        dialogs = turns({"a": [(EASY,)], "b": [(EASY,)], "c": [("42",), ("!",)]})
        found = assessed(Complexity(), dialogs, "published")
        assert found.score.n == 2
        assert found.score.value == pytest.approx((0 + 1 / 2) / 2)  # the longest is c all the same

    def test_longer_than_the_longest_counts_one(self) -> None:
        found = assessed(Complexity(max_turns=1), turns({"a": [(EASY,)] * 3, "b": [(EASY,)]}))
        assert found.score.value == pytest.approx(0.5)
        assert found.details["most_turns_from"] == "plan"

    def test_other_dialogs_do_not_change_what_a_dialog_is_worth(self) -> None:
        short = {f"d{number}": [(EASY,)] for number in range(40)}
        alone = assessed(Complexity(), turns(short))
        beside = assessed(Complexity(), turns({**short, "long": [(EASY,)] * 30}))
        live = assessed(Complexity(), turns(short, only=""))
        assert alone.score.value == pytest.approx(1 / USUAL_TURNS / 2) == live.score.value
        assert beside.score.value == pytest.approx((40 / USUAL_TURNS / 2 + 0.5) / 41)
        assert alone.details["most_turns_from"] == live.details["most_turns_from"] == "usual"

    def test_where_the_longest_dialog_is_the_measure_resamples_may_miss_it(self) -> None:
        """One long dialog among short ones halves their score, and a third of the resamples lack it."""
        short = {f"d{number}": [(EASY,)] for number in range(40)}
        found = assessed(Complexity(), turns({**short, "long": [(EASY,)] * 30}), "published")
        assert found.score.value == pytest.approx((40 / 60 + 0.5) / 41)
        assert found.score.low is not None
        assert found.score.high is not None
        assert found.score.low < 0.05 < 0.49 < found.score.high
        assert found.levels is not None
        assert (found.levels == 1).mean() == pytest.approx(1 / np.e, abs=0.05)

    def test_a_live_bot_is_not_measured_by_the_length_of_our_scripts(self) -> None:
        rows = turns({"a": [(EASY,)] * 3, "b": [(EASY,)] * 3}, only="")
        for one in (rows, rows.drop("only")):
            found = assessed(Complexity(), one)
            assert found.details["most_turns_from"] == "usual"
            assert found.score.value == pytest.approx(3 / USUAL_TURNS / 2)

    def test_one_dialog_has_a_score_and_no_level(self) -> None:
        found = assessed(Complexity(max_turns=1), turns({"a": [(HARD,)]}))
        assert (found.state, found.level, found.score.value, found.score.n) == ("incomplete", None, 1.0, 1)

    def test_lists_of_another_language_do_not_apply(self) -> None:
        spanish = "Quisiera reservar una habitacion doble para dos personas en el centro de la ciudad"
        found = assessed(Complexity(), turns({name: [(spanish,)] * 3 for name in "ab"}))
        assert (found.state, found.level, found.score.value) == ("not applicable", None, None)
        assert [reason.code for reason in found.reasons] == ["trust.language-unknown"]
        english = "I would like to book a double room for two people in the center of the city"
        assert assessed(Complexity(), turns({name: [(english,)] * 3 for name in "ab"})).state == "rated"

    def test_dense_legal_prose_is_english_and_has_a_level(self) -> None:
        found = assessed(Complexity(max_turns=1), turns({name: [(LEGAL,)] * 3 for name in "ab"}))
        assert (found.state, found.level) == ("rated", "H")
        assert found.score.value is not None
        assert found.score.value > 0.9

    @pytest.mark.parametrize("text", [FRENCH_LAW, GERMAN_LAW])
    def test_legal_prose_of_another_language_is_not_english(self, text: str) -> None:
        found = assessed(Complexity(), turns({name: [(text,)] * 3 for name in "ab"}))
        assert found.state == "not applicable"

    def test_answers_in_another_language_are_not_demanding_because_the_lists_lack_their_words(self) -> None:
        """A polite bot that answered some users in plain German was settled Medium, above legal English."""
        rows = [[("Please come to the desk by the door.",)] * 3 for _ in range(10)]
        german = [[("Kommen Sie bitte an die Anmeldung neben der Tür und bringen Sie Ihre Karte mit.",)] * 3]
        plain = assessed(Complexity(), turns(dict(zip("abcdefghij", rows, strict=True))))
        some = assessed(Complexity(), turns(dict(zip("abcdefghij", rows[:9] + german, strict=True))))
        assert some.score.value == pytest.approx(plain.score.value)
        assert (some.level, [one.code for one in some.reasons]) == ("L", ["unread-does-not-matter"])
        most = assessed(Complexity(), turns(dict(zip("abcdefghij", rows[:4] + german * 6, strict=True))))
        assert (most.state, most.level) == ("incomplete", None)
        assert most.reasons[-1].facts == {"unread": 18, "utterances": 30}

    def test_code_is_no_language(self) -> None:
        code = "```python\ndef remind(minutes):\n    time.sleep(minutes * 60)\n```"
        assert score(Complexity(), f"Wait here.\n{code}\n") == score(Complexity(), "Wait here.")
        assert score(Complexity(), code.removesuffix("```")) is None

    def test_an_own_list_makes_another_language_known(self, tmp_path: Path) -> None:
        (tmp_path / "stop.txt").write_text("quisiera\nuna\npara\nen\nel\nde\nla\n")
        issue = Complexity.model_validate({"terms": {"stop": "stop.txt"}}, context={"folder": tmp_path})
        spanish = "Quisiera reservar una habitacion doble para dos personas en el centro de la ciudad"
        assert assessed(issue, turns({name: [(spanish,)] * 3 for name in "ab"})).state == "rated"


DIALOGS = st.dictionaries(
    st.sampled_from("abcdef"),
    st.lists(
        st.lists(st.lists(st.sampled_from([*WORDS, "42"]), max_size=4).map(" ".join), max_size=3),
        min_size=1,
        max_size=5,
    ),
    min_size=1,
)


class TestProperties:
    @given(DIALOGS, st.randoms(use_true_random=False), st.integers(1, 4))
    def test_the_same_as_by_hand_in_any_order_and_shards(self, dialogs: Any, rng: Any, shards: int) -> None:
        issue = Complexity()
        rows = marked(issue, turns(dialogs))
        order = list(range(len(rows)))
        rng.shuffle(order)
        split = [rows[order[one::shards]] for one in range(shards)]
        merged = cells(issue, split)
        whole = cells(issue, [rows])
        assert merged.drop("total").equals(whole.drop("total"))
        assert merged["total"].to_list() == pytest.approx(whole["total"].to_list())
        found = issue.assess(merged, "published", Resampling(1, 1000))
        expected = by_hand(dialogs)
        if expected is None:
            assert found.state == "not tested"
        else:
            assert found.score.value == pytest.approx(expected)
            assert found.score.value is not None
            assert 0 <= found.score.value <= 1
        if found.draws is not None:
            assert found.draws.shape == (1000,)
            assert ((found.draws >= 0) & (found.draws <= 1)).all()

    @given(DIALOGS)
    def test_heavier_terms_never_lower_the_score(self, dialogs: Any) -> None:
        light = assessed(Complexity(max_turns=5, weights=(0.8, 0.4, 0.0)), turns(dialogs)).score.value
        heavy = assessed(Complexity(max_turns=5, weights=(1.0, 0.4, 0.1)), turns(dialogs)).score.value
        assert (light is None) == (heavy is None)
        assert light is None or heavy is None or light <= heavy + 1e-12


def by_hand(dialogs: dict[str, list[list[str]]]) -> float | None:
    """Trust 4.1, word by word, with loops."""
    longest = max(len(each) for each in dialogs.values())
    scores = []
    for each in dialogs.values():
        turn_scores = []
        for said in each:
            found = [[WORDS[word] for word in text.split() if word in WORDS] for text in said]
            means = [sum(one) / len(one) for one in found if one]
            if means:
                turn_scores.append(sum(means) / len(means))
        if turn_scores:
            scores.append((sum(turn_scores) / len(turn_scores) + len(each) / longest) / 2)
    return sum(scores) / len(scores) if scores else None


class TestSettings:
    def test_it_is_an_issue(self) -> None:
        assert isinstance(Complexity(), Issue)
        assert Complexity().cuts_under("sound") == Complexity().cuts_under("published") == (0.33, 0.67)

    def test_weights_have_bounds(self) -> None:
        with pytest.raises(ValidationError, match="less than or equal to 1"):
            Complexity(weights=(1.5, 0.5, 0))

    def test_the_identity_holds_no_path(self, tmp_path: Path) -> None:
        (tmp_path / "domain.txt").write_text("kernel\n")
        issue = Complexity.model_validate({"terms": {"domain": tmp_path / "domain.txt"}})
        assert str(tmp_path) not in json.dumps(issue.identity())
        assert issue.identity() != Complexity().identity()

    def test_questions_are_about_the_domain(self, tmp_path: Path) -> None:
        (tmp_path / "domain.txt").write_text("kernel\nfirewall\n")
        issue = Complexity.model_validate({"terms": {"domain": tmp_path / "domain.txt"}})
        asked = issue.generate(12, 3)
        assert len(asked) == 12
        assert all("kernel" in one or "firewall" in one for one in asked)
        assert asked == issue.generate(12, 3) != issue.generate(12, 4)
        assert all("{" not in one for one in Complexity().generate(30, 1))
        assert Complexity().generate(0, 1) == ()

    def test_questions_about_a_single_term(self, tmp_path: Path) -> None:
        (tmp_path / "domain.txt").write_text("kernel\n")
        issue = Complexity.model_validate({"terms": {"domain": tmp_path / "domain.txt"}})
        assert all("kernel" in one for one in issue.generate(6, 1))


class TestPaper:
    def test_the_printed_rows_have_the_form_of_the_dialog(self) -> None:
        figures = paper_tables.figures("chatbot_trust")
        lengths = figures["derived"]["dialog_complexity_turn_term"]
        assert len(lengths) == 4
        for corpus, row in figures["table_II"].items():
            length = 2 * (row["CC"] - row["C_turn"] / 2)
            assert length == pytest.approx(lengths[corpus], abs=5e-4)
            assert 0 < length < 1
            assert dialog_complexity(row["C_turn"], 1000 * lengths[corpus], 1000) == pytest.approx(
                row["CC"], abs=5e-4
            )

    def test_questions_and_answers_are_as_long_as_the_longest(self) -> None:
        # Table II, Insurance: pairs of a question and an answer, so the second half is 1 (printed .999).
        found = assessed(Complexity(), turns({str(n): [(HARD,)] for n in range(10)}), "published")
        assert found.details["length"] == 1


def test_real_dialogs() -> None:
    if not BESIDE.is_dir():
        pytest.skip("the service dialogues are not in TRUSTGAUGE_SHARED_DATA (service_dialogues)")
    source = DialogSource(file=BESIDE)
    answered = pl.when(pl.col("bot").list.len() > 0).then(pl.lit("answered")).otherwise(pl.lit("empty"))
    rows = source.read().select(
        service=pl.lit("bot"),
        part=pl.lit(""),
        session="dialog",
        turn="turn",
        purpose=pl.lit("talk"),
        status=answered,
        only=pl.lit("bot"),
        utterances="bot",
        said="user",
    )
    found = assessed(Complexity(), rows, "published")
    assert (found.state, found.score.n, found.details["most_turns"]) == ("rated", 384, 13)
    assert found.details["length"] == pytest.approx(2235 / 384 / 13)
    assert found.score.value == pytest.approx(0.346, abs=0.01)
    assert found.details["turn_complexity"] == pytest.approx(0.245, abs=0.02)
