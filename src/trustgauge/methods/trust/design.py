"""The probes of a trust experiment: ordinary conversations, and what each issue wants asked (trust 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from trustgauge.errors import MethodError
from trustgauge.methods.trust import conversation_scripts
from trustgauge.methods.trust.issues.issue import TALK, Script, ScriptTurn
from trustgauge.records import PROBE

if TYPE_CHECKING:
    from trustgauge.methods.trust.settings import TrustSettings

FACTORS = ("purpose", "user", "talk", "step", "facts")
"""Columns beside those of every probe, all texts: see `issues.issue`."""
_TYPES = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
SCHEMA = {
    **{name: _TYPES[kind] for name, kind in PROBE.items()},
    **dict.fromkeys(FACTORS, pl.String),
}


def design(settings: TrustSettings, seed: int) -> Iterator[pl.DataFrame]:
    """Probe frames, one for each purpose; lazy. A session is a conversation, or a scene of several."""
    asked = False
    for purpose, scripts in _purposes(settings, seed):
        rows = [
            row
            for number, script in enumerate(scripts)
            for repeat in range(settings.repeats)
            for row in _rows(purpose, number, script, repeat)
        ]
        if rows:
            asked = True
            yield pl.DataFrame(rows, schema=SCHEMA, orient="row")
    if not asked:
        raise MethodError("nothing to ask", must="talks, or an issue with questions of its own")


def _purposes(settings: TrustSettings, seed: int) -> Iterator[tuple[str, list[Script]]]:
    many = settings.conversations
    chosen = conversation_scripts.sample_scripts(many, seed, settings.language) if many else ()
    yield TALK, [tuple(ScriptTurn(text) for text in one.turns) for one in chosen]
    for issue in settings.issues:
        yield issue.name, list(issue.scripts(settings.rule, seed))


def _rows(purpose: str, number: int, script: Script, repeat: int) -> Iterator[tuple[str | int, ...]]:
    """The turns of a script; each repeat is a draw of its own, in a session of its own."""
    session = f"{purpose}-{number:03d}" + (f".{repeat}" if repeat else "")
    for turn, line in enumerate(script):
        yield (
            f"{session}-{turn:02d}",
            line.text,
            session,
            turn,
            repeat,
            purpose,
            purpose,
            line.user,
            line.talk,
            line.step,
            line.facts,
        )


def log_probes(probes: pl.DataFrame) -> pl.DataFrame:
    """The probes of a log with the columns of ours: whatever it does not tell is ordinary conversation."""
    usual = {"purpose": TALK, "user": "user", "talk": "", "step": "", "facts": "", "block": TALK}
    missing = [pl.lit(value).alias(name) for name, value in usual.items() if name not in probes.columns]
    return probes.with_columns(missing).select(
        *(pl.col(name).cast(kind) for name, kind in SCHEMA.items()),
        *(name for name in probes.columns if name not in SCHEMA),
    )
