"""A run in the making: how it is run, who is asked what, and what asking came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.methods.method import Method
from trustgauge.pipeline.subjects import Subject, methods
from trustgauge.plan import Plan
from trustgauge.records import Task

Watch = Callable[[dict[str, Any]], None]


def _now() -> datetime:
    return datetime.now(UTC)


def _ignore(event: dict[str, Any]) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """How to run a plan: none of it changes a rating."""

    ratings: Path = Path("ratings")
    fresh: bool = False
    watch: Watch = _ignore
    now: Callable[[], datetime] = _now
    fail_on: str | None = None
    need_certainty: float | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan taken apart: who is asked what."""

    plan: Plan
    subjects: tuple[Subject, ...]
    probes: Mapping[tuple[int, Task], pl.DataFrame]
    judges: tuple[Subject, ...] = ()  # second judges, of experiments that have one

    @property
    def methods(self) -> list[Method]:
        """The experiments of the plan, in order."""
        return methods(self.plan)


@dataclass(frozen=True, slots=True)
class Asked:
    """What asking came to. `refused`: part -> why its service was not asked any further."""

    calls: int
    stopped: str
    refused: Mapping[str, str]
