from __future__ import annotations

import csv
import io
import re
import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as some
from markdown_it import MarkdownIt

from trustgauge.reports import sanitize

ANY = some.text(some.characters(), max_size=60)
NEGATIVE = re.compile(r"-[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


@given(ANY)
def test_nothing_reaches_a_terminal_that_moves_it(text: str) -> None:
    shown = sanitize.terminal(text)
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


@given(ANY)
def test_every_text_is_legal_xml_and_stays_text(text: str) -> None:
    root = ElementTree.fromstring(f'<a b="{sanitize.xml(text)}">{sanitize.xml(text)}</a>')
    assert len(root) == 0


@given(some.text(some.characters(min_codepoint=0x20, max_codepoint=0x24F, exclude_categories=["Cc", "Cf"])))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert sanitize.visible(text) == text


def test_controls_are_shown_by_their_pictures() -> None:
    assert sanitize.visible("a\x1b[31m\x00\x7f\u202e\ud800\n") == "a␛[31m␀␡‹U+202E›‹U+D800›␊"
    assert sanitize.visible("a\n\tb", lines=True) == "a\n\tb"
    assert sanitize.visible("نام\u200cها") == "نام\u200cها"  # this writing needs the joiner


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1+1",
        "-1\n",
        "+1e",
        "-A1",
        "@SUM(A1)",
        " =1",
        "\t=1",
        "＝1+1",
        "＋1",
        "－1",
        "＠SUM(A1)",
        "\u3000＝1",
        "\u00a0=1",
    ],
)
def test_formulas_are_guarded(text: str) -> None:
    assert sanitize.cell(text).startswith("'")


@given(ANY)
def test_guarded_cells_survive_a_csv_file(text: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerow([sanitize.cell(text), "end"])
    (row,) = csv.reader(io.StringIO(buffer.getvalue(), newline=""))
    assert row[1] == "end"
    signs = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
    assert NEGATIVE.fullmatch(row[0]) or not row[0].lstrip().startswith(signs)


@pytest.mark.parametrize("number", ["-1", "-0.5", "-1e-05", "-2.5E+3"])
def test_negative_numbers_are_no_formulas(number: str) -> None:
    """Scores are exported as they are, so that they can be read again."""
    assert sanitize.cell(number) == number
    assert sanitize.cell(f" {number}").startswith("'")


@given(ANY)
def test_markdown_stays_text(text: str) -> None:
    page = (
        MarkdownIt("commonmark")
        .enable("table")
        .render(f"| a | b |\n| --- | --- |\n| {sanitize.markdown(text)} | x |\n")
    )
    assert page.count("<td>") == 2
    for tag in ("<a", "<img", "<script", "<strong", "<em", "<code"):
        assert tag not in page


def test_short_cuts_with_an_ellipsis() -> None:
    assert sanitize.short("abcdef", 4) == "abc…"
    assert sanitize.short("abcd", 4) == "abcd"
