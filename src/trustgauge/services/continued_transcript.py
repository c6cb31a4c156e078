"""Replays recorded dialogs with a bot, then asks the live bot further scenes.

    [services.bot]
    use = "talked"
    dialogs = { layout = "jsonl", file = "transcript.jsonl" }
    service = { use = "openai", model = "gpt-4o-mini" }
    scenes = "scenes.jsonl"

Answers in the dialogs come from the file; the scenes are sent to the live service, within its limits and at
its prices. So a live chat and the probes for leakage that follow it are one run (trust 4.6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import polars as pl
from pydantic import Field, model_validator

from trustgauge.data.tables import content_hash, fault, read_table
from trustgauge.plan import PlanPath
from trustgauge.records import Message, Reply
from trustgauge.services import Service
from trustgauge.services.dialogs import Dialogs
from trustgauge.services.wrapper import ServiceWrapper

WHOLE = ("turn", "draw")  # columns of scenes that hold whole numbers


class ContinuedTranscript(ServiceWrapper, Dialogs):
    """Recorded dialogs with a bot, and scenes that the live bot is asked.

    `scenes` is a table of the columns that a log brings (`ServiceSpec.script`): one row a user turn. Its
    sessions must have other names than the dialogs.
    """

    use: str = "talked"
    collected: ClassVar[str] = "from a log, by API"

    scenes: PlanPath = Field(description="What is asked now: JSON lines, a user turn each")

    @model_validator(mode="after")
    def _no_session_twice(self) -> Self:
        twice = sorted(set(self._asked()["session"]) & set(self.dialogs.read()["dialog"]))
        if twice:
            must = "sessions with names of their own"
            raise fault(self.scenes, "scenes", f'"{twice[0]}" is a recorded dialog', must=must)
        return self

    def identity(self) -> Mapping[str, Any]:
        """What the files hold, and who is asked."""
        asked = {"service": self.service.identity(), "scenes": content_hash(self.scenes)}
        return {**super().identity(), **asked}

    def talked_with(self) -> str:
        """Fingerprint of the service that gave the recorded answers, and is asked now."""
        return self.service.fingerprint

    def place_digest(self) -> str:
        """That of the bot that is asked."""
        return self.service.place_digest()

    def uses_history(self) -> bool:
        return self.service.uses_history()

    def check_requirements(self) -> None:
        """Raise what the service raises, or PlanError if a file cannot be read."""
        self.service.check_requirements()
        super().check_requirements()

    def script(self) -> pl.DataFrame:
        """The turns of the dialogs, then those of the scenes.

        Raises:
            PlanError: a file cannot be read, or the scenes lack a column.
        """
        recorded = super().script().drop("segment", strict=False)
        return pl.concat([recorded, self._asked().select(recorded.columns)], how="vertical")

    def _asked(self) -> pl.DataFrame:
        """The scenes, each with the columns and types of a log."""
        rows = read_table(self.scenes, "scenes")
        needed = ("id", "message", "session", "turn", "draw", "block", "user", "talk", "purpose", "step")
        missing = [name for name in (*needed, "facts") if name not in rows.columns]
        if missing:
            raise fault(self.scenes, "scenes", "columns are missing", must=", ".join(missing))
        try:
            return rows.with_columns(
                *(pl.col(name).cast(pl.Int64) for name in WHOLE),
                *(pl.col(name).fill_null("") for name in (*needed, "facts") if name not in WHOLE),
            )
        except pl.exceptions.PolarsError:
            raise fault(self.scenes, "scenes", "turn or draw is no whole number") from None

    def open(self) -> LiveTranscript:  # type: ignore[override]
        """The service, with what it said before.

        Raises:
            PlanError: a file cannot be read.
        """
        return LiveTranscript(self.service.open(), super().open(), frozenset(self._asked()["session"]))


class LiveTranscript:
    """Looks up what was said, and asks for the rest."""

    def __init__(self, service: Service, said: Service, scenes: frozenset[str]) -> None:
        self._service, self._said, self._scenes = service, said, scenes

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        now = [one for one in messages if one.session in self._scenes]
        before = [one for one in messages if one.session not in self._scenes]
        asked = iter(await self._service.ask(now) if now else [])
        known = iter(await self._said.ask(before) if before else [])
        return [next(asked if one.session in self._scenes else known) for one in messages]

    async def close(self) -> None:
        await self._service.close()
