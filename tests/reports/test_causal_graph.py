from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.reports import causal_fixtures
from tests.reports.causal_fixtures import BOTH, CHAT, edge
from trustgauge.methods.causal import view_graph
from trustgauge.reports import svg

SVG = "{http://www.w3.org/2000/svg}"
OPEN = {
    "edges": [
        edge("race and gender", "score", "undesired", "undetermined", (-0.04, "ATE")),
        edge("race and gender", "word", "confounding", "not tested", (None, "")),
        edge("word", "score", "desired", "same", (0.01, "delta")),
    ]
}
LONG = {
    "edges": [
        edge("gender", "word", "confounding", "by design", (None, "")),
        edge("gender", "score", "confounding", "found", (-0.39, "delta")),
        edge("word", "score", "desired", "undetermined", (-0.12, "difference")),
        edge("gender", "score", "undesired", "not tested", (None, "")),
    ]
}
GRAPHS = {
    "long": LONG,
    "both": BOTH,
    "chat": CHAT,
    "open": OPEN,
    "one": causal_fixtures.graph("gender", "deconfounding", 1.0),
}


def points(path: str) -> list[tuple[float, float]]:
    """200 points of a cubic Bezier curve."""
    numbers = [float(one) for one in re.findall(r"-?[\d.]+", path)]
    ends = list(zip(numbers[::2], numbers[1::2], strict=True))
    lines = []
    for step in range(201):
        t = step / 200
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        lines.append(
            (
                sum(w * x for w, (x, _) in zip(weights, ends, strict=True)),
                sum(w * y for w, (_, y) in zip(weights, ends, strict=True)),
            )
        )
    return lines


def boxes(root: ElementTree.Element) -> list[tuple[str, float, float, float, float]]:
    """Left, top, right and bottom of every text."""
    lines = []
    for text in root.iter(f"{SVG}text"):
        words, size = text.text or "", float(text.get("font-size", 0))
        wide = float(text.get("textLength") or svg.width(words, size))
        x = float(text.get("x", 0))
        x -= {"middle": wide / 2, "end": wide}.get(text.get("text-anchor", "start"), 0)
        y = float(text.get("y", 0))
        lines.append((words, x, y - 0.75 * size, x + wide, y + 0.25 * size))
    return lines


@pytest.mark.parametrize("name", GRAPHS)
def test_labels_meet_no_line_no_node_no_other_label_and_no_border(name: str) -> None:
    root = ElementTree.fromstring(view_graph.diagram(GRAPHS[name], "x"))
    lines = [points(path.get("d", "")) for path in root.iter(f"{SVG}path") if "C" in path.get("d", "")]
    nodes = [
        tuple(float(rect.get(key, 0)) for key in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
    ]
    texts = boxes(root)
    labels = [one for one in texts if ":" in one[0]]
    assert len(lines) == len(labels) == len(GRAPHS[name]["edges"])
    for words, left, top, right, bottom in labels:
        assert 0 <= left < right <= 720, words
        assert 0 <= top < bottom <= float(root.get("height", 0)), words
        for line in lines:
            assert not [1 for x, y in line if left - 2 < x < right + 2 and top - 2 < y < bottom + 2], words
        for x, y, wide, high in nodes:
            assert right < x or left > x + wide or bottom < y or top > y + high, words
        for other, left2, top2, right2, bottom2 in texts:
            if other != words:
                assert right < left2 or left > right2 or bottom < top2 or top > bottom2, (words, other)


@pytest.mark.parametrize(
    ("given", "style", "dashes", "words"),
    [
        (("undesired", "found", -0.31, "ATE"), "c3", None, "undesired: found, ATE −0.31"),
        (("undesired", "same", 0.0, "ATE"), "csecond", "7 5", "undesired: same, ATE 0.00"),
        (("confounding", "found", 0.123, "delta"), "c2", "2 4", "confounds: found, Δ 0.12"),
        (("confounding", "by design", None, ""), "csecond", None, "confounds: by design"),
        (("undesired", "undetermined", 0.04, "ATE"), "csecond", "7 5", "undesired: ? undetermined, ATE 0.04"),
        (("undesired", "not tested", None, ""), "csecond", "7 5", "undesired: ? not tested"),
        (("desired", "found", 0.0004, "p"), "cink", None, "desired: found, p < 0.001"),
    ],
)
def test_every_verdict_has_its_line_and_its_words(
    given: tuple[str, str, float | None, str], style: str, dashes: str | None, words: str
) -> None:
    role, verdict, value, unit = given
    one = edge("gender", "score", role, verdict, (value, unit))
    root = ElementTree.fromstring(view_graph.diagram({"edges": [one]}, "x"))
    group = root.find(f"{SVG}g")
    assert group is not None
    assert group.get("class") == style
    path = group.find(f"{SVG}path")
    assert path is not None
    assert path.get("stroke-dasharray") == dashes
    assert [text.text for text in group.iter(f"{SVG}text")] == [words]


def test_a_long_label_takes_two_lines_and_loses_no_word() -> None:
    root = ElementTree.fromstring(view_graph.diagram(LONG, "x"))
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert words[2:4] == ["desired: ? undetermined,", "by −0.12"]
    assert not [one for one in words if "…" in str(one)]


def test_the_description_says_every_edge() -> None:
    assert view_graph.describe(BOTH) == (
        "gender to score: undesired, found, ATE −0.31; race to score: undesired, same, ATE 0.00; "
        "gender to emotion word: confounding, found, Δ 0.12; race to emotion word: confounding, by design; "
        "emotion word to score: desired, undetermined, Δ 1.20"
    )


def test_without_edges_nothing_is_drawn() -> None:
    assert view_graph.diagram({}, "x") == ""
    assert view_graph.diagram({"edges": []}, "x") == ""


def test_three_classes_and_hostile_names_still_make_a_picture() -> None:
    names = ("gender", "<script>\x1b[2J", "W" * 500)
    edges: list[dict[str, Any]] = [
        edge(name, "score", "undesired", "same", (0.0, "ATE")) for name in (*names, "race")
    ]
    drawn = view_graph.diagram({"edges": edges}, names[1])
    root = ElementTree.fromstring(drawn)
    assert "<script>" not in drawn
    assert "\x1b" not in drawn
    for rect in root.iter(f"{SVG}rect"):
        assert float(rect.get("y", 0)) + float(rect.get("height", 0)) <= float(root.get("height", 0))
