"""Kinds of terms: the shipped lists, lists of a plan, and lists learned from dialogs."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.data import terms
from trustgauge.data.dialogs import TURNS
from trustgauge.data.terms import TermLists, TermSource, default_terms, english_stop_words, learn_terms, words
from trustgauge.errors import PlanError

FOLDER = files("trustgauge.data")
TABLE = tomllib.loads(FOLDER.joinpath("terms.toml").read_text(encoding="utf-8"))


def corpus(*dialogs: str) -> pl.DataFrame:
    """Dialogs of one turn, in which the user says nothing that counts."""
    rows = [(str(number), 0, ["1"], [text]) for number, text in enumerate(dialogs)]
    return pl.DataFrame(rows, schema=TURNS, orient="row")


def kinds(lists: TermLists, text: str) -> dict[str, str]:
    return dict(lists.terms(text))


class TestShipped:
    def test_a_term_stands_in_one_class_and_in_small_letters(self) -> None:
        for language in ("english", "chinese"):
            every = [
                word
                for kind in ("stop", "common")
                for text in TABLE[language][kind].values()
                for word in text.split()
            ]
            assert len(set(every)) == len(every)
            assert every == [word.casefold() for word in every]
            assert all(words(word) == [word] for word in every)

    def test_the_card_tells_how_many(self) -> None:
        card = FOLDER.joinpath("terms.md").read_text(encoding="utf-8")
        for kind in ("stop", "common"):
            result = re.search(rf"\| `{kind}` \| ([\d,]+) \| ([\d,]+) \|", card)
            assert result is not None
            counts = [int(one.replace(",", "")) for one in result.groups()]
            sizes = [
                sum(len(one.split()) for one in TABLE[of][kind].values()) for of in ("english", "chinese")
            ]
            assert counts == sizes

    def test_kinds_of_english_words(self) -> None:
        found = kinds(
            default_terms(),
            "We couldn't find Tom's cheapest hotels; the transmission is LEAKING, 3 times on the 8th.",
        )
        assert found == {
            "we": "stop",
            "couldn't": "stop",
            "find": "common",
            "tom": "domain",
            "cheapest": "common",
            "hotels": "common",
            "the": "stop",
            "transmission": "domain",
            "is": "stop",
            "leaking": "domain",
            "times": "common",
            "on": "stop",
        }

    def test_kinds_of_chinese_words(self) -> None:
        found = default_terms().terms("请问量子计算是什么？我想预订酒店。")
        assert found == [
            ("请问", "stop"),
            ("量子", "domain"),
            ("计算", "domain"),
            ("是", "stop"),
            ("什么", "stop"),
            ("我", "stop"),
            ("想", "common"),
            ("预订", "common"),
            ("酒店", "common"),
        ]

    @pytest.mark.parametrize("text", ["", "!?", "12:30", "$40", "3.5%", "B", "😀"])
    def test_texts_without_terms(self, text: str) -> None:
        assert default_terms().terms(text) == []

    @given(st.text(max_size=60))
    def test_any_text_can_be_read(self, text: str) -> None:
        for term, kind in default_terms().terms(text):
            assert term == term.casefold() or not term.isascii()
            assert kind in terms.KINDS
            assert (kind == "domain") == (term not in default_terms())

    @given(st.text(alphabet="的我想量子计算酒店是", max_size=30))
    def test_no_character_of_a_chinese_text_is_lost(self, text: str) -> None:
        assert "".join(term for term, _ in default_terms().terms(text)) == text

    def test_case_and_typographic_marks_make_no_difference(self) -> None:
        assert default_terms().terms("DON’T Ｐａｎｉｃ") == [("don't", "stop"), ("panic", "domain")]

    def test_english_stop_words_are_those_of_english(self) -> None:
        assert {"the", "of", "don't"} <= english_stop_words()
        assert not any(re.search(f"[{terms.HAN}]", word) for word in english_stop_words())


class TestLists:
    def test_a_list_of_the_domain_makes_the_rest_common(self) -> None:
        lists = TermLists(frozenset(), frozenset({"the"}), frozenset({"kernel"}))
        assert kinds(lists, "The kernel zzz") == {"the": "stop", "kernel": "domain", "zzz": "common"}
        open_lists = TermLists(frozenset({"kernel"}), frozenset({"the"}))
        assert kinds(open_lists, "The kernel zzz") == {"the": "stop", "kernel": "common", "zzz": "domain"}

    def test_the_longest_term_counts_once(self) -> None:
        domain = frozenset({"credit card", "credit card number", "card"})
        lists = TermLists(frozenset(), frozenset(), domain)
        assert [term for term, _ in lists.terms("My credit card number, credit card or card")] == [
            "my",
            "credit card number",
            "credit card",
            "or",
            "card",
        ]

    def test_a_stop_word_stays_one_in_every_list(self) -> None:
        lists = TermLists(frozenset({"will"}), frozenset({"will"}), frozenset({"will"}))
        assert kinds(lists, "will") == {"will": "stop"}


class TestLearned:
    def test_what_several_dialogs_have_and_nearly_all_have_not(self) -> None:
        said = ["ticket kernel", "ticket kernel boots", "ticket Zebra", "ticket the router", "ticket router"]
        lists = learn_terms(corpus(*said))
        assert lists.domain == frozenset({"kernel", "router"})
        assert kinds(lists, "ticket boots zebra") == {
            "ticket": "common",
            "boots": "common",
            "zebra": "common",
        }
        assert "the" in lists.stop

    def test_a_word_that_nearly_all_dialogs_have_is_common(self) -> None:
        said = [f"flurble {word}" for word in ["kernel"] * 5 + ["router"] * 4] + ["nothing"]
        assert learn_terms(corpus(*said)).domain == frozenset({"kernel", "router"})
        assert "flurble" in learn_terms(corpus(*said)).common
        assert learn_terms(corpus(*said[:8], "x", "y")).domain == frozenset({"flurble", "kernel", "router"})

    def test_words_that_stand_together(self) -> None:
        said = [
            "credit card lost",
            "my credit card",
            "Credit card. The kernel",
            "the kernel",
            "rent",
            "rent the car",
        ]
        assert learn_terms(corpus(*said)).domain == frozenset({"kernel"})
        assert learn_terms(corpus(*said), ngrams=2).domain == frozenset({"kernel", "credit card"})

    def test_words_parted_by_a_stop_word_do_not_stand_together(self) -> None:
        said = ["kernel of module"] * 4 + ["x y"] * 4
        assert learn_terms(corpus(*said), ngrams=3).domain == frozenset({"kernel", "module"})

    def test_one_dialog_and_none(self) -> None:
        assert learn_terms(corpus("the kernel")).domain == frozenset({"kernel"})
        assert learn_terms(corpus()).domain == frozenset()

    def test_the_order_of_dialogs_makes_no_difference(self) -> None:
        said = [f"kernel panic {word}" for word in ("boots", "boots", "module", "module", "x")] + ["rent"] * 3
        forward, backward = (learn_terms(corpus(*order), ngrams=3) for order in (said, said[::-1]))
        assert forward == backward
        assert "kernel panic" in (forward.domain or ())


class TestSource:
    def test_files_stand_in_place_of_our_lists(self, tmp_path: Path) -> None:
        (tmp_path / "domain.txt").write_text("# network\nFirewall\nkernel  module\n\n")
        (tmp_path / "stop.txt").write_text("le\n")
        source = TermSource.model_validate(
            {"domain": "domain.txt", "stop": "stop.txt"}, context={"folder": tmp_path}
        )
        assert source.lists().terms("le kernel module the") == [
            ("le", "stop"),
            ("kernel module", "domain"),
            ("the", "common"),
        ]
        assert source.lists().common == default_terms().common

    def test_learned_from_dialogs(self, tmp_path: Path) -> None:
        text = (
            "dialog,speaker,text\n" + "".join(f"{n},bot,kernel panic {n}\n" for n in range(3)) + "4,bot,no\n"
        )
        (tmp_path / "talks.csv").write_text(text)
        source = TermSource.model_validate(
            {"learn_from": {"file": "talks.csv"}, "ngrams": 2}, context={"folder": tmp_path}
        )
        assert source.lists().domain == frozenset({"kernel", "panic", "kernel panic"})
        (tmp_path / "common.txt").write_text("panic\n")
        own = TermSource(common=tmp_path / "common.txt", learn_from=source.learn_from)
        assert own.lists().common == {"panic"}
        assert own.lists().domain == frozenset({"kernel", "panic"})

    def test_the_identity_is_what_the_lists_hold(self, tmp_path: Path) -> None:
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text("firewall\n")
        one, same, other = (
            TermSource.model_validate({role: tmp_path / name}).identity()
            for role, name in (("domain", "a.txt"), ("domain", "b.txt"), ("common", "a.txt"))
        )
        assert one == same != other
        assert str(tmp_path) not in str(one)
        (tmp_path / "a.txt").write_text("router\n")
        with pytest.raises(PlanError, match="not the one that was rated"):
            TermSource(domain=tmp_path / "a.txt", content=one["content"])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "lists no term"),
            (b"# x\n", "lists no term"),
            (b"a b\n12\n", "line 2 is no term"),
            (b"\xff", "UTF-8"),
        ],
    )
    def test_files_that_are_no_lists(self, tmp_path: Path, content: bytes, message: str) -> None:
        (tmp_path / "a.txt").write_bytes(content)
        with pytest.raises(PlanError, match=message):
            TermSource(domain=tmp_path / "a.txt")
        with pytest.raises(PlanError, match="cannot be read"):
            TermSource(stop=tmp_path / "absent.txt")

    def test_the_longest_sequence_is_bounded(self) -> None:
        settings: dict[str, Any] = {"ngrams": 5}
        with pytest.raises(ValueError, match="less than or equal to 4"):
            TermSource(**settings)
