"""The probes of a trust experiment: ordinary conversations, and what each issue wants asked (trust 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from trustgauge.errors import MethodError
from trustgauge.methods.trust import conversation_scripts
from trustgauge.methods.trust.disguise import disguise_talks
from trustgauge.methods.trust.issues.issue import TALK, DealtScript, ScriptTurn
from trustgauge.rating.recognition import DISGUISE
from trustgauge.records import PROBE

if TYPE_CHECKING:
    from trustgauge.methods.trust.settings import TrustSettings

FACTORS = ("purpose", "user", "talk", "step", "facts")
"""Columns beside those of every probe, all texts: see `issues.issue`."""
UNIT = "unit"
_TYPES = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}
DISGUISED = {DISGUISE: pl.Boolean, UNIT: pl.String}
"""Further columns where some scripts are in disguise: whether this one is, and what of which kind it is."""
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
            for number, dealt in enumerate(scripts)
            for repeat in range(settings.repeats)
            for row in _rows(purpose, number, dealt, repeat, marked=settings.disguise > 0)
        ]
        if rows:
            asked = True
            schema = SCHEMA | DISGUISED if settings.disguise else SCHEMA
            yield pl.DataFrame(rows, schema=schema, orient="row")
    if not asked:
        raise MethodError("nothing to ask", must="talks, or an issue with questions of its own")


def _purposes(settings: TrustSettings, seed: int) -> Iterator[tuple[str, Sequence[DealtScript]]]:
    many, share = settings.conversations, settings.disguise
    chosen = conversation_scripts.sample_scripts(many, seed, settings.language) if many else ()
    talks = [tuple(ScriptTurn(text) for text in one.turns) for one in chosen]
    yield TALK, disguise_talks(talks, share, seed) if share else [DealtScript(one) for one in talks]
    for issue in settings.issues:
        scripts = issue.scripts(settings.rule, seed)
        dealt = issue.disguise_scripts(scripts, share, seed) if share else map(DealtScript, scripts)
        yield issue.name, list(dealt)


def _rows(
    purpose: str, number: int, dealt: DealtScript, repeat: int, *, marked: bool
) -> Iterator[tuple[str | int, ...]]:
    """The turns of a script; each repeat is a draw of its own, in a session of its own."""
    first = f"{purpose}-{number:03d}"
    session = first + (f".{repeat}" if repeat else "")
    marks = (dealt.is_disguised, f"{dealt.kind}/{dealt.unit or first}") if marked else ()
    for turn, line in enumerate(dealt.script):
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
            *marks,
        )


def log_probes(settings: TrustSettings, probes: pl.DataFrame) -> pl.DataFrame:
    """The probes of a log with the columns of ours: whatever it does not tell is ordinary conversation.

    Raises:
        MethodError: the experiment asks in disguise, and what was recorded was asked by others.
    """
    if settings.disguise:
        what = "recorded dialogs cannot be asked in disguise"
        raise MethodError(what, must="`disguise = 0`", got=str(settings.disguise))
    usual = {"purpose": TALK, "user": "user", "talk": "", "step": "", "facts": "", "block": TALK}
    missing = [pl.lit(value).alias(name) for name, value in usual.items() if name not in probes.columns]
    return probes.with_columns(missing).select(
        *(pl.col(name).cast(kind) for name, kind in SCHEMA.items()),
        *(name for name in probes.columns if name not in SCHEMA),
    )
