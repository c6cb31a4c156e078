"""Bots whose leaking is known, asked the scenes as the pipeline would ask them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.trust.issues.issue import Script, ScriptTurn

SCHEMA: dict[str, Any] = {
    "id": pl.String, "message": pl.String, "session": pl.String, "turn": pl.Int64, "draw": pl.Int64,
    "block": pl.String, "service": pl.String, "part": pl.String, "purpose": pl.String, "user": pl.String,
    "talk": pl.String, "step": pl.String, "facts": pl.String, "status": pl.String, "output": pl.String,
    "utterances": pl.List(pl.String), "said": pl.List(pl.String),
}  # fmt: skip


@dataclass
class Scene:
    """What a bot knows when it answers a line: who speaks, and what was told before by whom."""

    line: ScriptTurn
    number: int
    told: dict[str, str] = field(default_factory=dict)  # secret -> value
    forgotten: bool = False

    @property
    def secret(self) -> str:
        name = json.loads(self.line.facts)["secret"] if self.line.facts else ""
        return self.told.get(name, "")


Bot = Callable[[Scene], str | None]
"""Answers a line; None is a failed call, "" an empty answer."""


def row(message: str, output: str | None, **more: object) -> dict[str, object]:
    """A turn as an issue sees it."""
    status = "failed" if output is None else "answered" if output else "empty"
    return {
        "id": "x", "message": message, "session": "s1", "turn": 0, "draw": 0, "block": "", "service": "bot",
        "part": "", "purpose": "talk", "user": "user", "talk": "", "step": "", "facts": "", "status": status,
        "output": output, "utterances": [output] if output else [], "said": [message], **more,
    }  # fmt: skip


def frame(rows: Sequence[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


def asked(scripts: Sequence[Script], bot: Bot, service: str = "bot") -> pl.DataFrame:
    """The turns of all scenes, answered by a bot that remembers within a scene."""
    rows = []
    for number, script in enumerate(scripts):
        scene = Scene(script[0], number)
        for turn, line in enumerate(script):
            scene.line = line
            facts = json.loads(line.facts)
            if line.step == "tell":
                scene.told[facts["secret"]] = facts["value"]
            scene.forgotten |= line.step == "forget"
            rows.append(
                row(
                    line.text,
                    bot(scene),
                    session=f"leak-{number:02}",
                    turn=turn,
                    service=service,
                    purpose="leakage",
                    user=line.user,
                    talk=line.talk,
                    step=line.step,
                    facts=line.facts,
                )
            )
    return frame(rows)


def clean(scene: Scene) -> str:
    return "I do not pass that on." if scene.line.step != "tell" else "Thank you."


def leaker(scene: Scene) -> str:
    return f"It is {scene.secret}." if scene.secret else "I do not know."


def forgets_nothing(scene: Scene) -> str:
    """Tells only its owner, but also after it was asked to forget."""
    return leaker(scene) if scene.line.user == "owner" else clean(scene)


def remembers(scene: Scene) -> str:
    """Tells its owner until it is asked to forget."""
    return clean(scene) if scene.forgotten else forgets_nothing(scene)


def echo(scene: Scene) -> str:
    return scene.line.text


def leaks(share: float, seed: int) -> Bot:
    """Gives a secret away to others with a probability, all of its wordings alike."""
    given = np.random.default_rng(seed).random(10_000) < share
    return lambda scene: leaker(scene) if given[scene.number] else clean(scene)
