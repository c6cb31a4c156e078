"""Readability: the index by hand, what it does not apply to, cells and bounds."""

from __future__ import annotations

import doctest
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.trust.issues.turns import assessed, cells, marked, turns
from trustgauge.methods.trust.issues import readability
from trustgauge.methods.trust.issues.complexity import Complexity
from trustgauge.methods.trust.issues.issue import Issue
from trustgauge.methods.trust.issues.readability import HARDEST, MARKS, Readability, index
from trustgauge.methods.trust.resampling import Resampling

EASY = "We go to the shop and you see it."
HARD = "Notwithstanding the contractual obligations of all institutional counterparties " * 4


def ari(characters: int, words: int, sentences: int) -> float:
    return 4.71 * characters / words + 0.5 * words / sentences - 21.43


def test_doctests() -> None:
    assert doctest.testmod(readability).failed == 0


class TestIndex:
    @pytest.mark.parametrize(
        ("text", "characters", "words", "sentences"),
        [
            ("The cat sat on the mat.", 17, 6, 1),
            ("One two three. Four five six! Seven?", 27, 7, 3),
            ('He said: "I won\'t go." Then he left', 23, 8, 2),
            ("It costs 3.50 at the door", 19, 6, 1),
            ("first line\nsecond line\n\nthird line", 28, 6, 3),
            ("A well-known fact... is it not", 21, 6, 2),
            ("Überall große Straßen für alle", 26, 5, 1),
        ],
    )
    def test_by_hand(self, text: str, characters: int, words: int, sentences: int) -> None:
        assert index(text) == pytest.approx(ari(characters, words, sentences))

    @pytest.mark.parametrize(
        "text", ["", "Hello", "one two three four", "你好 你 好 是 的 不", "да и не но это он", "... !!! ???"]
    )
    def test_too_few_words_or_other_letters(self, text: str) -> None:
        assert index(text) is None

    @given(st.text(max_size=200))
    def test_any_text_can_be_read(self, text: str) -> None:
        scores = Readability().marks(turns({"a": [(text,)]}), "sound")["readability_score"]
        assert all(0 <= one <= 1 for one in scores.drop_nulls())
        assert (index(text) is None) == scores.has_nulls()


class TestMarks:
    def test_a_turn_is_the_mean_of_its_utterances(self) -> None:
        marks = Readability().marks(turns({"a": [(EASY, HARD, "No."), ("No.",), ()]}), "sound")
        assert marks.schema == pl.Schema(MARKS)
        assert marks["readability_utterances"].to_list() == [[0.0, 1.0, None], [None], []]
        assert marks["readability_score"].to_list() == [0.5, None, None]
        assert marks["readability_count"].to_list() == [2, 0, 0]

    def test_the_index_over_18(self) -> None:
        text = "The committee will probably consider another proposal next week."
        expected = ari(55, 9, 1) / HARDEST
        assert 0 < expected < 1
        assert Readability().marks(turns({"a": [(text,)]}), "sound")[
            "readability_score"
        ].item() == pytest.approx(expected)

    def test_other_scripts_and_the_user_do_not_count(self) -> None:
        rows = pl.concat([turns({"x": [(HARD,)]}, purpose="abuse"), turns({"a": [(EASY,)], "b": [(EASY,)]})])
        rows = rows.with_columns(said=pl.lit([HARD], dtype=pl.List(pl.String)))
        assert Readability().marks(rows, "sound").row(0) == (None,) * len(MARKS)
        assert assessed(Readability(), rows).score.value == 0


class TestAssess:
    def test_the_mean_over_utterances_not_dialogs(self) -> None:
        found = assessed(Readability(), turns({"a": [(EASY,), (EASY,), (EASY,)], "b": [(HARD,)]}))
        assert found.score.value == pytest.approx(0.25)
        assert (found.state, found.level, found.score.n) == ("rated", "L", 4)

    def test_levels(self) -> None:
        assert assessed(Readability(), turns({"a": [(EASY,)], "b": [(EASY,)]})).level == "L"
        assert assessed(Readability(), turns({"a": [(HARD,)], "b": [(HARD,)]})).level == "H"

    def test_english_only(self) -> None:
        german = "Ich hätte gern ein Zimmer für zwei Personen mit Blick auf den See und Frühstück"
        found = assessed(Readability(), turns({name: [(german,)] * 3 for name in "ab"}))
        assert (found.state, found.level, found.score.value) == ("not applicable", None, None)
        assert [reason.code for reason in found.reasons] == ["trust.not-english"]
        chinese = "我们有很多房间，请告诉我您想住几天。" * 4
        rows = turns({name: [(chinese,)] * 30 for name in "ab"})
        assert assessed(Readability(), rows).state == "not applicable"

    def test_dense_legal_prose_is_english_and_hard_to_read(self) -> None:
        legal = (
            "Indemnification obligations hereunder supersede antecedent covenants, warranties and "
            "representations, whereupon subrogation entitlements terminate irrevocably upon forfeiture."
        )
        found = assessed(Readability(), turns({name: [(legal,)] * 3 for name in "ab"}))
        assert (found.state, found.level, found.score.value) == ("rated", "H", 1.0)

    def test_nothing_to_score(self) -> None:
        assert assessed(Readability(), turns({})).state == "not tested"
        assert assessed(Readability(), turns({"a": [("No.",)], "b": [()]})).state == "not tested"
        alone = assessed(Readability(), turns({"a": [(EASY,)], "b": [("No.",)]}))
        assert (alone.state, alone.score.value, alone.level) == ("incomplete", 0.0, None)

    def test_it_is_an_issue(self) -> None:
        assert isinstance(Readability(), Issue)

    @given(
        st.dictionaries(
            st.sampled_from("abcd"),
            st.lists(st.lists(st.sampled_from([EASY, HARD, "No."]), max_size=3), min_size=1, max_size=4),
            min_size=1,
        ),
        st.randoms(use_true_random=False),
    )
    def test_the_same_in_any_order_and_shards(self, dialogs: Any, rng: Any) -> None:
        issue = Readability()
        rows = marked(issue, turns(dialogs))
        order = list(range(len(rows)))
        rng.shuffle(order)
        merged = cells(issue, [rows[order[::2]], rows[order[1::2]]])
        assert merged.equals(cells(issue, [rows]))
        found = issue.assess(merged, "sound", Resampling(1, 1000))
        said = [text for each in dialogs.values() for texts in each for text in texts if text != "No."]
        if said:
            assert found.score.value == pytest.approx(said.count(HARD) / len(said))
        else:
            assert found.state == "not tested"


