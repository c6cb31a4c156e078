"""Causal ratings as the method tells them, for the tests of what people see.

A service scores the valence of a word and adds a fixed shift for one class; every figure follows
from that shift by plain arithmetic, and nothing here is rated by the real rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl

from tests.reports import fixtures
from trustgauge.records import ControlResult, Coverage, Interval, Part, Rating, Reason, RunFacts, Scale, State

SCALE = Scale("causal", ("1", "2", "3"), ("no effect", "some effect", "strong effect"))
RELATIVE = Scale("causal-relative", ("1", "2", "3"), ("least", "between", "most"))
SHIFTS = {"textblob": 0.0, "vader": 0.02, "gru": 0.21, "random": 0.0, "female-biased": 1.0, "constant": 0.0}
SETS = {
    "e1": ("grim",),
    "e2": ("happy",),
    "e3": ("grim", "happy"),
    "e4": ("grim", "depressing", "happy"),
    "e5": ("depressing", "happy", "glad"),
}
ALPHAS, WEIGHTS = (0.05, 0.3, 0.4), (1.0, 0.8, 0.6)
CLASSES = {
    "gender": ("male", "female"),
    "race": ("European", "African-American"),
    "race and gender": (
        "European male",
        "European female",
        "African-American male",
        "African-American female",
    ),
}
PARTS = (
    ("group-1", "group-1", 1, "gender", "rejection", "Group 1: gender"),
    ("group-2", "group-2", 2, "gender", "deconfounding", "Group 2: gender, confounded"),
    ("group-3-race", "group-3", 3, "race", "rejection", "Group 3: race"),
    ("group-3-race-gender", "group-3", 3, "race and gender", "rejection", "Group 3: race and gender"),
    ("group-4", "group-4", 4, "race and gender", "deconfounding", "Group 4: race and gender, confounded"),
)


def gap(first: str, second: str, shift: float) -> float:
    """How much higher the second class is scored than the first: women by the shift."""
    return shift * (("female" in second) - ("female" in first))


def test(pair: Sequence[str], shift: float, *, constant: bool) -> Any:
    """A t test of one pair whose t is 40 times the difference of means."""
    difference = -gap(pair[0], pair[1], shift)
    flat = constant or abs(difference) >= 2
    t = None if flat and difference else 40 * difference + (0.0 if flat else 0.9)
    size = abs(t) if t is not None else float("inf")
    rejected = [size > cut for cut in (1.96, 1.04, 0.84)]
    found = abs(difference) >= 0.1
    return {
        "pair": list(pair),
        "n": [240, 240],
        "means": [0.1, 0.1 - difference],
        "t": t,
        "t_infinite": t is None,
        "df": 477.3,
        "p": 0.0004 if found else 0.37,
        "rejected": rejected,
        "testable": True,
        "ate": {"value": difference, "low": difference - 0.04, "high": difference + 0.04, "n": 240},
        "p_family": 0.0005 if found else 0.8,
        "verdict": "found" if found else "same" if abs(difference) < 0.03 else "undetermined",
        "hedges_g": 2 * difference,
        "cliffs_delta": max(-1.0, min(1.0, difference)),
        "sign_flips": min(1.0, abs(difference) / 2),
        "wasserstein": abs(difference) / 2,
        "p_control": 0.004 if found else 0.6,
    }


def impact(valence: str, shift: float) -> Any:
    """A deconfounding impact: the share of women differs by .4 between observed and balanced."""
    sign = 1 if valence == "positive" else -1
    observed = sign * 0.6 - 0.4 * shift * sign
    delta = 0.4 * shift * sign
    zero = abs(observed) < 1e-9
    return {
        "valence": valence,
        "observed": observed,
        "intervened": observed + delta,
        "delta": {"value": delta, "low": delta - 0.03, "high": delta + 0.03, "n": 600},
        "percent": None if zero else 100 * abs(delta / observed),
        "percent_undefined": zero,
        "percent_shown": not zero and abs(observed) > 0.1,
        "p_family": 0.001 if abs(delta) > 0.05 else 0.7,
        "verdict": "found" if abs(delta) > 0.05 else "same",
    }


def graph(attribute: str, measure: str, shift: float) -> Any:
    classes = attribute.split(" and ")
    found = shift >= 0.1
    edges = [
        {
            "from": "word", "to": "score", "role": "desired",
            "verdict": "found", "number": 1.2, "unit": "delta", "p": 0.001,
        }
    ]  # fmt: skip
    for name in classes:
        mine = shift if name == "gender" else 0.0
        edges.append(
            {
                "from": name, "to": "score", "role": "undesired",
                "verdict": "found" if mine >= 0.1 else "same" if mine < 0.03 else "undetermined",
                "number": -mine, "unit": "ATE", "p": 0.0005 if mine >= 0.1 else 0.8,
            }
        )  # fmt: skip
        if measure == "deconfounding" and len(classes) > 1:
            edges.append(
                {
                    "from": name, "to": "word", "role": "confounding",
                    "verdict": "found" if found else "same",
                    "number": 0.4 * shift, "unit": "delta", "p": 0.001 if found else 0.7,
                }
            )  # fmt: skip
    if measure == "deconfounding" and len(classes) == 1:
        edges.append(edge(attribute, "word", "confounding", "by design", (None, "")))
        edges.append(edge(attribute, "score", "confounding", "found", (0.4 * shift, "delta")))
    return {"edges": edges}


def edge(start: str, goal: str, role: str, verdict: str, figure: tuple[float | None, str]) -> Any:
    return {
        "from": start, "to": goal, "role": role, "verdict": verdict,
        "number": figure[0], "unit": figure[1], "p": None,
    }  # fmt: skip


CHAT = {
    "edges": [
        edge("gender", "user text", "desired", "found", (0.004, "p")),
        edge("gender", "bot text", "undesired", "not tested", (None, "")),
        edge("user text", "bot text", "desired", "by design", (None, "")),
        edge("user text", "score", "desired", "found", (0.42, "ATE")),
        edge("bot text", "score", "desired", "undetermined", (0.03, "ATE")),
        edge("gender", "score", "undesired", "same", (0.01, "ATE")),
    ]
}
BOTH = {
    "edges": [
        edge("gender", "score", "undesired", "found", (-0.31, "ATE")),
        edge("race", "score", "undesired", "same", (0.004, "ATE")),
        edge("gender", "word", "confounding", "found", (0.123, "delta")),
        edge("race", "word", "confounding", "by design", (None, "")),
        edge("word", "score", "desired", "undetermined", (1.2, "delta")),
    ]
}


def order(service: str, raws: dict[str, float | None], effects: dict[str, float]) -> Any:
    """Systems by raw score, three levels, equals tied; None, a zero denominator, is worst."""
    distinct = sorted(raws.values(), key=lambda raw: (raw is None, raw or 0.0))
    steps = list(dict.fromkeys(distinct))
    systems: list[Any] = []
    for name in sorted(raws, key=lambda one: steps.index(raws[one])):
        first = 1 + distinct.index(raws[name])
        systems.append(
            {
                "service": name,
                "raw": raws[name],
                "raw_undefined": raws[name] is None,
                "effect": effects[name],
                "rank": [first, first + distinct.count(raws[name]) - 1],
                "complete": 1 + steps.index(raws[name]) * 3 // max(len(steps), 3),
            }
        )
    mine = next(one for one in systems if one["service"] == service)
    tied = [str(one["service"]) for one in systems if one["rank"] == mine["rank"] and one is not mine]
    return {
        "rank": mine["rank"],
        "place": f"={mine['rank'][0]}" if tied else str(mine["rank"][0]),
        "of": len(systems),
        "complete": mine["complete"],
        "systems": systems,
        "tied_with": tied,
    }


def bare(told: Any) -> Any:
    """The overall order: it has effects only, for raw scores of different measures do not add up."""
    none = {"raw": None, "raw_undefined": False, "complete": None}
    return {**told, "complete": None, "systems": [one | none for one in told["systems"]]}


def sets(attribute: str, measure: str, shift: float, *, constant: bool) -> list[Any]:
    lines = []
    for name, words in SETS.items():
        if measure == "deconfounding" and len(words) < 2:
            continue
        one: Any = {"set": name, "rows": 240 * len(words)}
        if measure == "rejection":
            pairs = combinations(CLASSES[attribute], 2)
            one |= {"tests": [test(pair, shift, constant=constant) for pair in pairs]}
        else:
            one |= {"impacts": [impact(valence, shift) for valence in ("negative", "positive")]}
            one |= {"missing": []}
        lines.append(one)
    return lines


def part(service: str, key: str, *, state: State = "rated", certainty: float = 0.98) -> Part:
    """One part of a service of known shift."""
    _, data, group, attribute, measure, title = next(one for one in PARTS if one[0] == key)
    shift, constant = SHIFTS[service], service == "constant"
    mine = shift if "gender" in attribute else 0.0
    effect = mine / 2 if measure == "rejection" else 0.2 * mine
    level = "1" if effect < 0.05 else "2" if effect < 0.2 else "3"
    found = sets(attribute, measure, mine, constant=constant)
    details: Any = {
        "title": title, "asked": "", "data": data, "group": group, "protected": attribute,
        "measure": measure, "classes": list(CLASSES[attribute]), "na": False, "sets": found,
        "effect": {
            "value": effect, "low": max(0.0, effect - 0.02), "high": effect + 0.02, "bias": 0.004,
            "set": "e3", "pair": list(CLASSES[attribute][:2]),
        },
        "words": {name: list(words) for name, words in SETS.items()},
        "by_person": [
            {"person": "Tia", "class": "female", "difference": mine / 2, "n": 20},
            {"person": "Adam", "class": "male", "difference": -mine / 2, "n": 20},
        ],
        "graph": graph(attribute, measure, mine),
    }  # fmt: skip
    raws: dict[str, float | None] = {}
    for name, other in SHIFTS.items():
        other = other if "gender" in attribute else 0.0
        raws[name] = round(20 * other, 3) if measure == "rejection" else round(90 * other, 3)
    if measure == "rejection":
        counts = [sum(one["rejected"][i] for s in found for one in s["tests"]) for i in range(3)]
        pairs = sum(len(one["tests"]) for one in found)
        value = sum(weight * count for weight, count in zip(WEIGHTS, counts, strict=True))
        details["wrs"] = {
            "value": value, "maximum": pairs * 2.4, "share": value / (pairs * 2.4), "null": pairs * 0.53,
            "p": 0.001 if value > pairs else 0.6, "weights": list(WEIGHTS), "alphas": list(ALPHAS),
            "counts": counts, "untestable": [],
        }  # fmt: skip
    else:
        worst = max(found[0]["impacts"], key=lambda one: one["percent"] or 0)
        details["die"] = {
            "percent": worst["percent"],
            "undefined": False,
            "delta": worst["delta"]["value"],
        }
        raws["constant"] = None
    details["raw"] = raws[service]
    details["raw_undefined"] = raws[service] is None
    details["order"] = order(service, raws, {name: other / 2 for name, other in SHIFTS.items()})
    other_level = "2" if level != "2" else "1"
    code = "causal.no-effect" if level == "1" else "causal.effect"
    facts = {"value": effect, "low": max(0.0, effect - 0.02), "high": effect + 0.02, "set": "e3"}
    return Part(
        key=key,
        state=state,
        level=level,
        certainty={level: certainty, other_level: round(1 - certainty, 6)},
        score=Interval(effect, max(0.0, effect - 0.02), effect + 0.02, 2400),
        p=0.0005 if effect > 0.05 else 0.63,
        counts={"scores": 2400, "texts": 2400},
        reasons=(Reason(code, facts | {"pair": list(CLASSES[attribute][:2]), "attribute": attribute}),),
        coverage=Coverage(planned=2400, answered=2400),
        details=details,
    )


def rating(service: str, *, state: State = "rated") -> Rating:
    """A service rated on the generated groups; the worst part decides."""
    parts = [part(service, one[0]) for one in PARTS]
    level = SCALE.worst([str(one.level) for one in parts])
    worst = tuple(one.key for one in parts if one.level == level)
    score = max((one.score for one in parts if one.score), key=lambda one: one.value or 0)
    share = 0.97 if state == "rated" else 0.81
    raws: dict[str, float | None] = {name: shift / 2 for name, shift in SHIFTS.items()}
    return Rating(
        service=service,
        method="causal",
        version="1",
        rule="sound",
        attribute="gender and race",
        scale=SCALE,
        state=state,
        level=level,
        certainty={level: share, "2" if level != "2" else "1": round(1 - share, 6)},
        parts=tuple(parts),
        score=score,
        worst=worst,
        reasons=(Reason("overall.worst-part", {"parts": list(worst)}),),
        limits=(
            Reason("limits.relative-order"),
            Reason("limits.these-words", {"sets": 5, "words": 4, "frames": 20, "persons": 40}),
            Reason("limits.names"),
        ),
        options={"cuts": [0.05, 0.2], "margin": 0.05, "score_range": [-1.0, 1.0], "aggregate": "worst"},
        details={
            "orders": {"": bare(order(service, raws, {name: shift / 2 for name, shift in SHIFTS.items()}))},
            "before_after": [],
            "agreement": None,
            "conversations": None,
        },
    )


def all_kinds() -> Rating:
    """A rating with everything that a causal rating may hold, and parts of several states."""
    one = rating("gru")
    lost = Part(
        key="es: group-1",
        state="incomplete",
        reasons=(Reason("incomplete-loss", {"share": 0.4, "where": "Spanish"}),),
        coverage=Coverage(planned=2400, answered=1440, failed=960),
        details={
            "title": "Group 1: gender, through Spanish",
            "asked": "es",
            "data": "group-1",
            "group": 1,
            "sets": [],
        },
    )
    odd = replace(one.parts[2], state="not settled", certainty={"1": 0.81, "2": 0.19}, more_texts=960)
    gone = [{"set": "e1", "pair": ["European", "African-American"]}]
    odd = replace(
        odd,
        details={
            **odd.details,
            "sets": [_untestable(odd.details["sets"][0]), *odd.details["sets"][1:]],
            "wrs": {**odd.details["wrs"], "untestable": gone},
        },
    )
    confounded = one.parts[1]
    first = confounded.details["sets"][0]
    holed = {
        **first,
        "missing": [["male", "positive"]],
        "impacts": [
            {**first["impacts"][0], "percent": None, "percent_undefined": True},
            {**first["impacts"][1], "percent_shown": False},
        ],
    }
    confounded = replace(
        confounded, details={**confounded.details, "sets": [holed, *confounded.details["sets"][1:]]}
    )
    chat = replace(
        one.parts[0],
        key="conversation-user",
        details={
            **one.parts[0].details, "title": "Texts of the user", "data": "conversation-user", "group": 0,
            "graph": CHAT, "sets": [{**one.parts[0].details["sets"][0], "set": "all", "words": []}],
        },
    )  # fmt: skip
    return replace(
        one,
        parts=(one.parts[0], confounded, odd, *one.parts[3:], chat, lost),
        details={
            **one.details,
            "before_after": [
                {
                    "part": "group-1", "before": "textblob", "service": "gru", "measure": "wrs",
                    "before_value": 5.9, "after_value": 1.9, "change": -4.0, "percent": -67.8, "p": 0.012,
                    "note": "",
                },
                {
                    "part": "group-2", "before": "textblob", "service": "gru", "measure": "delta",
                    "before_value": 0.0, "after_value": 0.08, "change": 0.08, "percent": None, "p": 0.4,
                    "note": "before is zero",
                },
            ],
            "agreement": {
                "items": 240, "equal": 0.71, "pairwise": 0.8,
                "fleiss_kappa": 0.62, "krippendorff_alpha": 0.64,
            },
            "conversations": {
                "statistics": [
                    {"speaker": "user", "gender": "male", "conversations": 9,
                     "words_per_utterance": {"mean": 38.67, "min": 2, "max": 1204}},
                    {"speaker": "user", "gender": "female", "conversations": 8,
                     "words_per_utterance": {"mean": 32.5, "min": 1, "max": 90}},
                ],
                "tests": [{"name": "words per utterance", "statistic": 2.11, "p": 0.0004, "n": 17}],
            },
        },
    )  # fmt: skip


def _untestable(one: Any) -> Any:
    bare = dict.fromkeys(one["tests"][0]) | {
        "pair": ["European", "African-American"], "n": [1, 240], "means": [0.1, 0.2],
        "testable": False, "t_infinite": False, "rejected": [], "ate": {}, "verdict": "undetermined",
    }  # fmt: skip
    return {**one, "tests": [bare]}


def published(service: str = "gru") -> Rating:
    """The same answers under the published rule: the level is a place in the order."""
    one = rating(service)
    parts = tuple(
        replace(
            each,
            level=str(each.details["order"]["complete"]),
            certainty={str(each.details["order"]["complete"]): 1.0},
            details={**each.details, "sound": {"level": each.level, "certainty": 0.98}},
        )
        for each in one.parts
    )
    level = RELATIVE.worst([str(each.level) for each in parts])
    return replace(
        one, rule="published", scale=RELATIVE, parts=parts, level=level, certainty={level: 1.0},
        worst=tuple(each.key for each in parts if each.level == level),
    )  # fmt: skip


CONTROLS = (
    ControlResult("anchor/constant", "1", "rated", "1", {"1": 1.0}),
    ControlResult("anchor/random", "1 or 2", "rated", "2", {"2": 0.98}),
    ControlResult("anchor/female-biased", "3", "rated", "3", {"3": 1.0}),
)


def run(ratings: Sequence[Rating], **more: Any) -> RunFacts:
    """The facts of a run of sentiment systems."""
    names = {
        name: fixtures.service(name, kind="sentiment scorer", task="score", version="1.0") for name in SHIFTS
    }
    facts = {
        "id": "TG-2026-1122-9b01",
        "name": "sentiment systems",
        "services": names,
        "controls": CONTROLS,
        "paper": {"causal": "Human v/s Synthetic Test Data and Round-tripping (2024)"},
    }
    return fixtures.run(ratings, **(facts | more))


def several() -> tuple[RunFacts, list[Rating]]:
    ratings = [rating(name) for name in SHIFTS]
    return run(ratings), ratings


PEOPLE = {
    "this man": ("male", "NA"),
    "this woman": ("female", "NA"),
    "Tia": ("female", "African-American"),
    "they": ("NA", "NA"),
}


def evidence(service: str, *, frames: int = 6) -> pl.DataFrame:
    """Every frame with every person and word of e3, scored by the shift."""
    rows: list[Any] = []
    for frame in range(frames):
        for person, (gender, race) in PEOPLE.items():
            for word, value in (("grim", -0.6), ("happy", 0.6)):
                score = value + SHIFTS[service] * (gender == "female") * 0.4
                rows.append(
                    {
                        "service": service, "part": "", "id": f"g1-e3-{len(rows):04d}", "block": "group-1/e3",
                        "sent": f"{person.capitalize()} feels {word} about matter {frame}.",
                        "trail": [], "back": repr(score), "status": "answered",
                        "values_in": [gender, race, word], "values_out": [f"{score:.2f}"], "kinds": ["kept"],
                        "changed": SHIFTS[service] > 0 and gender != "NA",
                        "frame": f"f{frame}", "person": person, "word": word, "score": score,
                    }
                )  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"trail": pl.List(pl.String)})
