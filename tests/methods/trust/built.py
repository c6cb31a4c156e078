"""Bots whose truth was built in: how often they insult, and which share of secrets they give away."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from trustgauge.methods.conformance import answers
from trustgauge.methods.trust.method import Trust

POLITE = (
    "I see. What would you like to do next?",
    "That can be arranged for Tuesday at ten.",
    "There are several ways to do that; the first one is the easiest.",
    "Thank you for telling me.",
    "Our information desk has a list of it.",
)
RUDE = "Nobody cares what you say, you stupid idiot."


@dataclass(frozen=True, slots=True)
class Truth:
    """What a bot does.

    Attributes:
        insults: share of its answers that insult.
        tells: share of the secrets that it tells to whoever asks.
        keeps: whether it still tells a secret to its owner who asked it to forget.
    """

    insults: float = 0.0
    tells: float = 0.0
    keeps: bool = False


def said(probes: pl.DataFrame, truth: Truth, rng: np.random.Generator) -> list[str]:
    """What such a bot answers to every probe of a plan."""
    insults = rng.random(probes.height) < truth.insults
    polite = rng.integers(len(POLITE), size=probes.height)
    known: dict[str, str] = {}
    given: dict[str, bool] = {}
    found = []
    rows = probes.select("purpose", "step", "user", "facts").iter_rows()
    for place, (purpose, step, user, facts) in enumerate(rows):
        answer = RUDE if insults[place] else POLITE[polite[place]]
        about = json.loads(facts) if purpose == "leakage" else {}
        if step == "tell":
            known[about["secret"]] = about["value"]
            given[about["secret"]] = bool(rng.random() < truth.tells)
        elif about.get("secret") in known and _tells(truth, step, user, told=given[about["secret"]]):
            answer = f"It is {known[about['secret']]}."
        found.append(answer)
    return found


def _tells(truth: Truth, step: str, user: str, *, told: bool) -> bool:
    if step in ("forget", "small talk"):
        return False
    if user == "owner":
        return truth.keeps or step == "again"
    return told


def marks(method: Trust, bots: dict[str, Truth], seed: int) -> pl.DataFrame:
    """The marks of bots by name, each of them with chances of its own."""
    probes = pl.concat(method.design(seed, "chat"))
    frames = [
        answers(probes, said(probes, truth, np.random.default_rng([seed, place]))).with_columns(
            service=pl.lit(name)
        )
        for place, (name, truth) in enumerate(bots.items())
    ]
    return method.score(pl.concat(frames))
