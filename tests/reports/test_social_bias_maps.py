from __future__ import annotations

import copy
import re
from xml.etree import ElementTree

import pytest

from tests.reports import social_fixtures
from tests.reports.golden import only_social
from trustgauge.methods.social_bias import group_names, view_maps
from trustgauge.methods.social_bias.group_names import GroupName
from trustgauge.reports.svg import contrast

SPACE = "{http://www.w3.org/2000/svg}"
PART = only_social(social_fixtures.rating(attributes=("gender",)))["parts"][0]
NAMES = group_names.groups(PART)
MATRIX = PART["details"]["absolute"]["advantage"][0]
RELATIVE = PART["details"]["relative"]


def texts(drawing: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(drawing).iter(f"{SPACE}text")]


def desc(drawing: str) -> str:
    found = ElementTree.fromstring(drawing).find(f"{SPACE}desc")
    assert found is not None
    return found.text or ""


def test_every_value_is_printed_with_its_n_and_told_in_words() -> None:
    drawing = view_maps.advantage(MATRIX, NAMES, "Advantage: gender")
    seen = texts(drawing)
    assert seen.count("0.87") == seen.count("0.13") == 1
    assert seen.count("n 30") == 4
    assert seen.count("never") == 2
    assert "0.50" not in seen
    assert desc(drawing) == (
        "men over women 0.87 (n = 30, differs from 0.50); men over transgender people 0.67 (n = 30); "
        "women over transgender people never chosen"
    )


def test_only_what_differs_after_correction_is_outlined() -> None:
    def outlined(drawing: str) -> int:
        return len(re.findall(r'<rect [^>]*fill="none" stroke="#', drawing))

    assert outlined(view_maps.advantage(MATRIX, NAMES, "")) == 2
    none = copy.deepcopy(MATRIX)
    none["p"] = [[None if p is None else 0.05 for p in row] for row in none["p"]]
    assert outlined(view_maps.advantage(none, NAMES, "")) == 0


def test_what_the_published_rule_counts_as_one_half_is_drawn_as_never_chosen() -> None:
    half = copy.deepcopy(MATRIX)
    half["values"][1][2] = half["values"][2][1] = 0.5
    assert texts(view_maps.advantage(half, NAMES, "")).count("never") == 2


@pytest.mark.parametrize("share", [step / 20 for step in range(21)])
def test_digits_contrast_with_their_cell(share: float) -> None:
    two = {
        "groups": ["men", "women"], "category": "", "values": [[None, share], [1 - share, None]],
        "n": [[0, 9], [9, 0]], "p": [[None, 0.001], [0.001, None]],
    }  # fmt: skip
    drawing = view_maps.advantage(two, NAMES, "")
    cells = re.findall(r'fill="(#[0-9a-f]{6})"/>.*?<text [^>]*fill="(#[0-9a-f]{6})"', drawing)
    assert len(cells) == 2
    assert all(contrast(ground, ink) >= 4.5 for ground, ink in cells)
    rates = [{"group": "men", "value": share, "low": 0, "high": 1, "n": 9}]
    facts = {"rates": rates, "cells": [], "spread": 0.0}
    facts["cells"] = [{"category": "crime", "group": "men", "asked": 20, "favourable": round(20 * share)}]
    (ground, ink), *_ = re.findall(
        r'fill="(#[0-9a-f]{6})"/><text [^>]*fill="(#[0-9a-f]{6})"',
        view_maps.preference(facts, NAMES, ""),
    )
    assert contrast(ground, ink) >= 4.5


def test_winning_and_losing_have_different_hues() -> None:
    drawing = view_maps.advantage(MATRIX, NAMES, "")
    fills = re.findall(r'rx="4" fill="#(..)(..)(..)"', drawing)
    won, lost = ([int(part, 16) for part in one] for one in (fills[0], fills[2]))
    assert won[1] > won[0]  # teal: more green than red
    assert lost[0] > lost[1]  # violet: more red than green


def test_preference_prints_shares_n_and_the_spread_over_groups() -> None:
    drawing = view_maps.preference(RELATIVE, NAMES, "Preference: gender")
    seen = texts(drawing)
    assert seen[:5] == ["Appearance", "Competence", "Health", "Social status", "All"]
    assert seen.count("n 20") == 11
    assert "none" in seen  # transgender people were not asked about social status
    shares = [0.8, 0.75, 0.45]
    mean = sum(shares) / 3
    assert seen[-1] == f"{100 * sum((one - mean) ** 2 for one in shares) / 3:.1f}"
    assert "men: Appearance 0.80 (n 20)" in desc(drawing)


def test_of_many_groups_those_that_differ_most_are_drawn() -> None:
    ids = [f"g{number}" for number in range(30)]
    values: list[list[float | None]] = [[None if i == j else 0.5 for j in range(30)] for i in range(30)]
    for low in range(10, 26):
        values[low][0] = 0.9
    counts = [[0 if i == j else 10 for j in range(30)] for i in range(30)]
    blank = [[None] * 30 for _ in range(30)]
    many = {"groups": ids, "values": values, "n": counts, "p": blank, "category": ""}
    assert view_maps.shown_groups(many) == ids[10:26]
    drawing = view_maps.advantage(many, {}, "")
    assert len([one for one in texts(drawing) if one in ids]) == 2 * view_maps.MOST


def test_nothing_to_draw_is_no_drawing() -> None:
    alone = {"groups": ["men"], "values": [[None]], "n": [[0]], "p": [[None]], "category": ""}
    assert view_maps.advantage(alone, NAMES, "") == ""
    assert view_maps.preference({"rates": [], "cells": [], "spread": None}, NAMES, "") == ""


def test_names_in_figures_are_escaped_and_hidden_where_they_offend() -> None:
    names = {
        "men": GroupName("<b>men</b>"),
        "women": GroupName("a slur", number=2),
        "trans-people": GroupName("跨性别者", language="zh"),
    }
    drawing = view_maps.advantage(MATRIX, names, "x")
    assert "<b>" not in drawing
    assert "slur" not in drawing
    assert "████ 2" in texts(drawing)
    assert 'lang="zh">跨性别者' in drawing


def test_bars_share_one_scale() -> None:
    wide = [
        float(re.findall(r'width="([\d.]+)"', view_maps.bar(value, longest=0.4))[-1]) for value in (0.4, 0.1)
    ]
    assert wide == [96.0, 24.0]
