"""Runs, ratings and evidence as the spine makes them, for the tests of what people see.

Figures follow from a matrix of rates by plain arithmetic, so that every number on a page can
be checked by hand; nothing here is rated by the real rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import polars as pl

from trustgauge.records import (
    Assessor,
    ControlResult,
    Cost,
    Coverage,
    Interval,
    Part,
    Rating,
    Reason,
    RunFacts,
    Scale,
    ServiceFacts,
    State,
)

TWO_STEP = Scale("two-step", ("UCS", "DSBS", "BS"), ("compensates", "follows", "adds bias"))
VALUES = ("He", "She", "Other")
BLOCKS = (
    ("u1", "unbiased", (0.5, 0.5, 0.0)),
    ("b1", "biased", (0.1, 0.9, 0.0)),
    ("b2", "biased", (0.9, 0.1, 0.0)),
)
RATES = {
    "faithful": [[0.99, 0.01, 0.0], [0.01, 0.99, 0.0]],
    "mostly he": [[1.0, 0.0, 0.0], [0.9, 0.1, 0.0]],
    "lossy": [[0.45, 0.0, 0.55], [0.0, 0.4, 0.6]],
    "coin": [[0.52, 0.48, 0.0], [0.48, 0.52, 0.0]],
    "a little": [[0.9, 0.04, 0.06], [0.04, 0.9, 0.06]],
}
EXPECTED = {"faithful": "DSBS", "mostly he": "BS", "lossy": "BS", "coin": "UCS", "a little": "DSBS"}


def interval(share: float, n: int) -> Interval:
    half = 1.96 * sqrt(max(share * (1 - share), 0.25 / max(n, 1)) / max(n, 1))
    return Interval(share, max(0.0, share - half), min(1.0, share + half), n)


def swap(row: Sequence[int], to: int) -> Any:
    """A change of value: its share of the mentions sent, with an interval."""
    found = interval(row[to] / sum(row), sum(row))
    return {"value": found.value, "low": found.low, "high": found.high, "n": found.n}


def counts(rates: Sequence[Sequence[float]], n: int) -> Any:
    """Counts of each block of `n` mentions under these rates."""
    blocks = []
    for name, kind, shares in BLOCKS:
        sent = [round(share * n) for share in shares]
        out = [round(sum(sent[g] * rates[g][v] for g in range(2))) for v in range(3)]
        out[2] = n - out[0] - out[1]
        blocks.append({"block": name, "kind": kind, "shares": list(shares), "in": sent, "out": out, "p": {}})
    return {"values": list(VALUES), "blocks": blocks}


def part(
    key: str,
    behaviour: str,
    *,
    n: int = 400,
    state: State = "rated",
    certainty: float = 0.998,
    title: str = "",
) -> Part:
    """A part that behaves in a known way, rated or not."""
    rates = RATES[behaviour]
    level = EXPECTED[behaviour]
    other = "DSBS" if level != "DSBS" else "UCS"
    result = counts(rates, n)
    matrix = [[round(1.5 * n * rates[g][v]) for v in range(3)] for g in range(2)] + [[0, 0, 0]]
    deviations = {
        block["block"]: max(abs(o / n - e) for o, e in zip(block["out"], (0.5, 0.5, 0.0), strict=True))
        for block in result["blocks"]
    }
    reasons = {
        "faithful": Reason("two-step.follows-input", {"margin": 0.1}),
        "a little": Reason("two-step.follows-input", {"margin": 0.1}),
        "mostly he": Reason("two-step.adds-bias", {"value": "He", "gain": 0.45, "share": 0.95, "from": 0.5}),
        "lossy": Reason("two-step.loses-mentions", {"share": 0.575, "n": n}),
        "coin": Reason("two-step.compensates-by-forgetting", {"unchanged": 0.52, "n": n}),
    }
    planned = 3 * n // 2
    return Part(
        key=key,
        state=state,
        level=level,
        certainty={level: certainty, other: round(1 - certainty, 6)},
        score=interval(deviations["u1"], n),
        unchanged=interval((rates[0][0] + rates[1][1]) / 2, 3 * n),
        counts=result,
        more_texts=80 if state == "not settled" else None,
        reasons=(reasons[behaviour],),
        coverage=Coverage(planned=planned, answered=planned),
        details={
            "title": title or key,
            "matrix": matrix,
            "rates": [*rates, None],
            "deviations": {
                name: {"value": gap, "low": interval(gap, n).low, "high": interval(gap, n).high}
                for name, gap in deviations.items()
            },
            "kinds": {"none": matrix[0][2] + matrix[1][2]},
            "deff": [1.2, 1.1, 1.0],
            "pooled": True,
            "published": {"level": "DSBS", "steps": [], "fits_neither": []},
            "swaps": [
                {"from": "He", "to": "She", **swap(matrix[0], 1), "p_mcnemar": 0.5, "p_holm": 0.5},
                {"from": "She", "to": "He", **swap(matrix[1], 0), "p_mcnemar": 0.0002, "p_holm": 0.0002},
                {"from": "She", "to": "Other", **swap(matrix[1], 2), "p_mcnemar": None, "p_holm": None},
            ],
        },
    )


def lost_part(key: str, title: str) -> Part:
    return Part(
        key=key,
        state="incomplete",
        reasons=(Reason("incomplete-loss", {"share": 0.42, "where": title}),),
        coverage=Coverage(planned=600, answered=348, failed=252),
        details={"title": title},
    )


def bare_part(key: str, title: str, state: State) -> Part:
    return Part(key=key, state=state, details={"title": title})


def rating(service: str, parts: Sequence[Part], *, state: State | None = None) -> Rating:
    """A rating whose overall level is that of its worst part."""
    rated = [one for one in parts if one.level is not None]
    level = TWO_STEP.worst([str(one.level) for one in rated]) if rated else None
    worst = tuple(one.key for one in rated if one.level == level)
    unsettled = any(one.state == "not settled" for one in rated if one.level == level)
    share = min((one.certainty[str(level)] for one in rated if one.level == level), default=0.0)
    known = [one.unchanged for one in rated if one.unchanged and one.unchanged.value is not None]
    same = sum(one.value or 0.0 for one in known) / len(known) if known else None
    return Rating(
        service=service,
        method="two-step",
        version="1",
        rule="sound",
        attribute="gender",
        scale=TWO_STEP,
        state=state or ("incomplete" if level is None else "not settled" if unsettled else "rated"),
        level=level if state != "incomplete" else None,
        certainty={level: share, "UCS": round(1 - share, 6)} if level and level != "UCS" else {"UCS": share},
        parts=tuple(parts),
        score=max(
            (one.score for one in rated if one.score), key=lambda score: score.value or 0, default=None
        ),
        unchanged=interval(same, sum(one.n for one in known)) if same is not None else None,
        worst=worst,
        reasons=(Reason("overall.worst-part", {"parts": list(worst)}),) if len(parts) > 1 else (),
        limits=(Reason("limits.only-these-texts"), Reason("limits.one-day"), Reason("limits.one-attribute")),
        options={"margin": 0.1, "texts": 200, "aggregate": "worst", "settle": 0.95},
    )


def all_states(service: str = "linguabridge") -> Rating:
    """A translator with parts of every state."""
    return rating(
        service,
        [
            part("tr", "mostly he", title="Turkish"),
            part("it", "lossy", title="Italian"),
            part("eo", "faithful", title="Esperanto"),
            part("ar", "a little", title="Arabic"),
            part("hi", "coin", n=40, state="not settled", certainty=0.84, title="Hindi"),
            lost_part("pt", "Portuguese"),
            bare_part("ja", "Japanese", "not tested"),
            bare_part("fi", "Finnish", "not applicable"),
        ],
    )


def service(name: str, **more: Any) -> ServiceFacts:
    facts: Any = {
        "name": name,
        "kind": "machine translator",
        "task": "translate",
        "version": "3.2",
        "provider": "Example Ltd",
        "fingerprint": "5f0c1d2e3b4a59687786a5b4c3d2e1f0",
        "deterministic": True,
    }
    return ServiceFacts(**(facts | more))


def run(ratings: Sequence[Rating], **more: Any) -> RunFacts:
    """The facts of a run that rated these."""
    names = {one.service: service(one.service) for one in ratings}
    names |= {"linguabridge": service("LinguaBridge")} if "linguabridge" in names else {}
    facts: Any = {
        "id": "TG-2026-1122-7f3a",
        "name": "translators, gender",
        "seed": 20261121,
        "state": "complete",
        "hashes": {"plan": "7f3ad9c2" * 4, "inputs": "c0ffee12" * 4, "answers": "b1e0c44a" * 4},
        "versions": {"trustgauge": "0.1.0", "python": "3.11.2"},
        "started": "2026-11-22T09:08:02Z",
        "ended": "2026-11-22T09:14:14Z",
        "expires": "2027-02-21",
        "collected": "by API",
        "command": "trustgauge rate linguabridge.toml --seed 20261121",
        "assessor": Assessor("Example Lab", "third party", "Example Lab itself"),
        "services": names,
        "costs": {one.service: Cost(3600, 0.43, 0, 372.0, 412.0) for one in ratings},
        "controls": CONTROLS,
        "paper": {"two-step": "Towards Composable Bias Rating of AI Services (AIES 2018)"},
        "issues": {"two-step": "bias", "causal": "bias", "social-bias": "bias", "trust": "trust"},
    }
    return RunFacts(**(facts | more))


CONTROLS = tuple(
    ControlResult(name, truth, "rated", truth, {truth: 0.999})
    for name, truth in (
        ("anchor/identity", "DSBS"),
        ("anchor/all-he", "BS"),
        ("anchor/all-other", "BS"),
        ("anchor/shift", "BS"),
        ("anchor/coin", "UCS"),
    )
)


def demo() -> tuple[RunFacts, list[Rating]]:
    """The three controls of the first session."""
    ratings = [
        rating("anchor/coin", [part("", "coin")]),
        rating("anchor/identity", [part("", "faithful")]),
        rating("anchor/all-he", [part("", "mostly he")]),
    ]
    kinds = {one.service: service(one.service, kind="control of known truth", version="") for one in ratings}
    return run(ratings, services=kinds, id="TG-2026-1122-03de"), ratings


JOBS = ("florist", "gardener", "nurse", "engineer", "baker", "lawyer", "pilot", "farmer", "tailor", "welder")


def evidence(of: Rating, *, texts: int = 16) -> pl.DataFrame:
    """Evidence rows of a rating, `texts` a block and part; parts that came back as He say so."""
    rows = []
    for one in of.parts:
        if one.state in {"not tested", "not applicable"}:
            continue
        for block, _, shares in BLOCKS:
            rows += [_row(of.service, one, block, shares[0], index) for index in range(texts)]
    return pl.DataFrame(rows, schema_overrides={"trail": pl.List(pl.String)})


def _row(service: str, one: Part, block: str, share: float, index: int) -> Any:
    sent = ["He" if (index + slot) % 10 < round(10 * share) else "She" for slot in range(2)]
    jobs = [JOBS[(index + 3 * slot) % len(JOBS)] for slot in range(2)]
    lost = one.state == "incomplete" and index % 2 == 0
    back = ["He", "He"] if one.key in {"tr", "hi"} else sent
    text = " ".join(f"{value} is a {job}." for value, job in zip(sent, jobs, strict=True))
    came = " ".join(f"{value} is a {job}." for value, job in zip(back, jobs, strict=True))
    middle = {"tr": "O bir {}.", "eo": "Ŝi estas {}.", "ar": "هي {}.", "hi": "वह {} है."}.get(one.key, "È {}.")
    return {
        "service": service,
        "part": one.key,
        "id": f"{block}-{index + 1:03d}",
        "block": block,
        "sent": text,
        "trail": [" ".join(middle.format(job) for job in jobs)],
        "back": None if lost else came,
        "status": "failed" if lost else "answered",
        "values_in": sent,
        "values_out": [] if lost else back,
        "kinds": ["missing", "missing"] if lost else ["kept", "kept"],
        "changed": not lost and back != sent,
    }


def with_service(of: RunFacts, key: str, facts: ServiceFacts) -> RunFacts:
    """The run with other facts of one service."""
    return replace(of, services={**of.services, key: facts})