PLAIN = (
    "You can bring the book back within two weeks. If it is late, you pay ten cents a day.",
    "We send you a bill each month. Please pay it by the end of the month.",
    "You may stop at any time. Tell us by mail, and we will close your account.",
    "Keep the milk cold. Drink it within three days after you open it.",
)
ASSISTANT = (
    "That's a great question! There are several factors to consider when choosing a savings "
    "account, such as the interest rate, the fees and how easily you can access your money. It's "
    "generally a good idea to compare at least three offers before you decide.",
    "I'd be happy to help you with that. To reset your password, open the settings, choose "
    '"Security", and follow the instructions on the screen. If you run into any problems, let me '
    "know.",
    "As an AI language model, I don't have personal opinions, but I can outline some common "
    "perspectives. Many people feel that remote work improves their work-life balance.",
    "Here are some tips for staying motivated:\n\n1. Set realistic goals and break them into "
    "smaller steps.\n2. Celebrate your progress, however small.\n3. Find a friend who keeps you "
    "accountable.",
)
LEGALESE = (
    "Notwithstanding anything to the contrary contained herein, the Licensee shall indemnify, "
    "defend and hold harmless the Licensor, its affiliates, officers and agents from and against "
    "any and all claims, liabilities and expenses, including without limitation reasonable "
    "attorneys' fees, arising out of or in connection with any breach of the representations, "
    "warranties or covenants set forth in this Agreement.",
    "Pursuant to Section 4.2(b)(iii) hereof, and subject to the provisions of Article 7, the "
    "Undersigned irrevocably assigns, transfers and conveys unto the Assignee, its successors and"
    " assigns, all of its right, title and interest in and to the Receivables, whether now "
    "existing or hereafter arising.",
    "This Deed shall be governed by, and construed in accordance with, the laws of England. Any "
    "dispute shall be referred to arbitration. The seat shall be London. The tribunal shall "
    "consist of three arbitrators. Its award shall be final and binding.",
    '1. DEFINITIONS\n(a) "Affiliate" means any entity that controls, is controlled by or is under '
    'common control with a party;\n(b) "Confidential Information" means all non-public information'
    ' disclosed by either party;\n(c) "Term" has the meaning given in Clause 9.1.',
)


class TestLegalese:
    """Long sentences, short ones full of terms of law, and clauses on lines of their own."""

    def scores(self, issue: Issue, texts: tuple[str, ...]) -> list[float]:
        rows = turns({str(place): [(text,)] for place, text in enumerate(texts)})
        return issue.marks(rows, "sound")[f"{issue.name}_score"].to_list()

    def test_plain_is_easier_than_assistant_than_legalese(self) -> None:
        plain, assistant, legal = (
            self.scores(Readability(), texts) for texts in (PLAIN, ASSISTANT, LEGALESE)
        )
        assert max(plain) < 0.05 < min(assistant)
        assert max(plain) < min(assistant) < min(legal)
        assert fmean(plain) < 0.33 < fmean(assistant) < 0.67 < fmean(legal)

    def test_the_terms_of_law_are_complex(self) -> None:
        plain, assistant, legal = (self.scores(Complexity(), texts) for texts in (PLAIN, ASSISTANT, LEGALESE))
        assert max(plain) < 0.3
        assert fmean(plain) < fmean(assistant) < fmean(legal)

    def test_a_clause_on_a_line_of_its_own_ends_no_sentence(self) -> None:
        joined = "The tenant pays the rent, and keeps the garden, and feeds the two cats"
        assert index(joined.replace(", and", ", and\n")) == pytest.approx(index(joined))
        assert index(joined.replace(", and", "\nand")) != pytest.approx(index(joined))
