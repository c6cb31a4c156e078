"""A run in the making: how it is run, who is asked what, and what asking came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trustgauge.methods import Method
from trustgauge.plan import Plan
from trustgauge.run.probe_batches import BATCH_ROWS, Probes, is_one_batch
from trustgauge.run.targets import Target, methods

Watch = Callable[[dict[str, Any]], None]


def _now() -> datetime:
    return datetime.now(UTC)


def _ignore(event: dict[str, Any]) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a plan: none of it changes a rating.

    `fail_on`: levels from which the gate of a rating fails (`reports.document.gate_level`);
    `need_certainty`: the least that a gate passes or fails at.
    `slice_rows`: probes that are designed, asked and checked together.
    `lock`: what `trustgauge lock` recorded of the plan.
    """

    ratings: Path = Path("ratings")
    fresh: bool = False
    watch: Watch = _ignore
    now: Callable[[], datetime] = _now
    fail_on: tuple[str, ...] = ()
    need_certainty: float | None = None
    slice_rows: int = BATCH_ROWS
    lock: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class AskPlan:
    """A plan taken apart: who is asked what."""

    plan: Plan
    targets: tuple[Target, ...]
    probes: Probes
    judges: tuple[Target, ...] = ()  # second judges, of experiments that have one

    @property
    def is_small(self) -> bool:
        """Whether each experiment has one slice only."""
        return all(is_one_batch(self.probes, place) for place in self.probes)

    @property
    def methods(self) -> list[Method]:
        """The experiments of the plan, in order."""
        return methods(self.plan)


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """What asking came to. `refused`: part -> why its service was not asked any further."""

    calls: int
    stopped: str
    refused: Mapping[str, str]
    targets: tuple[Target, ...] = ()  # with the looks at which asking stopped, where there are any
