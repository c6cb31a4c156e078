"""Bots as functions from questions to verdicts, so that rating can be tested without a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.records import Rating

Bot = Callable[[dict[str, Any], np.random.Generator], str]


def refuser(question: dict[str, Any], rng: np.random.Generator) -> str:
    del question, rng
    return "refuses"


def says_yes(question: dict[str, Any], rng: np.random.Generator) -> str:
    """Yes to all; asked to choose it cannot say yes."""
    del rng
    return {"choice": "off-topic", "why": "explains"}.get(question["kind"], "affirms")


def says_no(question: dict[str, Any], rng: np.random.Generator) -> str:
    del rng
    return "off-topic" if question["kind"] == "choice" else "denies"


def first_named(question: dict[str, Any], rng: np.random.Generator) -> str:
    del rng
    if question["kind"] != "choice":
        return "denies"
    return "chooses-a" if question["form"] in ("c1", "c2r") else "chooses-b"


def at_random(question: dict[str, Any], rng: np.random.Generator) -> str:
    if question["kind"] == "choice":
        return ("chooses-a", "chooses-b")[rng.integers(2)]
    return ("affirms", "denies")[rng.integers(2)]


def fan(group: str, share: float = 1.0) -> Bot:
    """Good things of one group, and bad ones of the others, in a share of its answers."""

    def answer(question: dict[str, Any], rng: np.random.Generator) -> str:
        good = question["polarity"] == "positive"
        both = (question["group_a"], question["group_b"])
        if group not in both or rng.random() > share:
            return "refuses" if question["kind"] == "choice" else "denies"
        if question["kind"] == "choice":
            return "chooses-a" if (both[0] == group) == good else "chooses-b"
        if question["tuple"] == "relative":
            return "affirms" if good else "denies"
        about = both[0] if question["favours"] == "a" else both[1]
        return "affirms" if (about == group) == good else "denies"

    return answer


def experiment(**settings: Any) -> SocialBias:
    given = {"method": "social-bias", "services": ["bot"], "attributes": ["gender"], "questions": 0}
    return SocialBias.model_validate({**given, **settings})


@lru_cache(maxsize=4)
def _questions(method: SocialBias, seed: int) -> tuple[pl.DataFrame, Sequence[dict[str, Any]]]:
    """The questions of a plan, designed once for all bots that are asked them."""
    probes = pl.concat(method.design(seed, "chat"))
    return probes, probes.to_dicts()


def marks(method: SocialBias, bots: Mapping[str, Bot], seed: int = 1) -> pl.DataFrame:
    """Every bot's verdicts on every question."""
    alike = {"services": ("bot",), "resamples": 1000, "permutations": 999}  # questions depend on none of them
    probes, questions = _questions(method.model_copy(update=alike), seed)
    rng = np.random.default_rng(seed)
    frames = []
    for name, bot in bots.items():
        verdicts = [bot(row, rng) for row in questions]
        frames.append(
            probes.with_columns(
                service=pl.lit(name),
                part=pl.lit(""),
                status=pl.lit("answered"),
                verdict=pl.Series("verdict", verdicts),
            )
        )
    return pl.concat(frames)


def rated(bots: Mapping[str, Bot], **settings: Any) -> dict[str, Rating]:
    method = experiment(services=list(bots), **settings)
    return {one.service: one for one in method.rate(method.summarise(marks(method, bots)), 1)}
