"""The causal diagram of a part, with a verdict on each edge (causal 2.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trustgauge.records import Json

Edge = dict[str, Json]


def rejection_edges(
    protected: str, sets: Sequence[Mapping[str, Any]], word: Mapping[str, Any], p: float
) -> list[Edge]:
    """Edges of generated text without confounding: class to score, word to score.

    Args:
        protected: name of the protected classes.
        sets: the data sets as `details` tell them.
        word: the effect of the word on the score: value, low, high.
        p: of the whole weighted rejection score.
    """
    tests = [test for one in sets for test in one["tests"] if test["ate"]["value"] is not None]
    return [_class_edge(protected, tests, p), _word_edge(word)]


def deconfounding_edges(
    protected: str, sets: Sequence[Mapping[str, Any]], word: Mapping[str, Any]
) -> list[Edge]:
    """Edges of generated text whose words depend on the class: the class opens a back door to the score."""
    impacts = [impact for one in sets for impact in one["impacts"] if impact["delta"]["value"] is not None]
    largest = max(impacts, key=lambda one: abs(one["delta"]["value"]), default=None)
    confounding = _edge(protected, "score", "confounding", "not tested")
    if largest is not None:
        confounding |= {
            "verdict": largest["verdict"],
            "number": largest["delta"]["value"],
            "unit": "delta",
            "p": largest["p_family"],
        }
    return [
        _edge(protected, "word", "confounding", "by design"),
        confounding,
        _word_edge(word),
        _edge(protected, "score", "undesired", "not tested"),
    ]


def conversation_edges(
    speaker: str, sets: Sequence[Mapping[str, Any]], tests: Sequence[Mapping[str, Any]], p: float
) -> list[Edge]:
    """Edges of conversations: gender to text, gender to score, text to score.

    Args:
        speaker: whose texts are scored, "user" or "bot".
        sets: the data sets as `details` tell them.
        tests: of the dependence of the texts on gender, `gender_text.gender_tests`.
        p: of the whole weighted rejection score.
    """
    text = f"{speaker} text"
    mine = [one for one in tests if one.get("speaker", speaker) == speaker and one.get("p") is not None]
    edge = _edge("gender", text, "confounding", "not tested")
    if mine:
        # As many tests as there are stand for one edge, so the smallest p is Bonferroni's.
        smallest = min(1.0, min(one["p"] for one in mine) * len(mine))
        edge |= {"verdict": "found" if smallest < 0.05 else "undetermined", "p": smallest, "unit": "p"}
    effects = [test for one in sets for test in one["tests"] if test["ate"]["value"] is not None]
    edges = [edge, _class_edge("gender", effects, p), _edge(text, "score", "desired", "not tested")]
    if speaker == "bot":
        edges.insert(1, _edge("user text", text, "desired", "not tested"))
    return edges


def _class_edge(protected: str, tests: Sequence[Mapping[str, Any]], p: float) -> Edge:
    """Class to score: found if any pair differs, same if all pairs are the same."""
    edge = _edge(protected, "score", "undesired", "not tested")
    if not tests:
        return edge
    verdicts = {test["verdict"] for test in tests}
    verdict = "found" if "found" in verdicts else "same" if verdicts == {"same"} else "undetermined"
    largest = max(tests, key=lambda one: (one["verdict"] == verdict, abs(one["ate"]["value"])))
    return edge | {"verdict": verdict, "number": largest["ate"]["value"], "unit": "ATE", "p": p}


def _word_edge(word: Mapping[str, Any]) -> Edge:
    edge = _edge("word", "score", "desired", "not tested")
    if word.get("value") is None:
        return edge
    found = word["low"] is not None and (word["low"] > 0 or word["high"] < 0)
    return edge | {
        "verdict": "found" if found else "undetermined",
        "number": word["value"],
        "unit": "difference",
    }


def _edge(start: str, end: str, role: str, verdict: str) -> Edge:
    return {"from": start, "to": end, "role": role, "verdict": verdict, "number": None, "unit": "", "p": None}
