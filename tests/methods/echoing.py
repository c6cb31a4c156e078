"""A small method as somebody else may write it, and its view. For tests of kits and plug-ins.

It rates how often a text comes back as it was sent, as the one in `docs/guide/extending.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl
from scipy.special import betainc

from trustgauge.methods import MethodSettings
from trustgauge.records import (
    Control,
    Coverage,
    Interval,
    Json,
    Message,
    Part,
    Rating,
    Reason,
    Reply,
    Scale,
    State,
    Task,
)
from trustgauge.services import ServiceSpec

KEYS = ("service", "part", "topic")
SUMS = ("planned", "n", "changed")
SUMMARY = {**dict.fromkeys(KEYS, pl.String), **dict.fromkeys(SUMS, pl.Int64)}


class Echoing(MethodSettings):
    """How often does a text come back as it was sent, by topic?"""

    name: ClassVar[str] = "echoing"
    paper: ClassVar[str] = "none: for tests"
    version: ClassVar[str] = "1"
    scale: ClassVar[Scale] = Scale("echoing", ("keeps", "changes"), ("gives texts back", "changes texts"))
    tasks: ClassVar[tuple[Task, ...]] = ("translate",)

    texts: int = 40
    most: float = 0.1
    topics: tuple[str, ...] = ("birds", "cats")

    @property
    def issue(self) -> str:
        return "wording"

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        for topic in self.topics:
            numbers = range(self.texts)
            ids = [f"{topic}-{number}" for number in numbers]
            texts = [f"She saw {(seed + number) % 10_007} {topic}." for number in numbers]
            zero = pl.lit(0, pl.Int64)
            yield pl.DataFrame({"id": ids, "message": texts}).with_columns(
                session=pl.lit(""), turn=zero, draw=zero, block=pl.lit(topic), topic=pl.lit(topic)
            )

    def score(self, answers: pl.DataFrame) -> pl.DataFrame:
        came = pl.col("status").is_in(["answered", "empty", "refused"])
        differs = (pl.col("output") != pl.col("message")).cast(pl.Int64)
        return answers.with_columns(changed=pl.when(came).then(differs))

    def summarise(self, scores: pl.DataFrame) -> pl.DataFrame:
        counts = {"planned": pl.len(), "n": pl.col("changed").count(), "changed": pl.col("changed").sum()}
        return scores.group_by(KEYS).agg(**{name: one.cast(pl.Int64) for name, one in counts.items()})

    def merge(self, summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat([pl.DataFrame(schema=SUMMARY), *summaries]).group_by(KEYS).agg(pl.col(SUMS).sum())

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        services = summary.sort(KEYS).group_by("service", maintain_order=True)
        return self.in_plan_order([self.rating(str(name), rows) for (name,), rows in services])

    def rating(self, service: str, rows: pl.DataFrame) -> Rating:
        parts = tuple(self.part(row) for row in rows.iter_rows(named=True))
        worst = max(parts, key=lambda one: (one.level is None, one.level == "changes"))
        keys = tuple(one.key for one in parts if one.level == worst.level)
        return Rating(
            service, self.name, self.version, self.rule, self.issue, self.scale, worst.state, worst.level,
            worst.certainty, parts, score=worst.score, worst=keys,
        )  # fmt: skip

    def part(self, row: Mapping[str, Any]) -> Part:
        key = "/".join(one for one in (row["part"], row["topic"]) if one)
        n, changed = row["n"], row["changed"]
        coverage = Coverage(planned=row["planned"], answered=n, failed=row["planned"] - n)
        if n < 0.98 * row["planned"]:
            return Part(key, "incomplete", coverage=coverage)
        keeps = float(betainc(changed + 0.5, n - changed + 0.5, self.most))
        shares = {"keeps": keeps, "changes": 1 - keeps}
        level = max(shares, key=lambda one: shares[one])
        state: State = "rated" if shares[level] >= self.settle else "not settled"
        reasons = (Reason("echoing.changed", {"n": changed}),) if changed else ()
        score = Interval(changed / n, None, None, n)
        return Part(key, state, level, shares, score, coverage=coverage, reasons=reasons)

    def evidence(self, scores: pl.DataFrame) -> pl.DataFrame:
        none = pl.lit(None, pl.List(pl.String))
        key = pl.when(pl.col("part") == "").then("topic").otherwise(pl.format("{}/{}", "part", "topic"))
        return scores.select(
            "service", key.alias("part"), "id", "block", "trail", "status", sent="message", back="output",
            values_in=none, values_out=none, kinds=none, changed=pl.col("changed") == 1,
        )  # fmt: skip

    def controls(self, task: Task) -> tuple[Control, ...]:
        return (
            Control("anchor/identity", {"use": "anchor", "behaviour": "identity"}, "keeps"),
            Control("anchor/all-he", {"use": "anchor", "behaviour": "all", "value": "He"}, "changes"),
        )

    def power(self, seed: int) -> Mapping[str, Json]:
        return {}


class Overconfident(Echoing):
    """It is more certain than anybody can be."""

    name: ClassVar[str] = "overconfident"

    def part(self, row: Mapping[str, Any]) -> Part:
        return replace(super().part(row), certainty={"keeps": 1.5, "changes": -0.5})


class Partial(Echoing):
    """It forgets all services but one."""

    name: ClassVar[str] = "partial"

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        return super().rate(summary, seed)[:1]


class HashOrdered(Echoing):
    """Its topics are in an order that only this process has."""

    name: ClassVar[str] = "hash-ordered"

    def design(self, seed: int, task: Task) -> Iterator[pl.DataFrame]:
        for frame in super().design(seed, task):
            yield frame.with_columns(message=pl.col("message") + f" {hash('bird')}")


class Failing(Echoing):
    """It cannot rate."""

    name: ClassVar[str] = "failing"

    def rate(self, summary: pl.DataFrame, seed: int) -> list[Rating]:
        raise ValueError("no \x1brating")


class Unsaid(ServiceSpec):
    """A service that fails in a way that nobody foresaw."""

    use: str = "unsaid"

    def open(self) -> LiveUnsaid:
        return LiveUnsaid()


class LiveUnsaid:
    """The live service."""

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        words: dict[str, str] = {}
        return [Reply(words[f"secret {message.text}"]) for message in messages]

    async def close(self) -> None:
        """Nothing to release."""
