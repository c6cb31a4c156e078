"""A method that lacks a member of the contract. For tests of plug-ins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import polars as pl

from trustgauge.methods import MethodSettings
from trustgauge.records import Control, Json, Rating, Scale, Task


class Mute(MethodSettings):
    """All that a method has, but for `texts`."""

    name: ClassVar[str] = "mute"
    paper: ClassVar[str] = "none"
    version: ClassVar[str] = "1"
    scale: ClassVar[Scale] = Scale("mute", ("good", "bad"), ("good", "bad"))
    tasks: ClassVar[tuple[Task, ...]] = ("chat",)
    issue: ClassVar[str] = "nothing"

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        return iter(())

    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        return answers

    def summarise(self, scores: pl.DataFrame) -> pl.DataFrame:
        return scores

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(summaries)

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        return []

    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        return scores

    def controls(self, task: Task) -> tuple[Control, ...]:
        return ()

    def power(self, seed: int) -> Mapping[str, Json]:
        return {}
