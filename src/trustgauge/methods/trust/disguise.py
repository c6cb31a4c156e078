"""Scripts in disguise: held-back scenes, provocations and conversations, drawn by seed (methods 0.12).

A bot can keep secrets and stay polite only where it recognises the published scripts. So a share of the
scripts of each purpose is dealt by lot, and each of them is replaced by one of as many turns that is not
published. What is read of the answers stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trustgauge.data import package_table
from trustgauge.methods.trust.issues.issue import TALK, DealtScript, Script
from trustgauge.rating.recognition import draw_half, draw_one
from trustgauge.stats import stream

LOWER = 0.2  # share of disguised conversations in small letters throughout
AROUND = 0.5  # chance of each sentence around a turn
LANGUAGE = "en"
"""What the bank is written in."""
_CHOICE = re.compile(r"\[([^]]+)\]")


@dataclass(frozen=True)
class ScriptBank:
    """What disguises are drawn from in one run: half of each list, by seed."""

    around: Mapping[str, Sequence[str]]
    secrets: Mapping[str, Sequence[str]]
    provocations: Mapping[str, Sequence[Any]]
    talks: Mapping[str, Sequence[str]]

    @classmethod
    def of_run(cls, seed: int) -> ScriptBank:
        """The half of a seed."""
        rng = stream(seed, "trust", "disguises")
        every = _bank()
        lists = {
            table: {name: draw_half(one, rng) for name, one in every[table].items()}
            for table in ("around", "secrets", "provocations")
        }
        return cls(**lists, talks=dict(draw_half(list(every["talks"].items()), rng)))

    def wrap(self, text: str, rng: np.random.Generator, before: Sequence[str] = ()) -> str:
        """A text with some of: an opener, a sentence of `before`, a closer."""
        parts = [
            draw_one(self.around["openers"], rng) if rng.random() < AROUND else "",
            draw_one(before, rng) if before and rng.random() < AROUND else "",
            text[:1].upper() + text[1:] if text[0] != "{" else text,
            draw_one(self.around["closers"], rng) if rng.random() < AROUND else "",
        ]
        return " ".join(part for part in parts if part)


def deal(kinds: Sequence[str], share: float, rng: np.random.Generator) -> list[bool]:
    """Which scripts are disguised: a share of each kind, by lot.

    >>> sum(deal(["short"] * 6 + ["long"] * 4, 0.5, np.random.default_rng(1)))
    5
    """
    found = [False] * len(kinds)
    for kind in dict.fromkeys(kinds):
        mine = [place for place, one in enumerate(kinds) if one == kind]
        number = int(share * len(mine) + rng.random())
        for place in rng.permutation(len(mine))[:number]:
            found[mine[place]] = True
    return found


def disguise_talks(scripts: Sequence[Script], share: float, seed: int) -> list[DealtScript]:
    """Ordinary conversations, some of them in disguise."""
    rng, bank = stream(seed, "trust", "disguise", TALK), ScriptBank.of_run(seed)
    dealt = deal([TALK] * len(scripts), share, rng)
    held_back = _in_turn([(name, list(turns)) for name, turns in bank.talks.items()], rng)
    found = []
    for script, disguised in zip(scripts, dealt, strict=True):
        plain = DealtScript(script, TALK)
        found.append(replace_turns(plain, *next(held_back), bank, rng) if disguised else plain)
    return found


def disguise_provocations(scripts: Sequence[Script], share: float, seed: int) -> list[DealtScript]:
    """Provocations, some of them in disguise: each by one of its kind."""
    rng, bank = stream(seed, "trust", "disguise", "provocations"), ScriptBank.of_run(seed)
    kinds = [script[0].step for script in scripts]
    held_back = {
        kind: _in_turn([(f"{kind} {number}", one) for number, one in enumerate(listed)], rng)
        for kind, listed in (
            ("scene", bank.provocations["scenes"]),
            *((kind, [[text] for text in bank.provocations[kind]]) for kind in ("mild", "strong")),
        )
    }
    found = []
    for script, kind, disguised in zip(scripts, kinds, deal(kinds, share, rng), strict=True):
        plain = DealtScript(script, kind)
        found.append(replace_turns(plain, *next(held_back[kind]), bank, rng) if disguised else plain)
    return found


def replace_turns(
    plain: DealtScript, unit: str, texts: Sequence[str], bank: ScriptBank, rng: np.random.Generator
) -> DealtScript:
    """A script whose turns say something else."""
    lines = [_CHOICE.sub(lambda gap: draw_one(gap[1].split("|"), rng), text) for text in texts]
    lines = lines[: len(plain.script)]
    lines[0] = bank.wrap(lines[0], rng)
    if rng.random() < LOWER:
        lines = [line.lower() for line in lines]
    turns = (replace(turn, text=line) for turn, line in zip(plain.script, lines, strict=True))
    return DealtScript(tuple(turns), plain.kind, unit, is_disguised=True)


@dataclass(frozen=True)
class SecretWording:
    """In which words secrets are told, asked for, and to be forgotten, and the small talk between.

    Attributes:
        start: where in each list a scene begins.
    """

    start: int
    tell: Sequence[str]
    ask: Sequence[str]
    partial: Sequence[str]
    forget: Sequence[str]
    filler: Sequence[str]

    @classmethod
    def in_disguise(cls, bank: ScriptBank, wordings: int, rng: np.random.Generator) -> SecretWording:
        """Sentences of one scene.

        Args:
            bank: of the run.
            wordings: in how many ways a secret is asked for; the last gives its first part away.
            rng: of the scene.
        """

        def drawn(name: str, count: int, before: str = "") -> list[str]:
            listed = bank.secrets[name]
            places = rng.permutation(len(listed))[:count]
            return [bank.wrap(listed[place], rng, bank.secrets.get(before, ())) for place in places]

        return cls(
            0,
            drawn("tell", 1, "before-telling"),
            drawn("ask", wordings - 1, "before-asking"),
            drawn("partial", 1, "before-asking"),
            drawn("forget", 1),
            drawn("filler", len(bank.secrets["filler"])),
        )


def _in_turn(
    every: Sequence[tuple[str, Sequence[str]]], rng: np.random.Generator
) -> Iterator[tuple[str, Sequence[str]]]:
    """All of a list in random order, then again in another."""
    while True:
        yield from (every[place] for place in rng.permutation(len(every)))


def _bank() -> Mapping[str, Any]:
    return package_table(__package__, "data/disguises.toml")


def subjects() -> Mapping[str, str]:
    """Turns of the held-back conversations that have one wording, in small letters -> the subject."""
    return {
        turn.lower(): name
        for name, turns in _bank()["talks"].items()
        for turn in turns
        if not _CHOICE.search(turn)
    }
